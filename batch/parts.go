package batch

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/jackc/pgx/v5"
)

// The state of a run is written, or compared, in parts: ranges of orders by the bytes of their ids, so that each is
// sorted, locked and written at once, and side by side in the indexes too. borders are the first orders of all parts but
// the first. They are set when the scope is; where they lie is a matter of speed alone.
type borders []string

const (
	partEvents   = 16_384 // about how many events one part holds, at least
	mostParts    = 1024
	sampledEvery = 1024 // events
)

// partsFor is how many parts so many events become. Each part costs a statement, and each chunk of events a row for each
// part: so parts become more, and bigger, as the run does.
func partsFor(events int64) int {
	size := max(partEvents, int64(16*math.Sqrt(float64(events))))
	return min(1<<bits.Len64(uint64(max(events-1, 0)/size)), mostParts)
}

// bordersFor cuts the orders of a run where a sample of its events says that the parts become even.
func bordersFor(events int64, sample []string) borders {
	parts := partsFor(events)
	slices.Sort(sample)
	b := make(borders, 0, parts-1)
	for i := 1; i < parts && len(sample) > 0; i++ {
		b = append(b, sample[i*len(sample)/parts])
	}
	return slices.Compact(b)
}

// part is the number of the part that holds an order.
func (b borders) part(order string) int {
	return sort.Search(len(b), func(i int) bool { return b[i] > order })
}

func (b borders) parts() int { return len(b) + 1 }

// insertParts keeps the borders of a run. The number 0 begins with the empty id, before all others.
func insertParts(ctx context.Context, tx pgx.Tx, execution string, b borders) error {
	firsts := append([]string{""}, b...)
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"reprocessamento_parte"}, []string{"execucao_id", "parte", "pedido_de"},
		pgx.CopyFromSlice(len(firsts), func(i int) ([]any, error) { return []any{execution, i, firsts[i]}, nil }))
	if err != nil {
		return fmt.Errorf("parts of %s: %w", execution, err)
	}
	return nil
}

// readBorders reads what insertParts kept.
func readBorders(ctx context.Context, q querier, execution string) (borders, error) {
	rows, err := q.Query(ctx, `select pedido_de from reprocessamento_parte where execucao_id = $1 and parte > 0 order by parte`, execution)
	if err != nil {
		return nil, fmt.Errorf("parts of %s: %w", execution, err)
	}
	b, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("parts of %s: %w", execution, err)
	}
	return b, nil
}
