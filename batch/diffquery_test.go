package batch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch"
)

// TestDiffPagesInEveryOrder: paging by key, forwards and backwards, gives each row once, in one order.
func TestDiffPagesInEveryOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois, antes_versao, depois_versao)
		select 'x', 'P-' || g, case when g % 7 = 0 then null else (g * 37) % 101 - 50 end, (g * 53) % 211 - 100, 1, g % 5
		from generate_series(1, 300) g`)
	b.exec(`insert into reprocessamento_diff values ('x', 'P-min', -9223372036854775808, 9223372036854775807), ('x', 'P-max', 9223372036854775807, -9223372036854775808)`)
	store, ctx := b.store(), context.Background()
	for _, sort := range []batch.DiffSort{batch.ByOrder, batch.ByDelta, batch.ByPercent, batch.ByBefore, batch.ByAfter, batch.ByVersion} {
		t.Run(string(sort), func(t *testing.T) {
			read := func(descending bool, limit int) []string {
				t.Helper()
				var ids []string
				q := batch.DiffQuery{Execution: "x", Sort: sort, Descending: descending, Limit: limit}
				for {
					page, err := store.Diff(ctx, q)
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range page {
						ids = append(ids, r.OrderID)
					}
					if len(page) < limit {
						return ids
					}
					q.After = &page[len(page)-1]
				}
			}
			whole, paged, backwards := read(false, 1000), read(false, 7), read(true, 11)
			if len(whole) != 302 {
				t.Fatalf("%d rows", len(whole))
			}
			if diff := cmp.Diff(whole, paged); diff != "" {
				t.Errorf("paging loses or repeats rows:\n%s", diff)
			}
			slices.Reverse(backwards)
			if diff := cmp.Diff(whole, backwards); diff != "" {
				t.Errorf("backwards is not the reverse:\n%s", diff)
			}
		})
	}
	if _, err := store.Diff(ctx, batch.DiffQuery{Execution: "x", Sort: "nonsense"}); err == nil {
		t.Error("unknown order accepted")
	}
	totals, err := store.DiffTotals(ctx, "x")
	if err != nil || totals.New != 42 {
		t.Errorf("%+v, %v", totals, err)
	}
	var csv strings.Builder
	b.exec(`insert into reprocessamento_diff values ('y', '=HYPERLINK("x")' || chr(27) || '[2J', null, 1)`)
	if err := store.ExportDiff(ctx, "y", "csv", &csv); err != nil {
		t.Fatal(err)
	}
	if text := csv.String(); strings.Contains(text, "\x1b") || !strings.Contains(text, "'=HYPERLINK") {
		t.Errorf("unsafe export %s", fmt.Sprintf("%q", text))
	}
}
