package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/pgtest"
)

// The planner has never seen the table, or last saw it empty: nothing may cost what the ledger holds.
func TestNothingReadsTheWholeLedger(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	execSQL(t, pool, `alter table efeito_aplicado set (autovacuum_enabled = off)`)
	warmUp := func(id string) {
		for i := range 8 { // more often than it takes to keep a plan
			e := effect(fmt.Sprintf("%s-%d", id, i), ledger.Keep)
			do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
			look(t, l, e)
			decide(t, l, e.Key(), ledger.Confirm)
			sweep(t, l, e.Policy)

			e = effect(fmt.Sprintf("%s-%d-asked", id, i), ledger.LookUp)
			r := reserve(t, l, e)
			if err := l.Complete(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			if err := l.GiveBack(t.Context(), r, errNoRoute); !errors.Is(err, ledger.ErrLostOwnership) {
				t.Fatal(err)
			}
			if err := l.RecordLookUp(t.Context(), e.Key(), time.Now(), ledger.LookUpAnswer{Verdict: ledger.Found}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := l.Released(t.Context(), e.Key()); err != nil {
				t.Fatal(err)
			}
		}
	}
	warmUp("before")
	execSQL(t, pool, `vacuum analyze efeito_aplicado`) // one page: reading all of it is cheapest
	warmUp("small")
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, conteudo)
		select format('ev-%s:%s', i, $1::text), format('ev-%s', i), $1, 'concluido', 'ao-vivo', '{"valorCentavos": 150}' from generate_series(1, 200000) i`, kind)
	pgtest.FlushStatistics(t, pool)
	execSQL(t, pool, `select pg_stat_reset()`)
	warmUp("after")
	effects := make([]ledger.Effect, 20_000)
	for i := range effects {
		effects[i] = effect(fmt.Sprintf("ev-%d", i+190_000), ledger.Keep)
	}
	began := time.Now()
	statuses, err := l.Look(t.Context(), effects)
	if err != nil || statuses[0].Standing != ledger.AlreadyDone || statuses[10_001].Standing != ledger.Absent {
		t.Fatal(err)
	}
	t.Logf("looked at %d effects in %s", len(effects), time.Since(began))
	if _, err := l.Sweep(t.Context(), ledger.SweepScope{Policies: policies(policy(ledger.Keep)), Keys: []string{"ev-1:" + kind, "ev-2:" + kind}}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.DueLookUps(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if _, err := l.UncertainCounts(t.Context(), ledger.UncertainQuery{}); err != nil {
		t.Fatal(err)
	}
	pgtest.FlushStatistics(t, pool)
	if n := count(t, pool, `select idx_scan from pg_stat_user_tables where relname = 'efeito_aplicado'`); n < 20_000 {
		t.Errorf("%d reads by an index", n)
	}
	if n := count(t, pool, `select seq_scan from pg_stat_user_tables where relname = 'efeito_aplicado'`); n != 0 {
		t.Errorf("%d reads of the whole table", n)
	}
}

// A pooler in the path costs latency only.
func TestWithoutPreparedStatements(t *testing.T) {
	t.Parallel()
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, pgx.QueryExecModeCacheDescribe} {
		t.Run(mode.String(), func(t *testing.T) {
			config := pgtest.New(t).Config()
			config.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			l := with(t, pool, ledger.Options{})
			defer l.Close()
			windowed := effect("windowed", ledger.Release)
			windowed.Policy.DedupWindow = time.Hour
			do(t, l, windowed, newProvider(always(nil)).call, ledger.DidApply)
			do(t, l, effect("refused", ledger.Keep), newProvider(always(errRefused)).call, ledger.DidRefuse)
			e := effect("doubt", ledger.LookUp)
			e.Content = json.RawMessage(`{"nome":"O'Reilly \\ \"x\" é","lista":[1,2.50]}`)
			do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
			if u := uncertain(t, l, e.Key()); string(u.Content) != `{"nome": "O'Reilly \\ \"x\" é", "lista": [1, 2.50]}` {
				t.Errorf("content %s", u.Content)
			}
			decide(t, l, e.Key(), ledger.Resend)
			e.Content = json.RawMessage(`{"lista": [1, 2.50], "nome": "O'Reilly \\ \"x\" é"}`)
			r := reserve(t, l, e)
			if err := l.GiveBack(t.Context(), r, errNoRoute); err != nil {
				t.Fatal(err)
			}
			reserve(t, l, e)
			age(t, pool, time.Hour)
			if report, _ := sweep(t, l, e.Policy); report.Uncertain[ledger.ReasonAbandoned] != 1 {
				t.Errorf("sweep %+v", report)
			}
			due, err := l.DueLookUps(t.Context(), 10)
			if err != nil || len(due) != 1 {
				t.Fatal(due, err)
			}
			if err := l.RecordLookUp(t.Context(), e.Key(), due[0].Version, ledger.LookUpAnswer{Verdict: ledger.Found, Answer: json.RawMessage(`{"a":1}`), Detail: "x"}); err != nil {
				t.Fatal(err)
			}
			if s := look(t, l, e); s.Standing != ledger.AlreadyDone {
				t.Errorf("status %+v", s)
			}
			if chain, err := l.VerifyChain(t.Context()); err != nil || !chain.OK() || chain.Decisions != 1 {
				t.Errorf("%s %v", chain, err)
			}
			if list, err := l.Uncertain(t.Context(), ledger.UncertainQuery{Kind: "x"}); err != nil || len(list) != 0 {
				t.Error(list, err)
			}
			if list, err := l.Occurrences(t.Context(), e.Key()); err != nil || len(list) != 4 {
				t.Error(list, err)
			}
		})
	}
}
