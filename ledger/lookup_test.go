package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/seedsql"
)

func TestLookUps(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	answer := func(u ledger.UncertainEffect, v ledger.LookUpVerdict) {
		t.Helper()
		if err := l.RecordLookUp(t.Context(), u.Key, u.Version, ledger.LookUpAnswer{Verdict: v, Answer: json.RawMessage(`{"visto":true}`), Detail: "asked"}); err != nil {
			t.Fatal(err)
		}
	}
	due := func() []ledger.UncertainEffect {
		t.Helper()
		list, err := l.DueLookUps(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	e := effect("ev-1", ledger.LookUp)
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
	do(t, l, effect("ev-keep", ledger.Keep), newProvider(always(errTimeout)).call, ledger.DidDoubt)
	if got := due(); len(got) != 0 {
		t.Errorf("due at once: %+v", got)
	}
	version := uncertain(t, l, e.Key()).Version
	// An outage puts the question off, each time longer, and never changes the row that a reviewer sees.
	for i, wait := range []time.Duration{time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 12 * time.Hour, 24 * time.Hour, 24 * time.Hour} {
		age(t, pool, wait-10*time.Second)
		version = version.Add(-wait + 10*time.Second)
		if got := due(); len(got) != 0 {
			t.Fatalf("look-up %d is due early: %+v", i, got)
		}
		age(t, pool, 15*time.Second)
		version = version.Add(-15 * time.Second)
		got := due()
		if len(got) != 1 || got[0].Key != e.Key() || got[0].LookUps != i || !got[0].Version.Equal(version) {
			t.Fatalf("look-up %d: %+v", i, got)
		}
		if again := due(); len(again) != 0 {
			t.Errorf("handed out twice: %+v", again)
		}
		answer(got[0], ledger.Unreachable)
		if u := uncertain(t, l, e.Key()); u.Reason != "sem-resposta" || u.LookUps != i+1 || !u.Version.Equal(version) {
			t.Errorf("after an outage: %+v", u)
		}
	}
	// Who took it and vanished has it for five minutes.
	age(t, pool, 25*time.Hour)
	if len(due()) != 1 {
		t.Error("not due")
	}
	age(t, pool, 6*time.Minute)
	got := due()
	if len(got) != 1 {
		t.Fatal("not handed out again")
	}
	answer(got[0], ledger.NotFound)
	u := uncertain(t, l, e.Key())
	if u.Reason != ledger.ReasonNotFound || u.NextLookUp != nil || u.Version.Equal(version) {
		t.Errorf("not found: %+v", u)
	}
	age(t, pool, 1000*time.Hour)
	if got := due(); len(got) != 0 {
		t.Errorf("asked again: %+v", got)
	}

	e = effect("ev-2", ledger.LookUp)
	reserve(t, l, e)
	age(t, pool, time.Hour)
	sweep(t, l, e.Policy)
	got = due() // abandoned: no call is alive, so at once
	if len(got) != 1 {
		t.Fatalf("abandoned: %+v", got)
	}
	answer(got[0], ledger.Found)
	if s := read(t, pool, e.Key()); s.State != ledger.Done || s.Result != "aplicado" || s.Answer != `{"visto": true}` || s.LookUp || s.Reason != "" {
		t.Errorf("found: %+v", s)
	}
}

func TestP5_ALookUpOfARowThatChangedChangesNothing(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for i, verdict := range []ledger.LookUpVerdict{ledger.Found, ledger.NotFound, ledger.Unreachable} {
		for j, change := range []func(e ledger.Effect){
			func(e ledger.Effect) { decide(t, l, e.Key(), ledger.Resend) },
			func(e ledger.Effect) { decide(t, l, e.Key(), ledger.Discard) },
			func(e ledger.Effect) {
				decide(t, l, e.Key(), ledger.Resend)
				do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
			},
			func(e ledger.Effect) {
				u := uncertain(t, l, e.Key())
				if err := l.RecordLookUp(t.Context(), e.Key(), u.Version, ledger.LookUpAnswer{Verdict: ledger.NotFound}); err != nil {
					t.Fatal(err)
				}
			},
		} {
			e := effect(fmt.Sprintf("ev-%d-%d", i, j), ledger.LookUp)
			do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
			u := uncertain(t, l, e.Key())
			change(e)
			before := read(t, pool, e.Key())
			if err := l.RecordLookUp(t.Context(), e.Key(), u.Version, ledger.LookUpAnswer{Verdict: verdict}); err != nil {
				t.Fatal(err)
			}
			if after := read(t, pool, e.Key()); after != before {
				t.Errorf("%s after change %d: %+v became %+v", verdict, j, before, after)
			}
			if got := logged(t, l, e.Key()); got[len(got)-1] != ledger.LogLate {
				t.Errorf("log %v", got)
			}
		}
	}
	// A consumer without tokens completed it, and knows nothing of look-ups.
	e := effect("completed", ledger.LookUp)
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
	execSQL(t, pool, seedsql.Complete, e.Key(), "null")
	before := read(t, pool, e.Key())
	var version time.Time
	if err := pool.QueryRow(t.Context(), `select atualizado_em from efeito_aplicado where chave = $1`, e.Key()).Scan(&version); err != nil {
		t.Fatal(err)
	}
	if err := l.RecordLookUp(t.Context(), e.Key(), version, ledger.LookUpAnswer{Verdict: ledger.NotFound}); err != nil {
		t.Fatal(err)
	}
	if after := read(t, pool, e.Key()); after != before {
		t.Errorf("%+v became %+v", before, after)
	}
	if err := l.RecordLookUp(t.Context(), "e:k", time.Time{}, ledger.LookUpAnswer{}); !errors.Is(err, ledger.ErrInvalid) {
		t.Error(err)
	}
}

// Somebody may ask although nobody has to.
func TestALookUpOfAnEffectThatIsNotToBeLookedUp(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for verdict, want := range map[ledger.LookUpVerdict]func(stored) bool{
		ledger.Unreachable: func(s stored) bool { return s.State == ledger.Uncertain && s.Reason == "sem-resposta" && !s.LookUp },
		ledger.NotFound: func(s stored) bool {
			return s.State == ledger.Uncertain && s.Reason == ledger.ReasonNotFound && !s.LookUp
		},
		ledger.Found: func(s stored) bool { return s.State == ledger.Done && s.Result == "aplicado" },
	} {
		e := doubted(t, l, string(verdict))
		u := uncertain(t, l, e.Key())
		if err := l.RecordLookUp(t.Context(), e.Key(), u.Version, ledger.LookUpAnswer{Verdict: verdict}); err != nil {
			t.Fatal(err)
		}
		if s := read(t, pool, e.Key()); !want(s) {
			t.Errorf("%s: %+v", verdict, s)
		}
	}
}

// TestALookUpSettlesTheEffectThatWasAskedAbout, and none that happens to be of the same instant.
func TestALookUpSettlesTheEffectThatWasAskedAbout(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	asked, other := effect("asked", ledger.Keep), effect("other", ledger.Keep)
	for _, e := range []ledger.Effect{asked, other} {
		if _, _, err := l.Doubt(t.Context(), reserve(t, l, e), errTimeout); err != nil {
			t.Fatal(err)
		}
	}
	execSQL(t, pool, `update efeito_aplicado set atualizado_em = now()`)
	seen := uncertain(t, l, asked.Key()).Version
	if err := l.RecordLookUp(t.Context(), asked.Key(), seen, ledger.LookUpAnswer{Verdict: ledger.Found}); err != nil {
		t.Fatal(err)
	}
	if s := read(t, pool, asked.Key()); s.State != ledger.Done {
		t.Errorf("asked about: %+v", s)
	}
	if s := read(t, pool, other.Key()); s.State != ledger.Uncertain {
		t.Errorf("the other: %+v", s)
	}
	for _, verdict := range []ledger.LookUpVerdict{ledger.Unreachable, ledger.NotFound} {
		if err := l.RecordLookUp(t.Context(), other.Key(), uncertain(t, l, other.Key()).Version, ledger.LookUpAnswer{Verdict: verdict}); err != nil {
			t.Fatal(err)
		}
		if s := read(t, pool, other.Key()); s.Result != "" {
			t.Errorf("%s is no result: %+v", verdict, s)
		}
	}
}
