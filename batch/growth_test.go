package batch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/schema/pgtest"
)

// past is how much a database remembers of what is not in question.
type past struct{ events, replays, slots int }

var (
	young = past{events: 2_000, replays: 300, slots: 200}
	old   = past{events: 100_000, replays: 2_000, slots: 50_000}
)

// pastSQL fill a database, each in an order that has nothing to do with the one in which it is asked for. $1: how much.
var pastSQL = []struct {
	sql string
	n   func(past) int
}{
	{`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select i, 'ev-' || i, 'pedido.pago', 'P-' || i / 2, i, '{"valorCentavos":10000,"percentual":5}', 'epoch'::timestamptz + i * interval '1 second'
		from generate_series(1, $1) i order by md5(i::text)`, func(p past) int { return p.events }},
	{`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, conteudo)
		select 'ev-' || i || ':notificar-vendedor', 'ev-' || i, 'notificar-vendedor', 'concluido', 'ao-vivo', '{"valorCentavos":500}'
		from generate_series(1, $1) i order by md5(i::text)`, func(p past) int { return p.events }},
	{`insert into comissao (pedido_id, valor_centavos, versao_evento) select 'P-' || i, 500, 2 * i from generate_series(1, $1 / 2) i order by md5(i::text)`,
		func(p past) int { return p.events }},
	{`insert into reprocessamento (id, manipulador, modo, estado, faixa, eventos, particoes, politica, planejado_em, criado_em)
		select 'r-' || i, 'comissao', case when i % 2 = 0 then 'aplicar' else 'simular' end, case when i % 3 = 0 then 'concluido' when i % 3 = 1 then 'parcial' else 'cancelado' end,
			int8range(i * 20, i * 20 + 20), 20, 16, '{}', 'epoch', '2026-01-01'::timestamptz + i * interval '1 minute'
		from generate_series(1, $1) i order by md5(i::text)`, func(p past) int { return p.replays }},
	{`insert into reprocessamento_checkpoint (execucao_id, particao, ultima_posicao, posicao_de, posicao_ate, eventos, projetada_ate, concluida)
		select 'r-' || i, p, 2, 1, 2, 2, 2, true from generate_series(1, $1) i, generate_series(0, 15) p order by md5(i::text || p)`, func(p past) int { return p.replays }},
	{`insert into reprocessamento_parte (execucao_id, parte, pedido_de, concluida)
		select 'r-' || i, p, p::text, true from generate_series(1, $1) i, generate_series(0, 15) p order by md5(i::text || p)`, func(p past) int { return p.replays }},
	{`insert into reprocessamento_projetado select 'r-' || i, 0, p, '{a}', '{1}', '{1}' from generate_series(1, $1) i, generate_series(0, 7) p order by md5(i::text || p)`,
		func(p past) int { return p.replays }},
	{`insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois, antes_versao, depois_versao)
		select 'r-' || i, 'P-' || lpad(o::text, 5, '0'), o % 97, o % 89, 1, 2 from generate_series(1, $1) i, generate_series(1, 50) o order by md5(i::text || o)`,
		func(p past) int { return p.replays }},
	{`insert into reprocessamento_falha (execucao_id, posicao, evento_id, pedido_id, motivo)
		select 'r-' || i, f, 'ev-' || f, 'P-' || f, 'x' from generate_series(1, $1) i, generate_series(1, 50) f order by md5(i::text || f)`, func(p past) int { return p.replays }},
	{`insert into reprocessamento_divergencia (execucao_id, chave, pedido_id, enviado, enviaria)
		select 'r-' || i, 'ev-' || d, 'P-' || d, '{}', '{}' from generate_series(1, $1) i, generate_series(10, 59) d order by md5(i::text || d)`, func(p past) int { return p.replays }},
	{`insert into agenda_disparo (tarefa, previsto_para, estado, executor)
		select 't-' || i % 2, '2026-01-01'::timestamptz + i / 2 * interval '1 minute', 'concluido', 'h' from generate_series(1, $1) i order by md5(i::text)`, func(p past) int { return p.slots }},
}

// remembering is a bench whose database has a past.
type remembering struct {
	*bench
	past   past
	round  int
	blocks map[string]int64 // by what was asked
}

func remember(t *testing.T, p past, before, after string) *remembering {
	t.Helper()
	b := newBench(t)
	b.exec(`do $$ declare t text; begin for t in select relname from pg_stat_user_tables where schemaname = 'public' loop
		execute format('alter table %I set (autovacuum_enabled = off)', t); end loop; end $$`)
	b.exec(before)
	for _, f := range pastSQL {
		b.exec(f.sql, f.n(p))
	}
	b.exec(after)
	return &remembering{bench: b, past: p}
}

func (b *remembering) cost(what string, f func() error) {
	b.t.Helper()
	var err error
	n := pgtest.Blocks(b.t, b.pool, "", func() { err = f() })
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	b.blocks[what] = n
}

// enough is an error if there are fewer rows than that.
func enough[T any](n int) func(rows []T, err error) error {
	return func(rows []T, err error) error {
		if len(rows) < n {
			return errors.Join(err, fmt.Errorf("%d rows, want %d", len(rows), n))
		}
		return err
	}
}

// measure asks all that a person, a scrape or a runner asks again and again.
func (b *remembering) measure() map[string]int64 {
	b.t.Helper()
	b.blocks = map[string]int64{}
	b.round++
	store, ctx := b.store(), b.t.Context()
	const page, times = 20, 20
	middle := time.Date(2026, 1, 1, 0, b.past.replays/2, 0, 0, time.UTC)
	id := func(i int) string { return fmt.Sprintf("r-%d", 1+i*b.past.replays/times) }

	b.cost("replays", func() error { return enough[batch.Replay](page)(store.Replays(ctx, batch.ReplayQuery{Limit: page})) })
	b.cost("older replays", func() error {
		return enough[batch.Replay](page)(store.Replays(ctx, batch.ReplayQuery{Limit: page, Before: middle}))
	})
	b.repeat("progress", times, func(i int) error { _, err := store.Progress(ctx, id(i)); return err })
	b.repeat("failures", times, func(i int) error { return enough[batch.Failure](page)(store.Failures(ctx, id(i), 10, page)) })
	b.repeat("told otherwise", times, func(i int) error { return enough[batch.Divergence](page)(store.Divergences(ctx, id(i), "ev-2", page)) })
	after := &batch.DiffRow{OrderID: "P-00025", Before: new(int64), After: 16}
	for _, descending := range []bool{false, true} {
		for _, q := range []batch.DiffQuery{{}, {After: after}, {Sort: batch.ByDelta}} {
			q.Descending, q.Limit = descending, page
			b.repeat(fmt.Sprintf("diff by %q, descending %v, deep %v", q.Sort, descending, q.After != nil), times, func(i int) error {
				q.Execution = id(i)
				return enough[batch.DiffRow](page)(store.Diff(ctx, q))
			})
		}
	}
	b.repeat("totals", times, func(i int) error { _, err := store.DiffTotals(ctx, id(i)); return err })
	b.repeat("event", times, func(i int) error { _, err := store.Event(ctx, eventID(int64(1+i*b.past.events/times))); return err })
	b.repeat("an order's history", times, func(i int) error {
		return enough[batch.Event](1)(store.OrderHistory(ctx, fmt.Sprintf("P-%d", 1+i*b.past.events/2/times)))
	})
	for what, scope := range map[string]batch.Scope{"positions": positions(501, 504), "window": window(501, 505)} {
		b.cost("preview of "+what, func() error {
			p, err := store.Preview(ctx, batch.Request{Mode: batch.Apply, Scope: scope})
			if p.Events != 4 || p.Kinds[0].Registered != 4 {
				return errors.Join(err, fmt.Errorf("%+v", p))
			}
			return err
		})
	}
	b.repeat("applies of a simulation", times, func(i int) error { _, err := store.AppliedAs(ctx, id(i)); return err })
	b.cost("slots", func() error { return enough[batch.Firing](page)(store.Firings(ctx, page, nil)) })
	b.cost("older slots", func() error {
		return enough[batch.Firing](page)(store.Firings(ctx, page, &batch.Firing{Task: "t-0", Slot: time.Date(2026, 1, 1, 0, b.past.slots/4, 0, 0, time.UTC)}))
	})
	b.cost("metrics", func() error {
		ch := make(chan prometheus.Metric, 100)
		batch.NewCollector(store).Collect(ch)
		return nil
	})
	b.commands()
	return b.blocks
}

func (b *remembering) repeat(what string, times int, f func(i int) error) {
	b.t.Helper()
	b.cost(what, func() error {
		for i := range times {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	})
}

// commands are those of a person, and what a runner looks at for want of them.
func (b *remembering) commands() {
	store, ctx := b.store(), b.t.Context()
	for what, command := range map[string]func(context.Context, string) (batch.Replay, error){"pause": store.Pause, "cancel": store.Cancel} {
		id := fmt.Sprintf("new-%s-%d", what, b.round)
		b.cost("queue and "+what, func() error {
			if _, err := store.Queue(ctx, batch.Request{ID: id, Mode: batch.Apply, Scope: positions(1, 10)}); err != nil {
				return err
			}
			_, err := command(ctx, id)
			return err
		})
		if what == "pause" {
			if _, err := store.Cancel(ctx, id); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	host := b.host()
	b.cost("what is to be worked", func() error { return host.LookForWork(ctx) })
}

// TestCostDoesNotGrowWithThePast: what people, scrapes and runners ask, and a whole replay, make the server look at no
// more than one and a half times as many blocks, however many events, effects, replays and slots there were, whatever the
// planner knows of them.
func TestCostDoesNotGrowWithThePast(t *testing.T) {
	t.Parallel()
	fresh := remember(t, young, ``, `analyze`)
	questions, replay := fresh.measure(), fresh.replayed()
	for name, tc := range map[string]struct {
		past          past
		before, after string
	}{
		"young, never analyzed": {young, ``, ``}, "never analyzed": {old, ``, ``}, "analyzed": {old, ``, `analyze`}, "analyzed when empty": {old, `analyze`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := remember(t, tc.past, tc.before, tc.after)
			compare := func(base, got map[string]int64) {
				for what, n := range got {
					if grown(base[what], n) {
						t.Errorf("%s: %d blocks with a past of %+v, %d with %+v", what, n, tc.past, base[what], young)
					}
				}
			}
			if got := b.measure(); tc.past != young { // of few rows, more may be read than are asked for
				compare(questions, got)
			}
			compare(replay, b.replayed())
		})
	}
}

// grown reports whether a cost is more than one and a half times another; of few blocks some more are not.
func grown(from, to int64) bool { return 2*to > 3*from+20 }

// TestEveryIndexEarnsItsKeep: without any one of the indexes something costs more, so that none is missed and none is
// written in vain.
func TestEveryIndexEarnsItsKeep(t *testing.T) {
	t.Parallel()
	b := remember(t, old, ``, `analyze`)
	base := b.measure()
	for _, table := range []string{"evento_arquivado", "comissao", "reprocessamento", "reprocessamento_checkpoint", "reprocessamento_diff",
		"reprocessamento_falha", "reprocessamento_divergencia", "reprocessamento_projetado", "reprocessamento_parte", "agenda_disparo", "executor", "importacao"} {
		pgtest.WithoutEachIndex(t, b.pool, table, func(index string) {
			dearer := ""
			for what, n := range b.measure() {
				if grown(base[what], n) {
					dearer += fmt.Sprintf("\n\t%s: %d blocks, %d with it", what, n, base[what])
				}
			}
			t.Logf("without %s:%s", index, dearer)
			if dearer == "" {
				t.Errorf("nothing costs more without %s", index)
			}
		})
	}
}

// replayed brings about 400 effects, of orders that exist, and returns the blocks of each table in which a replay has
// rows for its events.
func (b *remembering) replayed() map[string]int64 {
	b.t.Helper()
	const events = 400
	b.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select 1000000 + i, 'new-' || i, 'pedido.pago', 'P-' || i, 1000000 + i, '{"valorCentavos":20000,"percentual":5}', '2026-10-14' from generate_series(1, $1::int) i`, events)
	before := b.blocksByTable()
	r := b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1_000_001, 1_000_000+events)}))
	b.wantState(r, batch.Done)
	if r.Summary.Written != events || r.Summary.Effects[notify].Applied != events {
		b.t.Fatalf("%+v", r.Summary)
	}
	spent := b.blocksByTable()
	for table := range spent {
		spent[table] -= before[table]
	}
	return spent
}

// blocksByTable are those that were looked at so far, of the tables in which a replay has rows for its events. The parts
// are not among them: how often whoever watches looks at those is a matter of time.
func (b *remembering) blocksByTable() map[string]int64 {
	b.t.Helper()
	n := map[string]int64{}
	for _, table := range []string{"evento_arquivado", "efeito_aplicado", "comissao", "reprocessamento_diff", "reprocessamento_projetado"} {
		n[table] = pgtest.BlocksSoFar(b.t, b.pool, table)
	}
	return n
}
