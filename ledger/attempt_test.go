package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

func TestP1_AnAmbiguousAttemptIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, onFailure := range []ledger.OnFailure{ledger.Keep, ledger.LookUp} {
		t.Run(string(onFailure), func(t *testing.T) {
			l, pool := open(t, ledger.Options{})
			e, p := effect("ev-1", onFailure), newProvider(always(errTimeout))
			out := do(t, l, e, p.call, ledger.DidDoubt)
			if out.Reason != "sem-resposta" || out.Standing != ledger.InDoubt || out.Attempt != 1 || !errors.Is(out.Err, errTimeout.Err) {
				t.Errorf("outcome %+v", out)
			}
			for range 5 { // nightly cycles
				age(t, pool, 24*time.Hour)
				sweep(t, l, policy(onFailure))
				if out := do(t, l, e, p.call, ledger.DidFind); out.Reason != "sem-resposta" {
					t.Errorf("outcome %+v", out)
				}
			}
			if n := p.deliveries(e.Key()); n != 1 {
				t.Errorf("%d deliveries", n)
			}
			queue, err := l.Uncertain(t.Context(), ledger.UncertainQuery{})
			if err != nil || len(queue) != 1 || queue[0].Attempts != 1 || queue[0].OnFailure != onFailure {
				t.Errorf("review queue: %+v, %v", queue, err)
			}
		})
	}
}

func TestP1_AnAbandonedReservationIsNotRetaken(t *testing.T) {
	t.Parallel()
	for _, onFailure := range []ledger.OnFailure{ledger.Keep, ledger.LookUp} {
		l, pool := open(t, ledger.Options{})
		e, p := effect("ev-1", onFailure), newProvider(always(nil))
		reserve(t, l, e)
		if out := do(t, l, e, p.call, ledger.DidWait); out.Standing != ledger.InFlight {
			t.Errorf("%s, young: %+v", onFailure, out)
		}
		age(t, pool, 6*time.Minute)
		if out := do(t, l, e, p.call, ledger.DidReview); out.Reason != ledger.ReasonAbandoned {
			t.Errorf("%s, old: %+v", onFailure, out)
		}
		// A configuration that now says otherwise does not change what was reserved under the old one.
		if out := do(t, l, effect("ev-1", ledger.Release), p.call, ledger.DidReview); out.Reason != ledger.ReasonAbandoned {
			t.Errorf("%s, old, other policy: %+v", onFailure, out)
		}
		if n := p.deliveries(e.Key()); n != 0 {
			t.Errorf("%s: %d deliveries", onFailure, n)
		}
	}
}

func TestP1_OneOfManyHostsSends(t *testing.T) {
	t.Parallel()
	const hosts, keys = 3, 200
	first, pool := open(t, ledger.Options{})
	books := []*ledger.Ledger{first, with(t, pool, ledger.Options{FlushSize: 16}), with(t, pool, ledger.Options{FlushSize: 7, Flushers: 4})}
	p := newProvider(always(nil))
	var group sync.WaitGroup
	start := make(chan struct{})
	for _, l := range books[:hosts] {
		order := rand.Perm(keys)
		for _, part := range slices.Collect(slices.Chunk(order, keys/8)) {
			group.Go(func() {
				<-start
				for _, i := range part {
					e := effect(fmt.Sprintf("ev-%d", i), ledger.Keep)
					if out, err := l.Do(t.Context(), e, p.call); err != nil || out.Did == ledger.DidReview || out.Did == ledger.DidDoubt {
						t.Errorf("%s: %+v, %v", e.Key(), out, err)
					}
				}
			})
		}
	}
	close(start)
	group.Wait()
	for i := range keys {
		key := ledger.Key(fmt.Sprintf("ev-%d", i), kind)
		if n := p.deliveries(key); n != 1 {
			t.Errorf("%s: %d deliveries", key, n)
		}
		if s := read(t, pool, key); s.State != ledger.Done || s.Result != "aplicado" || s.Answer != `{"recibo": 1}` {
			t.Errorf("%s: %+v", key, s)
		}
	}
}

// The same key twice in one process: one statement cannot hold it twice.
func TestP1_OneKeyManyTimesAtOnce(t *testing.T) {
	t.Parallel()
	l, _ := open(t, ledger.Options{})
	p := newProvider(always(nil))
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if _, err := l.Do(t.Context(), effect("ev-1", ledger.Keep), p.call); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := p.deliveries(ledger.Key("ev-1", kind)); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}

func TestP1_WhatIsNotSentIsTriedAgainUnderTheSameReservation(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Keep), newProvider(script(errNoRoute, errNoRoute, nil))
	if out := do(t, l, e, p.call, ledger.DidApply); out.Attempt != 1 {
		t.Errorf("outcome %+v", out)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Done || s.Attempts != 1 {
		t.Errorf("row %+v", s)
	}
	if n := p.deliveries(e.Key()); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}

func TestP1_WhatIsNeverSentIsGivenBack(t *testing.T) {
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Keep), newProvider(always(errNoRoute))
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	out, err := l.Do(ctx, e, p.call)
	if err != nil || out.Did != ledger.DidWait || out.Standing != ledger.Absent || out.Reason != ledger.ReasonNotSent {
		t.Errorf("outcome %+v, %v", out, err)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Reserved || s.Owner || !s.Free || s.MayHaveRun || s.Attempts != 0 {
		t.Errorf("row %+v", s)
	}
	if got := logged(t, l, e.Key()); !slices.Equal(got, []string{ledger.LogNotSent}) {
		t.Errorf("log %v", got)
	}
	// Nothing went out, so anything may: at once, by anybody, with another content and another policy.
	other := effect("ev-1", ledger.Release)
	other.Content, other.Execution = json.RawMessage(`{"valorCentavos":1500}`), "replay-2"
	if got := look(t, l, other).Standing; got != ledger.Absent {
		t.Errorf("standing %q", got)
	}
	p.next = always(nil)
	do(t, l, other, p.call, ledger.DidApply)
	if s := read(t, pool, e.Key()); s.Content != `{"valorCentavos": 1500}` || s.OnFailure != "liberar" || s.Execution != "replay-2" || s.Attempts != 1 {
		t.Errorf("row %+v", s)
	}
}

// An attempt that may have left counts even if a later one did not leave.
func TestP1_NotSentDoesNotClearAnEarlierDoubt(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Release)
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidWait)
	r := reserve(t, l, e)
	if err := l.GiveBack(t.Context(), r, errNoRoute); err != nil {
		t.Fatal(err)
	}
	if s := read(t, pool, e.Key()); !s.MayHaveRun || s.Attempts != 1 || !s.Free {
		t.Errorf("row %+v", s)
	}
	e.Content = json.RawMessage(`{"valorCentavos":1500}`)
	if s := look(t, l, e); s.Standing != ledger.NeedsReview || s.Reason != ledger.ReasonContent || !s.Differs {
		t.Errorf("status %+v", s)
	}
}

func TestP1_ARefusalIsFinal(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Release), newProvider(always(errRefused))
	if out := do(t, l, e, p.call, ledger.DidRefuse); out.Result != ledger.Refused || out.Reason != "destinatario-inexistente" {
		t.Errorf("outcome %+v", out)
	}
	age(t, pool, time.Hour)
	if out := do(t, l, e, p.call, ledger.DidFind); out.Standing != ledger.AlreadyDone || out.Result != ledger.Refused {
		t.Errorf("outcome %+v", out)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Done || s.Answer != `{"motivo": "destinatario-inexistente", "resposta": {"code": 404}}` {
		t.Errorf("row %+v", s)
	}
	if got := logged(t, l, e.Key()); !slices.Equal(got, []string{ledger.LogRefused}) {
		t.Errorf("log %v", got)
	}
}

func TestP1_EveryOtherErrorIsAmbiguous(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for name, c := range map[string]struct {
		call   ledger.Call
		reason string
	}{
		"plain error": {func(context.Context, ledger.Attempt) (json.RawMessage, error) { return nil, errors.New("what") }, ledger.ReasonUnknown},
		"panic":       {func(context.Context, ledger.Attempt) (json.RawMessage, error) { panic("bug") }, ledger.ReasonPanic},
		"deadline": {func(ctx context.Context, _ ledger.Attempt) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, ledger.ReasonUnknown},
		"contradiction": {func(context.Context, ledger.Attempt) (json.RawMessage, error) {
			return nil, &ledger.AmbiguousError{Reason: "resposta-503", Err: errNoRoute}
		}, "resposta-503"},
		"both": {func(context.Context, ledger.Attempt) (json.RawMessage, error) {
			return nil, errors.Join(errRefused, errNoRoute, errTimeout)
		}, "sem-resposta"},
	} {
		t.Run(name, func(t *testing.T) {
			e := effect(name, ledger.Keep)
			e.Policy.CallTimeout = 50 * time.Millisecond
			if out := do(t, l, e, c.call, ledger.DidDoubt); out.Reason != c.reason {
				t.Errorf("outcome %+v", out)
			}
			if s := read(t, pool, e.Key()); s.State != ledger.Uncertain || s.Reason != c.reason || s.Owner || s.Free {
				t.Errorf("row %+v", s)
			}
		})
	}
}

func TestTheLogOfADoubtSaysItsReasonOnce(t *testing.T) {
	t.Parallel()
	l, _ := open(t, ledger.Options{})
	for want, failure := range map[string]error{
		"resposta-503: bad gateway": &ledger.AmbiguousError{Reason: "resposta-503", Err: errors.New("bad gateway")},
		"sem-recibo":                &ledger.AmbiguousError{Reason: "sem-recibo"},
		"erro-desconhecido: what":   errors.New("what"),
	} {
		e := effect(want, ledger.Keep)
		do(t, l, e, func(context.Context, ledger.Attempt) (json.RawMessage, error) { return nil, failure }, ledger.DidDoubt)
		list, err := l.Occurrences(t.Context(), e.Key())
		if err != nil || len(list) != 1 || list[0].Text != want {
			t.Errorf("%+v, %v; want %q", list, err, want)
		}
	}
}

func TestP1_NoCallUnderAReservationThatIsTooOld(t *testing.T) {
	l, link, pool := openLinked(t, ledger.Options{SweepAge: 600 * time.Millisecond, Margin: 100 * time.Millisecond})
	heal := link.toxic(`{"name":"slow","type":"latency","stream":"downstream","attributes":{"latency":500}}`)
	defer heal()
	e, p := effect("ev-1", ledger.Keep), newProvider(always(nil))
	e.Policy.CallTimeout = 50 * time.Millisecond
	if out := do(t, l, e, p.call, ledger.DidWait); !errors.Is(out.Err, ledger.ErrTooOld) {
		t.Errorf("outcome %+v", out)
	}
	if n := p.deliveries(e.Key()); n != 0 {
		t.Errorf("%d deliveries", n)
	}
	if s := read(t, pool, e.Key()); !s.Free || s.MayHaveRun {
		t.Errorf("row %+v", s)
	}
}

func TestP1_RetriesOfWhatIsNotSentEndBeforeTheReservationIsTooOld(t *testing.T) {
	l, pool := open(t, ledger.Options{SweepAge: time.Second, Margin: 100 * time.Millisecond})
	e := effect("ev-1", ledger.Keep)
	e.Policy.CallTimeout = 200 * time.Millisecond
	began, last := time.Now(), time.Time{}
	do(t, l, e, func(context.Context, ledger.Attempt) (json.RawMessage, error) {
		last = time.Now()
		return nil, errNoRoute
	}, ledger.DidWait)
	if late := last.Sub(began); late > 700*time.Millisecond {
		t.Errorf("a call began after %s", late)
	}
	if s := read(t, pool, e.Key()); !s.Free || s.MayHaveRun {
		t.Errorf("row %+v", s)
	}
}

func TestP1_ACallHasADeadline(t *testing.T) {
	l, _ := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Keep)
	do(t, l, e, func(ctx context.Context, a ledger.Attempt) (json.RawMessage, error) {
		deadline, ok := ctx.Deadline()
		if left := time.Until(deadline); !ok || left > e.Policy.CallTimeout || left < e.Policy.CallTimeout/2 {
			t.Errorf("deadline in %s", left)
		}
		if a.Key != "ev-1:notificar-vendedor" || a.Number != 1 || string(a.Content) != `{"valorCentavos":150}` {
			t.Errorf("attempt %+v", a)
		}
		return nil, nil
	}, ledger.DidApply)
}

// Who is told to stop still records what is known.
func TestP1_AnAnswerIsRecordedDuringShutdown(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for id, answer := range map[string]error{"ev-ok": nil, "ev-doubt": errTimeout, "ev-refused": errRefused, "ev-unsent": errNoRoute} {
		ctx, stop := context.WithCancel(t.Context())
		e := effect(id, ledger.Keep)
		if _, err := l.Do(ctx, e, func(context.Context, ledger.Attempt) (json.RawMessage, error) {
			stop()
			return nil, answer
		}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		if s := read(t, pool, e.Key()); s.Owner && s.State == ledger.Reserved {
			t.Errorf("%s: %+v", id, s)
		}
	}
}

func TestP1_CloseWaitsForCalls(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	calling, answer := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		do(t, l, effect("ev-1", ledger.Keep), func(context.Context, ledger.Attempt) (json.RawMessage, error) {
			close(calling)
			<-answer
			return nil, nil
		}, ledger.DidApply)
	})
	<-calling
	closed := make(chan struct{})
	go func() { l.Close(); close(closed) }()
	select {
	case <-closed:
		t.Error("closed during a call")
	case <-time.After(50 * time.Millisecond):
	}
	close(answer)
	<-closed
	group.Wait()
	if s := read(t, pool, ledger.Key("ev-1", kind)); s.State != ledger.Done {
		t.Errorf("row %+v", s)
	}
	if _, err := l.Do(t.Context(), effect("ev-2", ledger.Keep), nil); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, _, err := l.Reserve(t.Context(), effect("ev-2", ledger.Keep)); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestAnEffectThatCannotBeStoredIsRefused(t *testing.T) {
	t.Parallel()
	l, _ := open(t, ledger.Options{})
	for name, spoil := range map[string]func(*ledger.Effect){
		"no event":         func(e *ledger.Effect) { e.EventID = "" },
		"NUL in event":     func(e *ledger.Effect) { e.EventID = "ev\x00" },
		"not UTF-8":        func(e *ledger.Effect) { e.EventID = "ev\xff" },
		"kind":             func(e *ledger.Effect) { e.Kind = "a:b" },
		"no execution":     func(e *ledger.Effect) { e.Execution = "" },
		"content":          func(e *ledger.Effect) { e.Content = json.RawMessage(`{"a":`) },
		"two contents":     func(e *ledger.Effect) { e.Content = json.RawMessage(`1 2`) },
		"NUL in content":   func(e *ledger.Effect) { e.Content = json.RawMessage(`["\u0000"]`) },
		"policy":           func(e *ledger.Effect) { e.Policy.OnFailure = "" },
		"call too long":    func(e *ledger.Effect) { e.Policy.CallTimeout = 5 * time.Minute },
		"huge number":      func(e *ledger.Effect) { e.Content = json.RawMessage(`1e400000`) },
		"content not text": func(e *ledger.Effect) { e.Content = json.RawMessage("\"\xff\"") },
	} {
		e := effect("ev-1", ledger.Keep)
		spoil(&e)
		if _, _, err := l.Reserve(t.Context(), e); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := l.Look(t.Context(), []ledger.Effect{e}); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s, look: %v", name, err)
		}
	}
}
