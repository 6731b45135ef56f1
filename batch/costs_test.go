package batch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/pgtest"
)

// Blocks that a question may look at whatever it finds, and for each row that it returns.
const (
	costAnyway = 60
	costOfRow  = 10
)

// history fills the tables with what many replays of a large archive leave: 100,000 archived events with an effect
// each, and diffs, failures and divergences of several replays.
func (b *bench) history() {
	b.t.Helper()
	for _, sql := range []string{
		`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
			select i, 'ev-' || i, 'pedido.pago', 'P-' || i / 2, i, '{"valorCentavos":10000,"percentual":5}', 'epoch'::timestamptz + i * interval '1 second'
			from generate_series(1, 100000) i`,
		`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, conteudo)
			select 'ev-' || i || ':notificar-vendedor', 'ev-' || i, 'notificar-vendedor', 'concluido', 'ao-vivo', '{"valorCentavos":500}'
			from generate_series(1, 100000) i`,
		`insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois, antes_versao, depois_versao)
			select 'r-' || r, 'P-' || lpad(i::text, 5, '0'), i % 97, i % 89, 1, 2 from generate_series(5, 9) r, generate_series(1, 40000) i`,
		`insert into reprocessamento_falha (execucao_id, posicao, evento_id, pedido_id, motivo)
			select 'r-' || r, i, 'ev-' || i, 'P-' || i, 'x' from generate_series(0, 19) r, generate_series(1, 5000) i`,
		`insert into reprocessamento_divergencia (execucao_id, chave, pedido_id, enviado, enviaria)
			select 'r-' || r, 'ev-' || i, 'P-' || i, '{}', '{}' from generate_series(0, 19) r, generate_series(1, 5000) i`,
	} {
		b.exec(sql)
	}
}

// TestCostIsWhatIsReturned: what people look at costs about as many blocks as they see rows, however large the
// history, whatever the planner knows.
func TestCostIsWhatIsReturned(t *testing.T) {
	t.Parallel()
	for _, analyzed := range []bool{false, true} {
		t.Run(fmt.Sprintf("analyzed %v", analyzed), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.history()
			if analyzed {
				b.exec(`vacuum analyze`)
			}
			b.wantDiffCosts()
			b.wantCosts()
		})
	}
}

func (b *bench) wantCost(table, what string, rows int, f func() (int, error)) {
	b.t.Helper()
	n := pgtest.Blocks(b.t, b.pool, table, func() {
		if got, err := f(); err != nil || got != rows {
			b.t.Fatalf("%s: %d rows, want %d, %v", what, got, rows, err)
		}
	})
	if most := int64(costAnyway + costOfRow*rows); n > most {
		b.t.Errorf("%s: %d blocks of %s for %d rows, want at most %d", what, n, table, rows, most)
	}
}

// wantDiffCosts pages through a diff: by order, a page costs what it shows; by another column the diff of this one
// run is read and sorted, and nothing of any other.
func (b *bench) wantDiffCosts() {
	b.t.Helper()
	const page = 20
	store := b.store()
	diff := func(q batch.DiffQuery) func() (int, error) {
		q.Execution, q.Limit = "r-7", page
		return func() (int, error) {
			list, err := store.Diff(b.t.Context(), q)
			return len(list), err
		}
	}
	middle := &batch.DiffRow{OrderID: "P-25000", Before: new(int64), After: 16}
	for _, descending := range []bool{false, true} {
		for what, q := range map[string]batch.DiffQuery{
			"first page": {}, "deep page": {After: middle}, "prefix": {Prefix: "P-399"}, "deep in a prefix": {Prefix: "P-2", After: middle}, "changed only": {ChangedOnly: true},
		} {
			q.Descending = descending
			b.wantCost("reprocessamento_diff", fmt.Sprintf("%s, descending %v", what, descending), page, diff(q))
		}
		for _, sort := range []batch.DiffSort{batch.ByDelta, batch.ByPercent, batch.ByBefore, batch.ByAfter, batch.ByVersion} {
			for _, after := range []*batch.DiffRow{nil, middle} {
				q := batch.DiffQuery{Sort: sort, Descending: descending, After: after}
				n := pgtest.Blocks(b.t, b.pool, "reprocessamento_diff", func() {
					if _, err := diff(q)(); err != nil {
						b.t.Fatal(err)
					}
				})
				if all := b.blocksOf("reprocessamento_diff"); n > all/2 {
					b.t.Errorf("by %s, descending %v: %d of %d blocks for one run of 5", sort, descending, n, all)
				}
			}
		}
	}
}

func (b *bench) blocksOf(table string) int64 {
	b.t.Helper()
	return scan[int64](b, `select pg_table_size($1::text::regclass) / current_setting('block_size')::bigint`, table)
}

func (b *bench) wantCosts() {
	b.t.Helper()
	store, ctx := b.store(), b.t.Context()
	b.wantCost("reprocessamento_falha", "failures", 50, func() (int, error) {
		list, err := store.Failures(ctx, "r-7", 2500, 50)
		return len(list), err
	})
	b.wantCost("reprocessamento_divergencia", "told otherwise", 50, func() (int, error) {
		list, err := store.Divergences(ctx, "r-7", "ev-3", 50)
		return len(list), err
	})
	b.wantCost("evento_arquivado", "an event", 1, func() (int, error) {
		_, err := store.Event(ctx, "ev-77")
		return 1, err
	})
	b.wantCost("evento_arquivado", "an order's history", 2, func() (int, error) {
		list, err := store.OrderHistory(ctx, "P-77")
		return len(list), err
	})
	for what, scope := range map[string]batch.Scope{"positions": positions(50_000, 50_099), "window": window(50_000, 50_100)} {
		preview := func() (int, error) {
			p, err := store.Preview(ctx, batch.Request{Mode: batch.Apply, Scope: scope})
			if err == nil && p.Kinds[0].Registered != 100 {
				b.t.Errorf("preview of %s: %+v", what, p.Kinds)
			}
			return int(p.Events), err
		}
		b.wantCost("evento_arquivado", "preview of "+what, 100, preview)
		b.wantCost("efeito_aplicado", "preview of "+what, 100, preview)
	}
	metrics := func() (int, error) {
		ch := make(chan prometheus.Metric, 100)
		batch.NewCollector(store).Collect(ch)
		return 0, nil
	}
	b.wantCost("efeito_aplicado", "metrics", 0, metrics)
	b.wantCost("evento_arquivado", "metrics", 0, metrics)

	b.exec(`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, ao_falhar, atualizado_em)
		select 'left-' || i || ':notificar-vendedor', 'left-' || i, 'notificar-vendedor', 'reservado', 'ao-vivo', 'manter', 'epoch' from generate_series(1, 2) i`)
	b.wantCost("efeito_aplicado", "sweep", 2, func() (int, error) {
		report, err := b.host().Sweep(ctx)
		return int(report.Uncertain[ledger.ReasonAbandoned]), err
	})
}

// window is the scope of the events of [history] from one position until before another.
func window(first, end int64) batch.Scope {
	from, to := time.Unix(first, 0).UTC(), time.Unix(end, 0).UTC()
	return batch.Scope{From: &from, To: &to, Zone: "UTC"}
}
