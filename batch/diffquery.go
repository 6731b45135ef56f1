package batch

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }

const diffSelectSQL = `
	select pedido_id, antes, depois, antes_versao, depois_versao
	from reprocessamento_diff
	where execucao_id = $1
		and ($2 = '' or starts_with(pedido_id, $2))
		and (not $3 or antes is null)
		and (not $4 or antes is distinct from depois)`

// diffOrders are the orders that a page can be in: a sort key that is never null, then the order id. A page
// carries on after the key and id of its last row ($6, $5; $7: there is one). The limit is $8.
var diffOrders = map[DiffSort]struct{ up, down string }{
	ByOrder: {
		diffSelectSQL + ` and (not $7 or pedido_id > $5 and $6::numeric is not null) order by pedido_id limit $8`,
		diffSelectSQL + ` and (not $7 or pedido_id < $5 and $6::numeric is not null) order by pedido_id desc limit $8`,
	},
	ByDelta: {
		diffSelectSQL + ` and (not $7 or (depois - coalesce(antes, 0)::numeric, pedido_id) > ($6::numeric, $5)) order by depois - coalesce(antes, 0)::numeric, pedido_id limit $8`,
		diffSelectSQL + ` and (not $7 or (depois - coalesce(antes, 0)::numeric, pedido_id) < ($6::numeric, $5)) order by depois - coalesce(antes, 0)::numeric desc, pedido_id desc limit $8`,
	},
	// A new order has no "before"; it comes ahead of all that have one.
	ByBefore: {
		diffSelectSQL + ` and (not $7 or (coalesce(antes, -9223372036854775808)::numeric, pedido_id) > ($6::numeric, $5)) order by coalesce(antes, -9223372036854775808)::numeric, pedido_id limit $8`,
		diffSelectSQL + ` and (not $7 or (coalesce(antes, -9223372036854775808)::numeric, pedido_id) < ($6::numeric, $5)) order by coalesce(antes, -9223372036854775808)::numeric desc, pedido_id desc limit $8`,
	},
	ByAfter: {
		diffSelectSQL + ` and (not $7 or (depois::numeric, pedido_id) > ($6::numeric, $5)) order by depois::numeric, pedido_id limit $8`,
		diffSelectSQL + ` and (not $7 or (depois::numeric, pedido_id) < ($6::numeric, $5)) order by depois::numeric desc, pedido_id desc limit $8`,
	},
	// Without a "before" there is no percentage; those come last, as if it were beyond every other.
	ByPercent: {
		diffSelectSQL + ` and (not $7 or (` + percentSQL + `, pedido_id) > ($6::numeric, $5)) order by ` + percentSQL + `, pedido_id limit $8`,
		diffSelectSQL + ` and (not $7 or (` + percentSQL + `, pedido_id) < ($6::numeric, $5)) order by ` + percentSQL + ` desc, pedido_id desc limit $8`,
	},
	ByVersion: {
		diffSelectSQL + ` and (not $7 or (coalesce(depois_versao, 0)::numeric, pedido_id) > ($6::numeric, $5)) order by coalesce(depois_versao, 0)::numeric, pedido_id limit $8`,
		diffSelectSQL + ` and (not $7 or (coalesce(depois_versao, 0)::numeric, pedido_id) < ($6::numeric, $5)) order by coalesce(depois_versao, 0)::numeric desc, pedido_id desc limit $8`,
	},
}

// percentSQL is the change in millionths of the value before, rounded, so that Go computes the very same number.
const percentSQL = `case when coalesce(antes, 0) = 0 then 1e30 else round((depois - antes::numeric) * 1000000 / abs(antes::numeric)) end`

func percent(r DiffRow) string {
	if r.Before == nil || *r.Before == 0 {
		return "1e30"
	}
	change, _ := new(big.Int).SetString(r.Delta(), 10)
	base := new(big.Int).Abs(big.NewInt(*r.Before))
	// Halves away from zero, as numeric's round does.
	twice := new(big.Int).Mul(change, big.NewInt(2_000_000))
	if change.Sign() < 0 {
		twice.Sub(twice, base)
	} else {
		twice.Add(twice, base)
	}
	return twice.Quo(twice, new(big.Int).Mul(base, big.NewInt(2))).String()
}

// sortKey is the value that a row is sorted by, as text: a difference may exceed 64 bits.
func (q DiffQuery) sortKey(r DiffRow) string {
	switch q.Sort {
	case ByDelta:
		return r.Delta()
	case ByBefore:
		if r.Before == nil {
			return "-9223372036854775808"
		}
		return strconv.FormatInt(*r.Before, 10)
	case ByPercent:
		return percent(r)
	case ByVersion:
		return strconv.FormatInt(deref(r.AfterVersion), 10)
	case ByAfter:
		return strconv.FormatInt(r.After, 10)
	default:
		return "0"
	}
}

// Diff reads a page of a diff.
func (s *Store) Diff(ctx context.Context, q DiffQuery) ([]DiffRow, error) {
	if q.Sort == "" {
		q.Sort = ByOrder
	}
	order, ok := diffOrders[q.Sort]
	if !ok {
		return nil, fmt.Errorf("sort diff by %q: use %s, %s, %s, %s, %s or %s: %w", q.Sort, ByOrder, ByDelta, ByPercent, ByBefore, ByAfter, ByVersion, ErrUsage)
	}
	sql := order.up
	if q.Descending {
		sql = order.down
	}
	if q.Limit == 0 {
		q.Limit = 100
	}
	after, key := DiffRow{}, "0"
	if q.After != nil {
		after, key = *q.After, q.sortKey(*q.After)
	}
	rows, err := s.pool.Query(ctx, sql, q.Execution, q.Prefix, q.NewOnly, q.ChangedOnly, after.OrderID, key, q.After != nil, q.Limit)
	if err != nil {
		return nil, fmt.Errorf("diff of %s: %w", q.Execution, err)
	}
	page, err := pgx.CollectRows(rows, scanDiffRow)
	if err != nil {
		return nil, fmt.Errorf("diff of %s: %w", q.Execution, err)
	}
	return page, nil
}

func scanDiffRow(row pgx.CollectableRow) (d DiffRow, err error) {
	return d, row.Scan(&d.OrderID, &d.Before, &d.After, &d.BeforeVersion, &d.AfterVersion)
}

const diffTotalsSQL = `
	select count(*) filter (where antes is null), count(*) filter (where antes <> depois), count(*) filter (where antes = depois),
		coalesce(sum(depois) filter (where antes is null), 0)::text,
		coalesce(sum(antes) filter (where antes <> depois), 0)::text,
		coalesce(sum(depois) filter (where antes <> depois), 0)::text,
		(select count(*) from reprocessamento_divergencia where execucao_id = $1)
	from reprocessamento_diff where execucao_id = $1`

// A bucket is a power of ten of cents, by sign.
const diffHistogramSQL = `
	select sign(d)::int, case when d = 0 then 0 else floor(log(abs(d)))::int end, count(*)
	from (select depois - antes::numeric as d from reprocessamento_diff where execucao_id = $1 and antes is not null) x
	group by 1, 2`

// DiffTotals sums a diff up.
func (s *Store) DiffTotals(ctx context.Context, id string) (DiffTotals, error) {
	var t DiffTotals
	err := s.pool.QueryRow(ctx, diffTotalsSQL, id).Scan(&t.New, &t.Changed, &t.Same, &t.NewAfter, &t.ChangedBefore, &t.ChangedAfter, &t.Told)
	if err != nil {
		return t, fmt.Errorf("totals of %s: %w", id, err)
	}
	rows, err := s.pool.Query(ctx, diffHistogramSQL, id)
	if err != nil {
		return t, fmt.Errorf("histogram of %s: %w", id, err)
	}
	counts := map[[2]int]int64{}
	var sign, power int
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&sign, &power, &n}, func() error {
		counts[[2]int{sign, min(power, 17)}] += n
		return nil
	}); err != nil {
		return t, fmt.Errorf("histogram of %s: %w", id, err)
	}
	t.Histogram = histogram(counts)
	return t, nil
}

// histogram lists the buckets in order of the change they stand for.
func histogram(counts map[[2]int]int64) []DiffBucket {
	pow := func(n int) int64 {
		p := int64(1)
		for range n {
			p *= 10
		}
		return p
	}
	var buckets []DiffBucket
	for power := 17; power >= 0; power-- {
		if n := counts[[2]int{-1, power}]; n > 0 {
			buckets = append(buckets, DiffBucket{From: -pow(power+1) + 1, To: -pow(power) + 1, Orders: n})
		}
	}
	if n := counts[[2]int{0, 0}]; n > 0 {
		buckets = append(buckets, DiffBucket{From: 0, To: 1, Orders: n})
	}
	for power := range 18 {
		if n := counts[[2]int{1, power}]; n > 0 {
			buckets = append(buckets, DiffBucket{From: pow(power), To: pow(power + 1), Orders: n})
		}
	}
	return buckets
}

// Divergences lists, by key after one, the effects whose content already went out with another value.
func (s *Store) Divergences(ctx context.Context, id, after string, limit int) ([]Divergence, error) {
	rows, err := s.pool.Query(ctx, `
		select chave, pedido_id, coalesce(enviado::text, ''), coalesce(enviaria::text, '') from reprocessamento_divergencia
		where execucao_id = $1 and chave > $2 order by chave limit $3`, id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("told otherwise in %s: %w", id, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (d Divergence, err error) {
		return d, row.Scan(&d.Key, &d.OrderID, &d.Sent, &d.WouldSend)
	})
	if err != nil {
		return nil, fmt.Errorf("told otherwise in %s: %w", id, err)
	}
	return list, nil
}

// ExportDiff writes a whole diff as "csv" or "json" (an object a line), page by page.
func (s *Store) ExportDiff(ctx context.Context, id, format string, w io.Writer) error {
	var write func(DiffRow) error
	flush := func() error { return nil }
	switch format {
	case "json":
		enc := json.NewEncoder(w)
		write = func(r DiffRow) error { return enc.Encode(r) }
	case "csv":
		c := csv.NewWriter(w)
		if err := c.Write([]string{"pedido_id", "antes", "depois", "delta", "antes_versao", "depois_versao"}); err != nil {
			return err
		}
		write = func(r DiffRow) error {
			return c.Write([]string{csvSafe(r.OrderID), number(r.Before), strconv.FormatInt(r.After, 10), r.Delta(), number(r.BeforeVersion), number(r.AfterVersion)})
		}
		flush = func() error { c.Flush(); return c.Error() }
	default:
		return fmt.Errorf("export as %q: use csv or json: %w", format, ErrUsage)
	}
	q := DiffQuery{Execution: id, Sort: ByOrder, Limit: 10_000}
	for {
		page, err := s.Diff(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range page {
			if err := write(r); err != nil {
				return fmt.Errorf("export diff of %s: %w", id, err)
			}
		}
		if len(page) < q.Limit {
			return flush()
		}
		q.After = &page[len(page)-1]
	}
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// csvSafe keeps a spreadsheet from reading text as a formula, and control bytes out of the file.
func csvSafe(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\uFFFD'
		}
		return r
	}, s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
