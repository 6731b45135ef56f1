package batch_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/schema/pgtest"
)

// TestListsAreCountedUpToALimit: what counting costs ends at the limit, however long the list grows.
func TestListsAreCountedUpToALimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	store, ctx := b.store(), t.Context()
	lists := map[string]struct {
		fill, table string
		count       func() (batch.Count, error)
	}{
		"replays": {`insert into reprocessamento (id, manipulador, modo, estado, particoes, politica, criado_em)
			select 'r-' || i, 'comissao', 'simular', 'concluido', 1, '{}', '2026-01-01'::timestamptz + i * interval '1 minute' from generate_series($1::int, $2::int) i`,
			"reprocessamento", func() (batch.Count, error) { return store.ReplayCount(ctx, batch.ReplayQuery{}) }},
		"slots": {`insert into agenda_disparo (tarefa, previsto_para, estado, executor)
			select 't', '2026-01-01'::timestamptz + i * interval '1 minute', 'concluido', 'h' from generate_series($1::int, $2::int) i`,
			"agenda_disparo", func() (batch.Count, error) { return store.FiringCount(ctx) }},
		"failures": {`insert into reprocessamento_falha (execucao_id, posicao, evento_id, pedido_id, motivo)
			select r, i, 'ev-' || i, 'P-' || i, 'x' from generate_series($1::int, $2::int) i, unnest('{r-7,r-8}'::text[]) r`,
			"reprocessamento_falha", func() (batch.Count, error) { return store.FailureCount(ctx, "r-7") }},
	}
	for name, l := range lists {
		cost := func(first, last int, want batch.Count) int64 {
			b.exec(l.fill, first, last)
			b.exec(`vacuum analyze ` + l.table)
			return pgtest.Blocks(t, b.pool, l.table, func() {
				if got, err := l.count(); err != nil || got != want {
					t.Fatalf("%s: %+v, want %+v, %v", name, got, want, err)
				}
			})
		}
		cost(1, 42, batch.Count{Rows: 42})
		full := cost(43, batch.CountLimit+1, batch.Count{Rows: batch.CountLimit, More: true})
		if double := cost(batch.CountLimit+2, 3*batch.CountLimit, batch.Count{Rows: batch.CountLimit, More: true}); double > full*3/2+10 {
			t.Errorf("%s: %d blocks to count to the limit, %d in a list three times as long", name, full, double)
		}
	}
}

// TestReplaysAreFoundByWhatTheySay: by a part of the id, the state, the mode or a person's name, whatever its case, or by
// states and modes that are named in other words; a page goes on where the last one ended, and the count is of all pages.
func TestReplaysAreFoundByWhatTheySay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`insert into reprocessamento (id, manipulador, modo, estado, particoes, politica, pedido_por, aprovado_por, criado_em) values
		('sim-1', 'comissao', 'simular', 'concluido', 1, '{}', 'ana', null, '2026-01-01'),
		('fix-1', 'comissao', 'aplicar', 'parcial', 1, '{}', 'ana', 'Bruno', '2026-01-02'),
		('fix-2', 'comissao', 'aplicar', 'pausado', 1, '{}', 'carla', 'ana', '2026-01-03'),
		('sim-2', 'comissao', 'simular', 'falhou', 1, '{}', 'carla', null, '2026-01-04')`)
	store, ctx := b.store(), t.Context()
	for i, c := range []struct {
		q    batch.ReplayQuery
		want []string
	}{
		{batch.ReplayQuery{}, []string{"sim-2", "fix-2", "fix-1", "sim-1"}},
		{batch.ReplayQuery{Text: "FIX"}, []string{"fix-2", "fix-1"}},
		{batch.ReplayQuery{Text: "bruno"}, []string{"fix-1"}},
		{batch.ReplayQuery{Text: "ana"}, []string{"fix-2", "fix-1", "sim-1"}},
		{batch.ReplayQuery{Text: "pausa"}, []string{"fix-2"}},
		{batch.ReplayQuery{Text: "simula"}, []string{"sim-2", "sim-1"}},
		{batch.ReplayQuery{Text: "done", States: []batch.State{batch.Done}}, []string{"sim-1"}},
		{batch.ReplayQuery{Text: "apply", Modes: []batch.Mode{batch.Apply}}, []string{"fix-2", "fix-1"}},
		{batch.ReplayQuery{Text: "%"}, nil},
		{batch.ReplayQuery{Text: "nobody"}, nil},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var found []string
			for q := c.q; ; {
				q.Limit = 2
				page, err := store.Replays(ctx, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range page {
					found = append(found, r.ID)
				}
				if len(page) < q.Limit {
					break
				}
				q.Before = page[len(page)-1].CreatedAt
			}
			if !slices.Equal(found, c.want) {
				t.Errorf("found %v, want %v", found, c.want)
			}
			if n, err := store.ReplayCount(ctx, c.q); err != nil || n != (batch.Count{Rows: int64(len(c.want))}) {
				t.Errorf("counted %+v, want %d, %v", n, len(c.want), err)
			}
		})
	}
	if page, err := store.Replays(ctx, batch.ReplayQuery{Before: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}); err != nil || len(page) != 1 {
		t.Errorf("before the second: %d, %v", len(page), err)
	}
}
