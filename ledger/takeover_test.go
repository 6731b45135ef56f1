package ledger_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/seedsql"
)

// What the statements of a consumer without tokens leave in a row that Reprise made.

// retakenAndAbandoned lets a consumer without tokens retake a row of ours and die, a while ago.
func retakenAndAbandoned(t *testing.T, pool *pgxpool.Pool, e ledger.Effect) {
	t.Helper()
	age(t, pool, 6*time.Minute)
	execSQL(t, pool, seedsql.Reserve, e.Key(), e.EventID, e.Kind, seedsql.Live, true)
	if s := read(t, pool, e.Key()); s.Execution != seedsql.Live || s.Owner {
		t.Fatalf("not retaken: %+v", s)
	}
	age(t, pool, 6*time.Minute)
}

// givenBack makes an attempt of which nothing left, a while ago.
func givenBack(t *testing.T, l *ledger.Ledger, pool *pgxpool.Pool, e ledger.Effect) {
	t.Helper()
	if err := l.GiveBack(t.Context(), reserve(t, l, e), errNoRoute); err != nil {
		t.Fatal(err)
	}
	age(t, pool, 6*time.Minute)
}

func TestP1_WhatNeverLeftAConsumerWithoutTokensMaySend(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Keep), newProvider(always(nil))
	givenBack(t, l, pool, e)
	if err := consumer(pool, ledger.Release, p, nil).Apply(t.Context(), event("ev-1")); err != nil {
		t.Fatal(err)
	}
	if n := p.deliveries(e.Key()); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}

func TestP1_WhatAConsumerWithoutTokensRetookMayHaveLeft(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Keep), newProvider(always(nil))
	givenBack(t, l, pool, e)
	execSQL(t, pool, seedsql.Reserve, e.Key(), e.EventID, e.Kind, seedsql.Live, true)
	do(t, l, e, p.call, ledger.DidWait) // it is nobody else's now
	age(t, pool, 6*time.Minute)
	do(t, l, e, p.call, ledger.DidReview)
	if n := p.deliveries(e.Key()); n != 0 {
		t.Errorf("%d deliveries", n)
	}
}

func TestP1_AConsumerWithoutTokensSpendsAPermission(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Keep), newProvider(always(nil))
	execSQL(t, pool, seedsql.Reserve, e.Key(), e.EventID, e.Kind, seedsql.Live, false)
	execSQL(t, pool, seedsql.Doubt, e.Key())
	decide(t, l, e.Key(), ledger.Resend)
	retakenAndAbandoned(t, pool, e)
	execSQL(t, pool, seedsql.GiveBack, e.Key()) // after a call that may have arrived
	do(t, l, e, p.call, ledger.DidReview)
	if n := p.deliveries(e.Key()); n != 0 {
		t.Errorf("%d deliveries", n)
	}
}

func TestP2_AConsumerWithoutTokensRetakesNothingAfterTheWindow(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Release), newProvider(always(nil))
	e.Policy.DedupWindow = time.Hour
	reserve(t, l, e)
	age(t, pool, 2*time.Hour)
	if err := consumer(pool, ledger.Release, p, nil).Apply(t.Context(), event("ev-1")); err != nil {
		t.Fatal(err)
	}
	if n := p.deliveries(e.Key()); n != 0 {
		t.Errorf("%d deliveries", n)
	}
}

func TestP6_TheCallOfAConsumerWithoutTokensCouldStillBeInFlight(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Release)
	e.Policy.Quarantine, e.Policy.MaxAttempts = 30*time.Minute, 2
	reserve(t, l, e)
	age(t, pool, 40*time.Minute)
	retakenAndAbandoned(t, pool, e)
	sweep(t, l, e.Policy)
	if u := uncertain(t, l, e.Key()); u.QuarantineLeft < 20*time.Minute {
		t.Errorf("quarantine %s", u.QuarantineLeft)
	}
}

// Its success is welcome however late, and is no retake; it may say so twice.
func TestP5_AConsumerWithoutTokensCompletesWhatIsStale(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Keep)
	reserve(t, l, e)
	age(t, pool, 6*time.Minute)
	for _, answer := range []string{`{"recibo": 1}`, `{"recibo": 2}`} {
		execSQL(t, pool, seedsql.Complete, e.Key(), answer)
		if s := read(t, pool, e.Key()); s.State != ledger.Done || s.Answer != answer || s.Attempts != 1 {
			t.Errorf("row %+v", s)
		}
	}
	if got := logged(t, l, e.Key()); len(got) > 0 {
		t.Errorf("log %v", got)
	}
}

// What it has alone it deletes; of ours only what is given back changes, in that row, and nothing gets younger by it.
func TestP4_WhatADeletedRowBecomes(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	own := effect("own", ledger.Release)
	execSQL(t, pool, seedsql.Reserve, own.Key(), own.EventID, own.Kind, seedsql.Live, true)
	execSQL(t, pool, seedsql.GiveBack, own.Key())
	version := func(e ledger.Effect) (v time.Time) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), `select atualizado_em from efeito_aplicado where chave = $1`, e.Key()).Scan(&v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if s := look(t, l, own); s.Standing != ledger.Absent {
		t.Errorf("its own: %+v", s)
	}
	// Retaken and given back: it can be retaken by it again at once, and by Reprise.
	back, other := effect("back", ledger.Release), effect("other", ledger.Release)
	for _, e := range []ledger.Effect{back, other} {
		reserve(t, l, e)
		retakenAndAbandoned(t, pool, e)
		execSQL(t, pool, seedsql.Reserve, e.Key(), e.EventID, e.Kind, seedsql.Live, true)
	}
	execSQL(t, pool, seedsql.GiveBack, back.Key())
	if s := read(t, pool, back.Key()); !s.Free {
		t.Errorf("given back: %+v", s)
	}
	if s := read(t, pool, other.Key()); s.Free {
		t.Errorf("another row: %+v", s)
	}
	age(t, pool, time.Hour)
	before := version(back)
	execSQL(t, pool, seedsql.GiveBack, back.Key())
	if after := version(back); !after.Equal(before) {
		t.Errorf("given back twice: %s became %s", before, after)
	}
	execSQL(t, pool, seedsql.Reserve, back.Key(), back.EventID, back.Kind, seedsql.Live, true)
	execSQL(t, pool, seedsql.GiveBack, back.Key())
	p := newProvider(always(nil))
	if err := consumer(pool, ledger.Release, p, nil).Apply(t.Context(), event("back")); err != nil {
		t.Fatal(err)
	}
	if n := p.deliveries(back.Key()); n != 1 {
		t.Errorf("%d deliveries", n)
	}
	// Whoever deletes what is settled or waits for a person changes nothing.
	doubt, confirmed := effect("doubt", ledger.Keep), effect("confirmed", ledger.Keep)
	for _, e := range []ledger.Effect{doubt, confirmed} {
		if _, _, err := l.Doubt(t.Context(), reserve(t, l, e), errTimeout); err != nil {
			t.Fatal(err)
		}
	}
	decide(t, l, confirmed.Key(), ledger.Confirm)
	for _, e := range []ledger.Effect{doubt, confirmed} {
		row, before := read(t, pool, e.Key()), version(e)
		execSQL(t, pool, `delete from efeito_aplicado where chave = $1`, e.Key())
		if after := read(t, pool, e.Key()); after != row || !version(e).Equal(before) {
			t.Errorf("%+v became %+v", row, after)
		}
	}
}
