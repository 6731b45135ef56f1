// Command rows measures what a row of each table takes on disk, after replays by the program itself: in the table, in its
// indexes, and compressed or out of line.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/batch/sample"
	"reprise.dev/reprise/scripts/bench/rig"
)

// result is one line of the table.
type result struct {
	Table   string  `json:"table"`
	Rows    int64   `json:"rows"`
	Row     float64 `json:"bytes_a_row"` // all of it, as the program left it, dead rows too
	Packed  float64 `json:"packed"`      // rewritten by "vacuum full"
	Heap    float64 `json:"heap"`        // of that
	Indexes float64 `json:"indexes"`     // of that
}

func main() {
	events := flag.Int("events", 100_000, "events of the archive")
	asJSON := flag.Bool("json", false, "print the table as JSON")
	binary := flag.String("reprise", "bin/reprise", "the program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results, err := measure(ctx, *binary, *events)
	rig.Report("rows", *asJSON, results, func(w io.Writer) error { return print(w, results) }, err)
}

// sizesSQL: what a row of a table takes. Of few rows nothing is learned. The table that is emptied at the end of a run, of
// which there were two, still has the pages that it needed.
const sizesSQL = `
	select c.relname::text, n.rows, pg_total_relation_size(c.oid)::float8 / n.rows, pg_total_relation_size(c.oid)::float8 / n.rows,
		pg_table_size(c.oid)::float8 / n.rows, pg_indexes_size(c.oid)::float8 / n.rows
	from pg_class c join pg_namespace s on s.oid = c.relnamespace
	cross join lateral (
		select coalesce(nullif((xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %s', c.oid::regclass), false, true, '')))[1]::text::bigint, 0),
			case when c.relname = 'reprocessamento_projetado' then 2 * $1::bigint end) as rows) n
	where c.relkind = 'r' and (s.nspname = 'public' and c.relname <> 'reprise_migracao' or c.oid = 'river.river_job'::regclass) and n.rows >= 50
	order by 3 * n.rows desc`

func measure(ctx context.Context, binary string, events int) ([]result, error) {
	r, err := rig.Start(ctx, binary)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	provider, err := faultprovider.Start(faultprovider.Options{})
	if err != nil {
		return nil, err
	}
	defer provider.Close()
	if err := r.Configure(rig.Effects(provider.URL, 256, "")); err != nil {
		return nil, err
	}
	if _, err := sample.Insert(ctx, r.Pool, sample.Options{Events: events, Orders: events / 2, PoisonShare: 0.001, Seed: 1}); err != nil {
		return nil, err
	}
	if err := r.Exec(ctx, `alter table reprocessamento_projetado set (autovacuum_enabled = off)`); err != nil {
		return nil, err
	}
	provider.SetRules(faultprovider.Rule{Fault: faultprovider.ActThenFail, Share: 0.01})
	replay := func(id, mode string) error {
		if _, err := r.Run(ctx, "replay", "queue", "--id", id, "--positions", fmt.Sprintf("1:%d", events), "--"+mode); err != nil {
			return err
		}
		_, err := r.Run(ctx, "replay", "run", id)
		return err
	}
	if err := replay("applied", "apply"); err != nil {
		return nil, err
	}
	// A correction, so that what was told differs from what would be told now.
	if err := r.Exec(ctx, `update evento_arquivado set payload = payload || '{"percentual": 7}' where tipo = 'pedido.pago' and payload ? 'percentual'`); err != nil {
		return nil, err
	}
	if err := r.Exec(ctx, `vacuum full evento_arquivado`); err != nil {
		return nil, err
	}
	if err := replay("simulated", "simulate"); err != nil {
		return nil, err
	}
	left, err := sizes(ctx, r, events)
	if err != nil {
		return nil, err
	}
	if err := r.Exec(ctx, `vacuum full`); err != nil {
		return nil, err
	}
	packed, err := sizes(ctx, r, events)
	if err != nil {
		return nil, err
	}
	for i := range left {
		for _, p := range packed {
			if p.Table == left[i].Table {
				left[i].Packed, left[i].Heap, left[i].Indexes = p.Row, p.Heap, p.Indexes
			}
		}
	}
	return left, nil
}

func sizes(ctx context.Context, r *rig.Rig, events int) ([]result, error) {
	rows, err := r.Pool.Query(ctx, sizesSQL, events)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[result])
}

func print(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "table\trows\tbytes a row\tpacked\theap\tindexes\t")
	for _, r := range results {
		fmt.Fprintf(t, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t\n", r.Table, r.Rows, r.Row, r.Packed, r.Heap, r.Indexes)
	}
	return t.Flush()
}
