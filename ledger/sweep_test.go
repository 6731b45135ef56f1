package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
)

func TestP3_EachAbandonedReservationFindsItsEnd(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	old := 6 * time.Minute
	windowed := policy(ledger.Release)
	windowed.DedupWindow = time.Hour
	for name, c := range map[string]struct {
		policy ledger.Policy
		age    time.Duration
		before func(l *ledger.Ledger, e ledger.Effect)
		reason string // "": retakable
		left   bool   // alone: neither
		lookUp bool
	}{
		"keep, young":          {policy: policy(ledger.Keep), left: true},
		"keep":                 {policy: policy(ledger.Keep), age: old, reason: ledger.ReasonAbandoned},
		"look up":              {policy: policy(ledger.LookUp), age: old, reason: ledger.ReasonAbandoned, lookUp: true},
		"release":              {policy: policy(ledger.Release), age: old},
		"release, window over": {policy: windowed, age: 2 * time.Hour, reason: ledger.ReasonWindow},
		"release, window open": {policy: windowed, age: old},
		"release, given back": {policy: policy(ledger.Release), before: func(l *ledger.Ledger, e ledger.Effect) {
			do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidWait)
		}},
		"release, attempts used up": {policy: ledger.Policy{OnFailure: ledger.Release, CallTimeout: time.Second, MaxAttempts: 1}, age: old, reason: ledger.ReasonAttempts},
		"keep, nothing left": {policy: policy(ledger.Keep), before: func(l *ledger.Ledger, e ledger.Effect) {
			if err := l.GiveBack(t.Context(), reserve(t, l, e), errNoRoute); err != nil {
				t.Fatal(err)
			}
		}},
		"keep, resend allowed": {policy: policy(ledger.Keep), before: func(l *ledger.Ledger, e ledger.Effect) {
			do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
			decide(t, l, e.Key(), ledger.Resend)
		}},
		"keep, resend abandoned": {policy: policy(ledger.Keep), age: old, reason: ledger.ReasonAbandoned, before: func(l *ledger.Ledger, e ledger.Effect) {
			do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
			decide(t, l, e.Key(), ledger.Resend)
			reserve(t, l, e)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			execSQL(t, pool, `update efeito_aplicado set estado = 'concluido'`) // the others are out of the way
			e := effect(name, c.policy.OnFailure)
			e.Policy = c.policy
			if c.before != nil {
				c.before(l, e)
			} else {
				reserve(t, l, e)
			}
			age(t, pool, c.age)
			report, retakable := sweep(t, l, c.policy)
			want := map[string]int64{}
			if c.reason != "" {
				want[c.reason] = 1
			}
			if !maps.Equal(report.Uncertain, want) {
				t.Errorf("moved %v, want %v", report.Uncertain, want)
			}
			if free := c.reason == "" && !c.left; free != (len(retakable) == 1) || report.Retakable != int64(len(retakable)) {
				t.Errorf("retakable %+v", retakable)
			}
			s := read(t, pool, e.Key())
			if c.reason == "" {
				if s.State != ledger.Reserved {
					t.Errorf("row %+v", s)
				}
				// What may have left is sent as it was; anything else as the event wants it now.
				if len(retakable) == 1 && (retakable[0].Content != nil) != s.MayHaveRun {
					t.Errorf("retakable %+v of %+v", retakable, s)
				}
				return
			}
			if s.State != ledger.Uncertain || s.Reason != c.reason || s.Owner || s.Free || s.Resend || s.LookUp != c.lookUp {
				t.Errorf("row %+v", s)
			}
			if got := logged(t, l, e.Key()); got[len(got)-1] != ledger.LogSwept {
				t.Errorf("log %v", got)
			}
			if again, _ := sweep(t, l, c.policy); len(again.Uncertain) != 0 {
				t.Errorf("a second sweep moved %v", again.Uncertain)
			}
		})
	}
}

func TestP3_RowsLeftAloneDoNotHideOthers(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	insert := func(kind string, n int) {
		execSQL(t, pool, `
			insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, atualizado_em)
			select format('ev-%s:%s', i, $1::text), format('ev-%s', i), $1, 'reservado', 'ao-vivo', now() - interval '1 day'
			from generate_series(1, $2) i`, kind, n)
	}
	insert("desconhecido", 1700) // of the same instant: the key tells them apart
	insert(kind, 3)
	execSQL(t, pool, `update efeito_aplicado set atualizado_em = atualizado_em + interval '1 hour' where tipo_efeito = $1`, kind)
	report, retakable := sweep(t, l, policy(ledger.Keep))
	if report.Unknown["desconhecido"] != 1700 || report.Uncertain[ledger.ReasonAbandoned] != 3 || len(retakable) != 0 {
		t.Errorf("report %+v", report)
	}
	if left := count(t, pool, `select count(*) from efeito_aplicado where estado = 'reservado' and tipo_efeito = 'desconhecido'`); left != 1700 {
		t.Errorf("%d unknown effects left", left)
	}
}

func TestP3_ASweepListsABoundedNumberOfUnknownKinds(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, atualizado_em)
		select format('ev:k%s', i), 'ev', format('k%s', i), 'reservado', 'ao-vivo', clock_timestamp() - interval '1 day' from generate_series(1, 150) i`)
	report, _ := sweep(t, l, policy(ledger.Keep))
	if len(report.Unknown) != 101 || report.Unknown[""] != 50 {
		t.Errorf("%d kinds, %d others", len(report.Unknown), report.Unknown[""])
	}
}

func TestP3_WhatASweepRetriesItDoesNotMeetAgain(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	const n = 1200 // more than two pages
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, atualizado_em, livre, ao_falhar)
		select format('ev-%s:%s', i, $1::text), format('ev-%s', i), $1, 'reservado', 'ao-vivo', clock_timestamp() - interval '1 day', true, 'liberar'
		from generate_series(1, $2) i`, kind, n)
	seen := map[string]int{}
	p := newProvider(always(errTimeout))
	_, err := l.Sweep(t.Context(), ledger.SweepScope{Policies: policies(policy(ledger.Release)), Retry: func(r ledger.Retakable) error {
		seen[r.Key]++
		if len(seen) <= 20 || len(seen) > n-20 {
			_, err := l.Do(t.Context(), effect(r.EventID, ledger.Release), p.call)
			return err
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != n || slices.Max(slices.Collect(maps.Values(seen))) != 1 {
		t.Errorf("%d effects, one of them %d times", len(seen), slices.Max(slices.Collect(maps.Values(seen))))
	}
}

func TestP3_ASweepOfKeysTouchesOnlyThose(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	keys := []string{}
	for i := range 600 {
		keys = append(keys, ledger.Key(fmt.Sprintf("ev-%d", i), kind))
	}
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, atualizado_em)
		select chave, split_part(chave, ':', 1), $2, 'reservado', 'ao-vivo', clock_timestamp() - interval '1 day' from unnest($1::text[]) chave`, append(keys, "other:"+kind), kind)
	reserve(t, l, effect("young", ledger.Keep))
	report, err := l.Sweep(t.Context(), ledger.SweepScope{Policies: policies(policy(ledger.Keep)), Keys: append(keys, ledger.Key("young", kind), "absent:"+kind)})
	if err != nil || report.Uncertain[ledger.ReasonAbandoned] != 600 {
		t.Errorf("report %+v, %v", report, err)
	}
	if s := read(t, pool, "other:"+kind); s.State != ledger.Reserved {
		t.Errorf("other: %+v", s)
	}
	if s := read(t, pool, ledger.Key("young", kind)); s.State != ledger.Reserved || !s.Owner {
		t.Errorf("young: %+v", s)
	}
	if report, err := l.Sweep(t.Context(), ledger.SweepScope{Policies: policies(policy(ledger.Keep)), Keys: []string{}}); err != nil || len(report.Uncertain) != 0 {
		t.Errorf("no keys: %+v, %v", report, err)
	}
}

func TestP3_ARetryThatFailsEndsTheSweep(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for i := range 3 {
		reserve(t, l, effect(fmt.Sprint(i), ledger.Release))
	}
	age(t, pool, time.Hour)
	stop, calls := errors.New("stopping"), 0
	_, err := l.Sweep(t.Context(), ledger.SweepScope{Policies: policies(policy(ledger.Release)), Retry: func(ledger.Retakable) error {
		calls++
		return stop
	}})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// A sweep judges a row, and then the row changes hands before the sweep writes.
func TestP3_ASweepMovesOnlyTheRowThatItJudged(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	keep, release, mended := effect("a", ledger.Keep), effect("b", ledger.Release), effect("c", ledger.Keep)
	release.Policy.MaxAttempts = 1
	for _, e := range []ledger.Effect{keep, release, mended} {
		reserve(t, l, e)
	}
	age(t, pool, time.Hour)
	// Hold both rows while the sweep waits for them.
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), `update efeito_aplicado set dono = 'another', tentativas = 2, atualizado_em = clock_timestamp() where chave = $1`, keep.Key()); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `update efeito_aplicado set livre = true, reenvio = true, atualizado_em = clock_timestamp() where chave = $1`, release.Key()); err != nil {
		t.Fatal(err)
	}
	// By hand, who forgets the version.
	if _, err := tx.Exec(t.Context(), `update efeito_aplicado set estado = 'concluido' where chave = $1`, mended.Key()); err != nil {
		t.Fatal(err)
	}
	done := make(chan ledger.SweepReport)
	go func() {
		report, err := l.Sweep(t.Context(), ledger.SweepScope{Policies: policies(release.Policy)})
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	waitUntil(t, func() bool { return count(t, pool, waitingSQL) > 0 })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if report := <-done; len(report.Uncertain) > 0 && (report.Uncertain[ledger.ReasonAbandoned] > 0 || report.Uncertain[ledger.ReasonAttempts] > 0) {
		t.Errorf("moved %v", report.Uncertain)
	}
	if s := read(t, pool, keep.Key()); s.State != ledger.Reserved {
		t.Errorf("retaken: %+v", s)
	}
	if s := read(t, pool, release.Key()); s.State != ledger.Reserved || !s.Resend {
		t.Errorf("resend allowed: %+v", s)
	}
	if s := read(t, pool, mended.Key()); s.State != ledger.Done {
		t.Errorf("done: %+v", s)
	}
}

// waitingSQL counts backends of this database that wait for a lock.
const waitingSQL = `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

func count(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func waitUntil(t testing.TB, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain")
		}
	}
}

// Reserved by one statement, many rows have one version: each is judged by itself.
func TestP3_RowsOfOneInstantAreJudgedApart(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	keep, release := effect("keep", ledger.Keep), effect("release", ledger.Release)
	reserve(t, l, keep)
	reserve(t, l, release)
	execSQL(t, pool, `update efeito_aplicado set atualizado_em = now() - interval '1 hour'`)
	report, retakable := sweep(t, l, keep.Policy)
	if report.Uncertain[ledger.ReasonAbandoned] != 1 || len(retakable) != 1 || retakable[0].Key != release.Key() {
		t.Errorf("report %+v, may be attempted again %+v", report, retakable)
	}
	if s := read(t, pool, keep.Key()); s.State != ledger.Uncertain {
		t.Errorf("%+v", s)
	}
	if s := read(t, pool, release.Key()); s.State != ledger.Reserved {
		t.Errorf("%+v", s)
	}
}
