package batch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch"
)

// TestDiffOfNewNegativeAndHugeValues: an order without a value has none before, not 0; new orders and changes are
// summed apart, exactly; and a simulation says where the two arithmetics differ.
func TestDiffOfNewNegativeAndHugeValues(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, e := range []struct{ order, cents, percent string }{
		{"new", "10000", "5"}, {"huge-1", "9200000000000000000", "100"}, {"huge-2", "9200000000000000000", "100"}, // new
		{"back", "-10000", "5"}, {"down", "-9200000000000000000", "100"}, {"up", "9200000000000000000", "100"}, {"up-2", "9200000000000000000", "100"}, // changed
		{"cent", "3000", "1.15"}, // as it was, in doubles
	} {
		b.event(int64(i)+1, e.order, 1, fmt.Sprintf(`{"valorCentavos":%s,"percentual":%s}`, e.cents, e.percent))
	}
	b.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento) values
		('back', 50, 1), ('down', 9200000000000000000, 1), ('up', 1, 1), ('up-2', 1, 1), ('cent', 34, 1)`)
	r := b.replay(batch.Simulate, 8)
	b.wantState(r, batch.Done)
	if r.Summary.OtherMode != 1 {
		t.Errorf("%d events differ in exact arithmetic", r.Summary.OtherMode)
	}
	store, ctx := b.store(), context.Background()
	totals, err := store.DiffTotals(ctx, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	totals.Histogram = nil
	want := batch.DiffTotals{New: 3, Changed: 4, Same: 1, NewAfter: "18400000000000000500", ChangedBefore: "9200000000000000052", ChangedAfter: "9199999999999999500"}
	if diff := cmp.Diff(want, totals); diff != "" {
		t.Error(diff)
	}
	page, err := store.Diff(ctx, batch.DiffQuery{Execution: r.ID, Sort: batch.ByDelta})
	if err != nil {
		t.Fatal(err)
	}
	deltas := map[string]string{}
	for _, d := range page {
		deltas[d.OrderID] = d.Delta()
		if isNew := d.OrderID == "new" || d.OrderID == "huge-1" || d.OrderID == "huge-2"; isNew != (d.Before == nil) {
			t.Errorf("%s was %v before", d.OrderID, d.Before)
		}
	}
	if page[0].OrderID != "down" || deltas["down"] != "-18400000000000000000" || deltas["back"] != "-550" {
		t.Errorf("%v", deltas)
	}
}
