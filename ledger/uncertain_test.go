package ledger_test

import (
	"slices"
	"testing"

	"reprise.dev/reprise/ledger"
)

func TestTheReviewQueueIsPagedByKey(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, motivo, atualizado_em)
		select format('ev-%s:%s', lpad(i::text, 3, '0'), k), format('ev-%s', i), k, 'incerto', 'run-' || i % 2, 'r' || i % 3, timestamptz '2026-01-01' + i / 7 * interval '1 second'
		from generate_series(0, 99) i, unnest(array['a', 'b']) k`)
	// What is not uncertain is not in the queue.
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, motivo, atualizado_em)
		select e || '-01' || ':a', e || '-01', 'a', e, 'run-1', 'r0', timestamptz '2026-01-01' from unnest(array['reservado', 'concluido']) e`)
	if _, found, err := l.UncertainByKey(t.Context(), "concluido-01:a"); err != nil || found {
		t.Errorf("by key: %v %v", found, err)
	}
	if e, found, err := l.UncertainByKey(t.Context(), "ev-042:b"); err != nil || !found || e.Key != "ev-042:b" {
		t.Errorf("by key: %+v %v %v", e, found, err)
	}
	page := func(q ledger.UncertainQuery) []string {
		t.Helper()
		list, err := l.Uncertain(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		keys := []string{}
		for _, e := range list {
			keys = append(keys, e.Key)
		}
		return keys
	}
	all := page(ledger.UncertainQuery{Limit: 1000})
	if len(all) != 200 {
		t.Fatalf("%d effects", len(all))
	}
	var forwards, backwards []string
	for q := (ledger.UncertainQuery{Limit: 9}); ; {
		list, err := l.Uncertain(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			forwards = append(forwards, e.Key)
		}
		if len(forwards) > len(all) {
			t.Fatalf("%d effects in pages of %d", len(forwards), len(all))
		}
		q.After = &ledger.Cursor{Version: list[len(list)-1].Version, Key: list[len(list)-1].Key}
	}
	for q := (ledger.UncertainQuery{Limit: 9, Backwards: true}); ; {
		list, err := l.Uncertain(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, e := range list {
			backwards = append(backwards, e.Key)
		}
		if len(backwards) > len(all) {
			t.Fatalf("%d effects in pages of %d", len(backwards), len(all))
		}
		q.After = &ledger.Cursor{Version: list[len(list)-1].Version, Key: list[len(list)-1].Key}
	}
	slices.Reverse(backwards)
	if !slices.Equal(forwards, all) || !slices.Equal(backwards, all) {
		t.Error("pages do not add up to the queue")
	}
	for name, c := range map[string]struct {
		q    ledger.UncertainQuery
		want int
	}{
		"kind":      {ledger.UncertainQuery{Kind: "a"}, 100},
		"execution": {ledger.UncertainQuery{Execution: "run-1"}, 100},
		"reason":    {ledger.UncertainQuery{Reason: "r0"}, 68},
		"text":      {ledger.UncertainQuery{Text: "ev-01"}, 20},
		"no match":  {ledger.UncertainQuery{Text: "%"}, 0},
		"all":       {ledger.UncertainQuery{Kind: "b", Execution: "run-0", Reason: "r0", Text: "06"}, 3}, // 006, 060, 066
	} {
		c.q.Limit = 1000
		for _, c.q.Backwards = range []bool{false, true} {
			if got := page(c.q); len(got) != c.want {
				t.Errorf("%s: %d effects: %v", name, len(got), got)
			}
		}
		counts, err := l.UncertainCounts(t.Context(), c.q)
		var counted int64
		for _, n := range counts {
			counted += n.Effects
		}
		if err != nil || counted != int64(c.want) {
			t.Errorf("%s: counted %d, listed %d, %v", name, counted, c.want, err)
		}
	}
	if got := page(ledger.UncertainQuery{}); len(got) != 100 {
		t.Errorf("default page: %d", len(got))
	}
	counts, err := l.UncertainCounts(t.Context(), ledger.UncertainQuery{})
	if err != nil || len(counts) != 6 || counts[0].Kind != "a" || counts[0].Reason != "r0" || counts[0].Effects != 34 || counts[0].Oldest.IsZero() {
		t.Errorf("counts %+v %v", counts, err)
	}
}
