package main

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
)

func newReplayDiff(a *app) *cobra.Command {
	var (
		q            batch.DiffQuery
		sort, export string
		told, totals bool
	)
	c := &cobra.Command{
		Use: "diff ID", Short: "Show or export what a replay changes, or would change", Args: cobra.ExactArgs(1),
		Example: "  reprise replay diff simular-14 --sort delta --desc --limit 20\n  reprise replay diff simular-14 --export csv > diff.csv\n  reprise replay diff simular-14 --told-otherwise",
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			ctx, w := cmd.Context(), cmd.OutOrStdout()
			if _, err := store.Replay(ctx, args[0]); err != nil {
				return err
			}
			q.Execution, q.Sort = args[0], batch.DiffSort(sort)
			switch {
			case export != "":
				return store.ExportDiff(ctx, args[0], export, w)
			case told:
				return a.printDivergences(cmd, store, args[0], q.Limit)
			}
			t, err := store.DiffTotals(ctx, args[0])
			if err != nil {
				return err
			}
			var page []batch.DiffRow
			if !totals {
				if page, err = store.Diff(ctx, q); err != nil {
					return err
				}
			}
			if a.json {
				return printJSON(w, struct {
					Totals batch.DiffTotals
					Rows   []batch.DiffRow
				}{t, page})
			}
			rows := make([][]string, len(page))
			for i, r := range page {
				rows[i] = []string{r.OrderID, cents(r.Before), cents(&r.After), r.Delta(), versionText(r.BeforeVersion), versionText(r.AfterVersion)}
			}
			if !totals {
				if err := printTable(w, []string{"ORDER", "BEFORE", "AFTER", "DELTA", "VERSION", "NEW VERSION"}, rows); err != nil {
					return err
				}
			}
			fmt.Fprintf(w, "changed %s orders, from %s to %s cents; new %s orders, %s cents; unchanged %s; told otherwise %s\n",
				humanize.Comma(t.Changed), t.ChangedBefore, t.ChangedAfter, humanize.Comma(t.New), t.NewAfter, humanize.Comma(t.Same), humanize.Comma(t.Told))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&sort, "sort", string(batch.ByOrder), "pedido, delta, percentual, antes, depois or versao")
	f.BoolVar(&q.Descending, "desc", false, "largest first")
	f.StringVar(&q.Prefix, "prefix", "", "only orders that begin with this")
	f.BoolVar(&q.NewOnly, "new", false, "only orders that had no value")
	f.BoolVar(&q.ChangedOnly, "changed", false, "only orders whose value differs")
	f.IntVar(&q.Limit, "limit", 50, "at most this many rows")
	f.StringVar(&export, "export", "", "write the whole diff as csv or json (an object a line)")
	f.BoolVar(&told, "told-otherwise", false, "list the effects that already went out with another content")
	f.BoolVar(&totals, "totals", false, "only the totals")
	return c
}

func cents(n *int64) string {
	if n == nil {
		return "—"
	}
	return fmt.Sprint(*n)
}

func versionText(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func (a *app) printDivergences(cmd *cobra.Command, store *batch.Store, id string, limit int) error {
	list, err := store.Divergences(cmd.Context(), id, "", limit)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(cmd.OutOrStdout(), list)
	}
	rows := make([][]string, len(list))
	for i, d := range list {
		rows[i] = []string{d.Key, d.OrderID, d.Sent, d.WouldSend}
	}
	return printTable(cmd.OutOrStdout(), []string{"EFFECT", "ORDER", "WENT OUT", "WOULD GO OUT NOW"}, rows)
}
