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

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/seedsql"
)

// Tests beside the consumer that knows the original columns only, and runs its original statements.

func consumer(pool *pgxpool.Pool, onFailure ledger.OnFailure, p *provider, answer error) seedsql.Consumer {
	return seedsql.Consumer{
		Pool: pool, Execution: seedsql.Live, Policy: seedsql.Policy{kind: {Mode: seedsql.Apply, OnFailure: string(onFailure)}},
		Gateway: func(ctx context.Context, key string, body []byte) error {
			if answer != nil {
				return answer
			}
			_, err := p.call(ctx, ledger.Attempt{Key: key, Content: body})
			return err
		},
	}
}

func event(id string) seedsql.Event {
	return seedsql.Event{ID: id, Type: seedsql.OrderPaid, Order: id, Version: 1, Payload: json.RawMessage(`{"valorCentavos":3000,"percentual":5}`)}
}

func TestP1_BesideAConsumerWithoutTokensEachIsSentOnce(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	const keys = 100
	p := newProvider(always(nil))
	live := consumer(pool, ledger.Keep, p, nil)
	var group sync.WaitGroup
	for range 2 {
		for _, part := range slices.Collect(slices.Chunk(rand.Perm(keys), keys/4)) {
			group.Go(func() {
				for _, i := range part {
					if err := live.Apply(t.Context(), event(fmt.Sprint(i))); err != nil {
						t.Error(err)
					}
				}
			})
			group.Go(func() {
				for _, i := range part {
					if _, err := l.Do(t.Context(), effect(fmt.Sprint(keys-1-i), ledger.Keep), p.call); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	for i := range keys {
		if n := p.deliveries(ledger.Key(fmt.Sprint(i), kind)); n != 1 {
			t.Errorf("%d: %d deliveries", i, n)
		}
	}
}

// What it reserved and abandoned is retaken by the caller's policy: there is no other.
func TestP2_WhatAConsumerWithoutTokensAbandoned(t *testing.T) {
	t.Parallel()
	for onFailure, want := range map[ledger.OnFailure]string{ledger.Release: ledger.DidApply, ledger.Keep: ledger.DidReview} {
		l, pool := open(t, ledger.Options{})
		e, p := effect("ev-1", onFailure), newProvider(always(nil))
		execSQL(t, pool, seedsql.Reserve, e.Key(), e.EventID, e.Kind, seedsql.Live, true)
		do(t, l, e, p.call, ledger.DidWait)
		age(t, pool, 6*time.Minute)
		if out := do(t, l, e, p.call, want); want == ledger.DidApply && out.Attempt != 2 {
			t.Errorf("outcome %+v", out)
		}
	}
	t.Run("window", func(t *testing.T) {
		l, pool := open(t, ledger.Options{})
		for _, id := range []string{"inside", "over"} {
			execSQL(t, pool, seedsql.Reserve, ledger.Key(id, kind), id, kind, seedsql.Live, true)
		}
		execSQL(t, pool, `update efeito_aplicado set criado_em = criado_em - interval '2 hours' where evento_id = 'over'`)
		age(t, pool, 6*time.Minute)
		windowed := effect("inside", ledger.Release)
		windowed.Policy.DedupWindow = time.Hour
		r := reserve(t, l, windowed)
		// The window that counts from now on is that of the first attempt.
		age(t, pool, time.Hour)
		if _, reason, err := l.Doubt(t.Context(), r, errTimeout); err != nil || reason != ledger.ReasonWindow {
			t.Error(reason, err)
		}
		windowed.EventID = "over"
		if s := look(t, l, windowed); s.Reason != ledger.ReasonWindow {
			t.Errorf("status %+v", s)
		}
		report, _ := sweep(t, l, windowed.Policy)
		if report.Uncertain[ledger.ReasonWindow] != 1 {
			t.Errorf("report %+v", report)
		}
	})
}

func TestP4_AConsumerWithoutTokensForgetsNothingOfOurs(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Release)
	r := reserve(t, l, e)
	execSQL(t, pool, seedsql.GiveBack, e.Key())
	if s := read(t, pool, e.Key()); !s.Owner || s.Free {
		t.Errorf("owned: %+v", s)
	}
	if _, _, err := l.Doubt(t.Context(), r, errTimeout); err != nil {
		t.Fatal(err)
	}
	execSQL(t, pool, seedsql.GiveBack, e.Key())
	if s := read(t, pool, e.Key()); !s.MayHaveRun || s.Attempts != 1 {
		t.Errorf("given back: %+v", s)
	}
	// What a person allowed to send again is not forgotten either, though Reprise never attempted it.
	execSQL(t, pool, seedsql.Reserve, "live:"+kind, "live", kind, seedsql.Live, true)
	execSQL(t, pool, seedsql.Doubt, "live:"+kind)
	decide(t, l, "live:"+kind, ledger.Resend)
	execSQL(t, pool, seedsql.GiveBack, "live:"+kind)
	if row, ok, err := l.Released(t.Context(), "live:"+kind); err != nil || !ok || !row.Resend || row.Content != nil {
		t.Errorf("%+v %v %v", row, ok, err)
	}
	do(t, l, effect("live", ledger.Keep), newProvider(always(nil)).call, ledger.DidApply)
}

// It takes over what is abandoned, if the provider deduplicates; the former owner's answer is then late.
func TestP5_AConsumerWithoutTokensTakesOver(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Release), newProvider(always(nil))
	r := reserve(t, l, e)
	age(t, pool, 6*time.Minute)
	if err := consumer(pool, ledger.Release, p, nil).Apply(t.Context(), event("ev-1")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := l.Doubt(t.Context(), r, errTimeout); !errors.Is(err, ledger.ErrLostOwnership) {
		t.Error(err)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Done || s.Attempts != 2 {
		t.Errorf("row %+v", s)
	}
	do(t, l, e, p.call, ledger.DidFind)
	// Not if it does not.
	keep := effect("ev-2", ledger.Keep)
	reserve(t, l, keep)
	age(t, pool, 6*time.Minute)
	if err := consumer(pool, ledger.Release, p, nil).Apply(t.Context(), event("ev-2")); err != nil {
		t.Fatal(err)
	}
	if n := p.deliveries(keep.Key()); n != 0 {
		t.Errorf("%d deliveries", n)
	}
}

// It says that an effect which we reserved is done, without asking: it knows. Our own failure changes nothing then.
func TestP5_AConsumerWithoutTokensCompletesOurs(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for name, end := range endings {
		for _, onFailure := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
			e := effect(name+"/"+string(onFailure), onFailure)
			r := reserve(t, l, e)
			execSQL(t, pool, seedsql.Complete, e.Key(), "null")
			before := read(t, pool, e.Key())
			if err := end.report(t.Context(), l, r); (name == "complete") != (err == nil) || err != nil && !errors.Is(err, ledger.ErrLostOwnership) {
				t.Errorf("%s: %v", e.Key(), err)
			}
			if after := read(t, pool, e.Key()); after != before {
				t.Errorf("%s: %+v became %+v", e.Key(), before, after)
			}
			if got := logged(t, l, e.Key()); name != "complete" && !slices.Equal(got, []string{ledger.LogLate}) {
				t.Errorf("%s: log %v", e.Key(), got)
			}
		}
	}
}

func TestP1_WhatAConsumerWithoutTokensDoubtsIsReviewed(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	if err := consumer(pool, ledger.Keep, nil, errors.New("timed out")).Apply(t.Context(), event("ev-1")); err != nil {
		t.Fatal(err)
	}
	e, p := effect("ev-1", ledger.Keep), newProvider(always(nil))
	do(t, l, e, p.call, ledger.DidFind)
	u := uncertain(t, l, e.Key())
	if u.Reason != "" || u.OnFailure != "" || u.Content != nil || u.QuarantineLeft == 0 {
		t.Errorf("shown %+v", u)
	}
	decide(t, l, e.Key(), ledger.Resend)
	do(t, l, e, p.call, ledger.DidApply)
	if n := p.deliveries(e.Key()); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}
