package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

func TestP2_AnAmbiguousAttemptIsRepeatedWithTheSameContent(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Release), newProvider(script(errTimeout, nil))
	if out := do(t, l, e, p.call, ledger.DidWait); out.Standing != ledger.Absent || out.Reason != "sem-resposta" {
		t.Errorf("outcome %+v", out)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Reserved || !s.Free || !s.MayHaveRun || s.Owner {
		t.Errorf("row %+v", s)
	}
	// The same content, spelled otherwise.
	e.Content = json.RawMessage(` { "valorCentavos": 1.5e2 } `)
	if out := do(t, l, e, p.call, ledger.DidApply); out.Attempt != 2 {
		t.Errorf("outcome %+v", out)
	}
	if got := p.content[e.Key()]; got != `{"valorCentavos":150}` {
		t.Errorf("sent %s", got)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Done || s.Attempts != 2 {
		t.Errorf("row %+v", s)
	}
	if got := logged(t, l, e.Key()); !slices.Equal(got, []string{ledger.LogDoubt}) {
		t.Errorf("log %v", got)
	}
}

func TestP2_AnAbandonedReservationIsRetakenWhileTheProviderDeduplicates(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Release), newProvider(always(nil))
	reserve(t, l, e)
	do(t, l, e, p.call, ledger.DidWait)
	age(t, pool, 6*time.Minute)
	// A configuration that now says otherwise does not change what was reserved under the old one.
	if out := do(t, l, effect("ev-1", ledger.Keep), p.call, ledger.DidApply); out.Attempt != 2 {
		t.Errorf("outcome %+v", out)
	}
	if s := read(t, pool, e.Key()); s.OnFailure != "liberar" {
		t.Errorf("row %+v", s)
	}
}

func TestP2_NoRetryWhenTheWindowMayBeOver(t *testing.T) {
	t.Parallel()
	window := func(id string) ledger.Effect {
		e := effect(id, ledger.Release)
		e.Policy.DedupWindow = time.Hour
		return e
	}
	l, pool := open(t, ledger.Options{})
	// The call (1 s) and the margin (10 s) must end inside the window.
	for name, c := range map[string]struct {
		age  time.Duration
		want string
	}{
		"open":          {time.Hour - 15*time.Second, ledger.DidApply},
		"closes in it":  {time.Hour - 5*time.Second, ledger.DidReview},
		"long over":     {48 * time.Hour, ledger.DidReview},
		"young, closed": {0, ledger.DidWait},
	} {
		t.Run(name, func(t *testing.T) {
			e, p := window(name), newProvider(script(errTimeout, nil))
			if c.age == 0 {
				reserve(t, l, e)
			} else {
				do(t, l, e, p.call, ledger.DidWait)
			}
			age(t, pool, c.age)
			// A longer window today does not lengthen the one that was promised then.
			e.Policy.DedupWindow = 1000 * time.Hour
			predicted := look(t, l, e)
			out := do(t, l, e, p.call, c.want)
			if c.want == ledger.DidReview {
				if out.Reason != ledger.ReasonWindow || predicted.Standing != ledger.NeedsReview || predicted.Reason != ledger.ReasonWindow {
					t.Errorf("outcome %+v, predicted %+v", out, predicted)
				}
			}
		})
	}
	t.Run("closes during the attempt", func(t *testing.T) {
		e := window("closes during the attempt")
		r := reserve(t, l, e)
		age(t, pool, time.Hour)
		state, reason, err := l.Doubt(t.Context(), r, errTimeout)
		if err != nil || state != ledger.Uncertain || reason != ledger.ReasonWindow {
			t.Errorf("%s %s %v", state, reason, err)
		}
	})
	t.Run("begins with the first attempt that may have left", func(t *testing.T) {
		e := window("begins with the first attempt that may have left")
		if err := l.GiveBack(t.Context(), reserve(t, l, e), errNoRoute); err != nil {
			t.Fatal(err)
		}
		age(t, pool, 2*time.Hour)
		do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidWait)
		do(t, l, e, newProvider(always(nil)).call, ledger.DidApply)
	})
}

func TestP2_NoRetryWithAnotherContent(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Release), newProvider(script(errTimeout, nil))
	do(t, l, e, p.call, ledger.DidWait)
	other := e
	other.Content = json.RawMessage(`{"valorCentavos":1500}`)
	for _, status := range []ledger.Status{look(t, l, other), do(t, l, other, p.call, ledger.DidReview).Status} {
		if status.Reason != ledger.ReasonContent || !status.Differs || string(status.Content) != `{"valorCentavos": 150}` {
			t.Errorf("status %+v", status)
		}
	}
	// The sweep finishes what was begun, with what was begun.
	age(t, pool, 6*time.Minute)
	_, retakable := sweep(t, l, policy(ledger.Release))
	if len(retakable) != 1 || string(retakable[0].Content) != `{"valorCentavos": 150}` {
		t.Fatalf("retakable %+v", retakable)
	}
	e.Content = retakable[0].Content
	do(t, l, e, p.call, ledger.DidApply)
	// And what then asks for something else is told so.
	out := do(t, l, other, p.call, ledger.DidFind)
	if !out.Differs || string(out.Content) != `{"valorCentavos": 150}` || out.Result != ledger.Applied {
		t.Errorf("outcome %+v", out)
	}
	if n := p.deliveries(e.Key()); n != 2 || p.content[e.Key()] != `{"valorCentavos":150}` {
		t.Errorf("%d deliveries, last %s", n, p.content[e.Key()])
	}
}

func TestP2_AttemptsAreBounded(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Release), newProvider(always(errTimeout))
	e.Policy.MaxAttempts = 3
	do(t, l, e, p.call, ledger.DidWait)
	do(t, l, e, p.call, ledger.DidWait)
	if out := do(t, l, e, p.call, ledger.DidDoubt); out.Reason != ledger.ReasonAttempts || out.Attempt != 3 {
		t.Errorf("outcome %+v", out)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Uncertain || s.Reason != ledger.ReasonAttempts || s.Free {
		t.Errorf("row %+v", s)
	}
	// Abandoned attempts count as well.
	e = effect("ev-2", ledger.Release)
	e.Policy.MaxAttempts = 2
	for range 2 {
		reserve(t, l, e)
		age(t, pool, 6*time.Minute)
	}
	if out := do(t, l, e, p.call, ledger.DidReview); out.Reason != ledger.ReasonAttempts {
		t.Errorf("outcome %+v", out)
	}
}

// The window may end while what is not sent is tried again under one reservation.
func TestP2_NoRetryUnderAReservationWhoseWindowEnds(t *testing.T) {
	l, pool := open(t, ledger.Options{Margin: 100 * time.Millisecond})
	e := effect("ev-1", ledger.Release)
	e.Policy.CallTimeout, e.Policy.DedupWindow = 100*time.Millisecond, time.Hour
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidWait)
	age(t, pool, time.Hour-700*time.Millisecond)
	began, last := time.Now(), time.Time{}
	out := do(t, l, e, func(context.Context, ledger.Attempt) (json.RawMessage, error) {
		last = time.Now()
		return nil, errNoRoute
	}, ledger.DidWait)
	if out.Attempt != 2 || last.IsZero() || last.Sub(began) > 500*time.Millisecond {
		t.Errorf("last call %s after the reservation: %+v", last.Sub(began), out)
	}
	// What nobody has seen yet needs no deduplication.
	e.EventID, e.Policy.DedupWindow = "ev-2", 250*time.Millisecond
	r := reserve(t, l, e)
	time.Sleep(e.Policy.DedupWindow)
	if l.TimeLeft(r) != e.Policy.CallTimeout {
		t.Error("a first attempt waits for a window")
	}
}

// A person who allows a re-send knows that the provider may have forgotten the key.
func TestP2_APersonMayAllowARetryAfterTheWindow(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Release), newProvider(script(errTimeout, errTimeout, nil))
	e.Policy.DedupWindow = time.Hour
	do(t, l, e, p.call, ledger.DidWait)
	age(t, pool, 2*time.Hour)
	sweep(t, l, e.Policy)
	decide(t, l, e.Key(), ledger.Resend)
	// One, and no automatic retry after it.
	if out := do(t, l, e, p.call, ledger.DidDoubt); out.Reason != ledger.ReasonWindow || out.Attempt != 2 {
		t.Errorf("outcome %+v", out)
	}
	do(t, l, e, p.call, ledger.DidFind)
}

// While a provider is away, attempts of which nothing left do not use up those that may have.
func TestP2_UnsentAttemptsDoNotCount(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Release)
	e.Policy.MaxAttempts = 2
	for range 5 {
		if err := l.GiveBack(t.Context(), reserve(t, l, e), errNoRoute); err != nil {
			t.Fatal(err)
		}
	}
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidWait)
	do(t, l, e, newProvider(always(nil)).call, ledger.DidApply)
	if s := read(t, pool, e.Key()); s.Attempts != 2 {
		t.Errorf("row %+v", s)
	}
}

func TestLookTellsEveryStandingApart(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	ids := []string{"absent", "done", "refused", "uncertain", "in-flight", "abandoned", "given-back", "confirmed", "discarded"}
	abandoned := effect("abandoned", ledger.Keep)
	reserve(t, l, abandoned)
	age(t, pool, 6*time.Minute)
	do(t, l, effect("done", ledger.Keep), newProvider(always(nil)).call, ledger.DidApply)
	do(t, l, effect("refused", ledger.Keep), newProvider(always(errRefused)).call, ledger.DidRefuse)
	for _, id := range []string{"uncertain", "confirmed", "discarded"} {
		do(t, l, effect(id, ledger.Keep), newProvider(always(errTimeout)).call, ledger.DidDoubt)
	}
	decide(t, l, ledger.Key("confirmed", kind), ledger.Confirm)
	decide(t, l, ledger.Key("discarded", kind), ledger.Discard)
	reserve(t, l, effect("in-flight", ledger.Keep))
	if err := l.GiveBack(t.Context(), reserve(t, l, effect("given-back", ledger.Keep)), errNoRoute); err != nil {
		t.Fatal(err)
	}
	want := []ledger.Status{
		{Standing: ledger.Absent},
		{Standing: ledger.AlreadyDone, Result: ledger.Applied, Differs: true},
		{Standing: ledger.AlreadyDone, Result: ledger.Refused},
		{Standing: ledger.InDoubt, Reason: "sem-resposta"},
		{Standing: ledger.InFlight, Differs: true},
		{Standing: ledger.NeedsReview, Reason: ledger.ReasonAbandoned, Differs: true},
		{Standing: ledger.Absent},
		{Standing: ledger.AlreadyDone, Result: ledger.Confirmed, Differs: true},
		{Standing: ledger.AlreadyDone, Result: ledger.Discarded},
	}
	for _, other := range []bool{false, true} {
		var effects []ledger.Effect
		for _, id := range ids {
			e := effect(id, ledger.Keep)
			e.Execution = "replay-1"
			if other {
				e.Content = json.RawMessage(`{"valorCentavos":1500}`)
			}
			effects = append(effects, e)
		}
		got, err := l.Look(t.Context(), effects)
		if err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			w := want[i]
			w.Differs = w.Differs && other
			if i > 0 {
				w.Execution = ledger.Live
			}
			if w.Differs {
				w.Content = json.RawMessage(`{"valorCentavos": 150}`)
			}
			if fmt.Sprintf("%+v", got[i]) != fmt.Sprintf("%+v", w) {
				t.Errorf("%s: %+v, want %+v", id, got[i], w)
			}
		}
	}
}
