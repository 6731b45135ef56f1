package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/pgtest"
)

const (
	costAnyway = 60 // blocks that a statement may look at whatever it finds: catalogues of the table, descents, ends of indexes
	costOfRow  = 16 // and for each row that it returns or changes: a descent of every index, and the row
)

// fillLedger makes a ledger of 200,000 concluded effects, of which few wait for a person or are abandoned, in
// several kinds, by several executions, for several reasons.
func fillLedger(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, conteudo, dono, ao_falhar)
		select format('ev-%s:%s', i, $1::text), format('ev-%s', i), $1, 'concluido', 'ao-vivo', '{"valorCentavos": 150}', 'token-' || i, 'manter'
		from generate_series(1, 200000) i`, kind)
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, motivo, ao_falhar, conteudo, atualizado_em, consultar_em)
		select format('doubt-%s:k-%s', i, i % 3), format('doubt-%s', i), 'k-' || i % 3, 'incerto', 'r-' || i % 5, 'motivo-' || i % 2, 'consultar', '{}',
			clock_timestamp() - interval '1 day' - i * interval '1 second', clock_timestamp() + i * interval '1 hour'
		from generate_series(1, 60) i`)
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, ao_falhar, conteudo, atualizado_em)
		select format('left-%s:%s', i, $1::text), format('left-%s', i), $1, 'reservado', 'ao-vivo', 'manter', '{}', clock_timestamp() - interval '1 day'
		from generate_series(1, 40) i`, kind)
}

// TestCostIsWhatIsReturned: every question to a large ledger looks at about as many blocks as its answer has rows,
// whatever the planner knows.
func TestCostIsWhatIsReturned(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(fill func(), analyze func()){
		"never analyzed":      func(fill, _ func()) { fill() },
		"analyzed":            func(fill, analyze func()) { fill(); analyze() },
		"analyzed when empty": func(fill, analyze func()) { analyze(); fill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, pool := open(t, ledger.Options{})
			execSQL(t, pool, `alter table efeito_aplicado set (autovacuum_enabled = off)`)
			prepare(func() { fillLedger(t, pool) }, func() { execSQL(t, pool, `vacuum analyze efeito_aplicado`) })
			wantCosts(t, l, pool)
		})
	}
}

func wantCosts(t *testing.T, l *ledger.Ledger, pool *pgxpool.Pool) {
	t.Helper()
	cost := func(what string, rows int, f func()) {
		t.Helper()
		if n, most := pgtest.Blocks(t, pool, "efeito_aplicado", f), int64(costAnyway+costOfRow*rows); n > most {
			t.Errorf("%s: %d blocks for %d rows, want at most %d", what, n, rows, most)
		}
	}
	wantRows := func(what string, got, want int, err error) {
		t.Helper()
		if err != nil || got != want {
			t.Fatalf("%s: %d rows, want %d, %v", what, got, want, err)
		}
	}

	const n = 100
	effects := make([]ledger.Effect, n)
	for i := range effects {
		effects[i] = effect(fmt.Sprintf("ev-%d", i*2000), ledger.Keep)
	}
	cost("look", n, func() {
		list, err := l.Look(t.Context(), effects)
		wantRows("look", len(list), n, err)
	})
	cost("apply", 2, func() { do(t, l, effect("new-1", ledger.Keep), newProvider(always(nil)).call, ledger.DidApply) })
	cost("refuse", 2, func() { do(t, l, effect("new-2", ledger.Keep), newProvider(always(errRefused)).call, ledger.DidRefuse) })
	cost("find", 1, func() { do(t, l, effect("ev-7", ledger.Keep), nil, ledger.DidFind) })
	cost("doubt", 2, func() { do(t, l, effect("new-3", ledger.Keep), newProvider(always(errTimeout)).call, ledger.DidDoubt) })
	cost("decide", 2, func() { decide(t, l, effect("new-3", ledger.Keep).Key(), ledger.Confirm) })
	cost("give back", 3, func() {
		r := reserve(t, l, effect("new-4", ledger.Keep))
		if err := l.GiveBack(t.Context(), r, errNoRoute); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := l.Released(t.Context(), r.Key()); !ok || err != nil {
			t.Fatal(ok, err)
		}
		execSQL(t, pool, `delete from efeito_aplicado where chave = $1`, r.Key())
	})
	wantQueueCosts(t, l, cost, wantRows)
	cost("sweep", 3*41, func() {
		report, _ := sweep(t, l, policy(ledger.Keep))
		wantRows("sweep", int(report.Uncertain[ledger.ReasonAbandoned]), 40, nil)
	})
	cost("sweep of nothing", 41, func() { sweep(t, l, policy(ledger.Keep)) })
	execSQL(t, pool, `update efeito_aplicado set consultar_em = clock_timestamp() where chave in ('doubt-1:k-1', 'doubt-2:k-2')`)
	cost("look-ups", 2*2, func() {
		due, err := l.DueLookUps(t.Context(), 10)
		wantRows("look-ups", len(due), 2, err)
		if err := l.RecordLookUp(t.Context(), due[0].Key, due[0].Version, ledger.LookUpAnswer{Verdict: ledger.NotFound}); err != nil {
			t.Fatal(err)
		}
	})
}

// wantQueueCosts pages through the review queue in every way that it offers.
func wantQueueCosts(t *testing.T, l *ledger.Ledger, cost func(string, int, func()), wantRows func(string, int, int, error)) {
	t.Helper()
	const page = 10
	for _, filter := range []struct {
		q    ledger.UncertainQuery
		rows int // of 60
	}{
		{ledger.UncertainQuery{}, 60},
		{ledger.UncertainQuery{Kind: "k-1"}, 20},
		{ledger.UncertainQuery{Execution: "r-3"}, 12},
		{ledger.UncertainQuery{Reason: "motivo-0"}, 30},
		{ledger.UncertainQuery{Text: "doubt-1"}, 11},
		{ledger.UncertainQuery{Kind: "k-0", Execution: "r-0", Reason: "motivo-0"}, 2},
		{ledger.UncertainQuery{Kind: "nothing"}, 0},
	} {
		for _, backwards := range []bool{false, true} {
			q := filter.q
			q.Limit, q.Backwards = page, backwards
			what := fmt.Sprintf("queue %+v", q)
			read := 0
			for {
				var list []ledger.UncertainEffect
				cost(what, 60, func() {
					var err error
					if list, err = l.Uncertain(t.Context(), q); err != nil {
						t.Fatal(err)
					}
				})
				if read += len(list); len(list) < page {
					break
				}
				last := list[page-1]
				q.After = &ledger.Cursor{Version: last.Version, Key: last.Key}
			}
			wantRows(what, read, filter.rows, nil)
		}
	}
	cost("one of the queue", 1, func() { uncertain(t, l, "doubt-7:k-1") })
	cost("counts", 60, func() {
		counts, err := l.UncertainCounts(t.Context(), ledger.UncertainQuery{})
		wantRows("counts", len(counts), 6, err)
	})
}

// TestDeepPagesCostOnePage: in a queue of a large incident a page costs what it shows, however deep it lies and
// however few of the queue pass the filter.
func TestDeepPagesCostOnePage(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, motivo, ao_falhar, conteudo, atualizado_em)
		select format('ev-%s:%s', i, k), format('ev-%s', i), k, 'incerto', case when i % 10000 = 0 then 'rare' else 'often' end,
			case when i % 10000 = 1 then 'rare' else 'often' end, 'manter', '{}', '2026-10-14'::timestamptz + i * interval '1 second'
		from (select i, case when i % 10000 = 2 then 'rare' else $1::text end as k from generate_series(1, 50000) i) x`, kind)
	check := func(t *testing.T) {
		const page = 20
		deep := &ledger.Cursor{Version: time.Date(2026, 10, 14, 8, 0, 0, 0, time.UTC)}
		for _, q := range []ledger.UncertainQuery{
			{}, {Backwards: true}, {Kind: kind, Execution: "often", Reason: "often"}, {Kind: "rare"}, {Execution: "rare"}, {Reason: "rare"}, {Reason: "rare", Backwards: true},
		} {
			q.After, q.Limit = deep, page
			n := pgtest.Blocks(t, pool, "efeito_aplicado", func() {
				if list, err := l.Uncertain(t.Context(), q); err != nil || len(list) < 2 {
					t.Errorf("%+v: %d rows, %v", q, len(list), err)
				}
			})
			if n > costAnyway+costOfRow*page {
				t.Errorf("%+v: %d blocks", q, n)
			}
		}
	}
	t.Run("never analyzed", check)
	execSQL(t, pool, `vacuum analyze efeito_aplicado`)
	t.Run("analyzed", check)
}

// TestAPlainSuccessIsPlannedOnce: to reserve and to conclude take a plan that is kept, and everything else one of its own.
func TestAPlainSuccessIsPlannedOnce(t *testing.T) {
	t.Parallel()
	direct := pgtest.New(t)
	config := direct.Config()
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	l := with(t, pool, ledger.Options{})
	const effects = 10
	for i := range effects {
		do(t, l, effect(fmt.Sprintf("ev-%d", i), ledger.Keep), newProvider(always(nil)).call, ledger.DidApply)
	}
	kept := count(t, pool, `
		select count(*) from pg_prepared_statements
		where statement like '%insert into efeito_aplicado%' and generic_plans = $1 and custom_plans = 0`, effects)
	if kept != 2 {
		t.Errorf("%d statements keep their plan, want the reservation's and the conclusion's", kept)
	}
	var mode string
	if err := pool.QueryRow(t.Context(), `show plan_cache_mode`).Scan(&mode); err != nil || mode != "force_custom_plan" {
		t.Errorf("afterwards the session says %s %v", mode, err)
	}
}
