package batch

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// standing is the newest event of each order in a chunk, sorted by order: two slices that write the same orders
// lock them in the same sequence and cannot deadlock.
type standing struct {
	orders   []string
	values   []int64
	versions []int64
}

func newestOf(chunk []*projected) standing {
	newest := make(map[string]*projected, len(chunk))
	for _, p := range chunk {
		if other := newest[p.order]; other == nil || other.version <= p.version {
			newest[p.order] = p
		}
	}
	s := standing{orders: make([]string, 0, len(newest))}
	for order := range newest {
		s.orders = append(s.orders, order)
	}
	slices.Sort(s.orders)
	s.values, s.versions = make([]int64, len(s.orders)), make([]int64, len(s.orders))
	for i, order := range s.orders {
		s.values[i], s.versions[i] = newest[order].value, newest[order].version
	}
	return s
}

// Orders are spread over parts by a hash that is the same on every host, so that what is to be done for each of
// millions of orders can be done side by side, and in bounded memory.
const parts = 8

func partOf(order string) int { return int(crc32.ChecksumIEEE([]byte(order)) % parts) }

// simulateState keeps what the chunk would change. Appending is all that is done here: comparing with the state
// happens at the end, for all orders and as of one snapshot.
func simulateState(ctx context.Context, tx pgx.Tx, execution string, chunk []projected) error {
	var orders [parts][]string
	var versions, values [parts][]int64
	for i := range chunk {
		if p := &chunk[i]; p.fate != passed && p.fate != poison {
			n := partOf(p.order)
			orders[n], versions[n], values[n] = append(orders[n], p.order), append(versions[n], p.version), append(values[n], p.value)
		}
	}
	var rows [][]any
	for n := range parts {
		if len(orders[n]) > 0 {
			rows = append(rows, []any{execution, n, orders[n], versions[n], values[n]})
		}
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"reprocessamento_simulado"},
		[]string{"execucao_id", "parte", "pedidos", "versoes", "depois"}, pgx.CopyFromRows(rows))
	if err != nil {
		return fmt.Errorf("simulate state: %w", err)
	}
	return nil
}

const (
	forgetDiffSQL      = `delete from reprocessamento_diff where execucao_id = $1`
	forgetSimulatedSQL = `delete from reprocessamento_simulado where execucao_id = $1`
)

// makeDiff turns what a simulation kept into its diff, within a transaction.
func makeDiff(ctx context.Context, tx pgx.Tx, t StateTable, execution string) error {
	_, err := tx.Exec(ctx, forgetDiffSQL, execution)
	if err == nil {
		_, err = tx.Exec(ctx, t.Diff, execution, nil)
	}
	if err == nil {
		_, err = tx.Exec(ctx, forgetSimulatedSQL, execution)
	}
	if err != nil {
		return fmt.Errorf("make the diff of %s: %w", execution, err)
	}
	return nil
}

type stateRow struct{ value, version int64 }

func collectState(rows pgx.Rows) (map[string]stateRow, error) {
	state := make(map[string]stateRow)
	var order string
	var r stateRow
	_, err := pgx.ForEachRow(rows, []any{&order, &r.value, &r.version}, func() error {
		state[order] = r
		return nil
	})
	return state, err
}

const ownWritesSQL = `
	select d.pedido_id, d.depois, d.depois_versao
	from unnest($2::text[]) u(pedido_id)
	cross join lateral (
		select * from reprocessamento_diff d where d.execucao_id = $1 and d.pedido_id = u.pedido_id offset 0) d
	where d.antes is distinct from d.depois or d.antes_versao is distinct from d.depois_versao`

// errMoved: somebody deleted and made a row anew between the look and the write; look again.
var errMoved = fmt.Errorf("state moved under the chunk")

// applyState writes the state that events lead to, guarded by version, together with the images from before, and
// decides each event's fate. What has no state yet is created first: then every other row exists, can be locked, and
// is seen as it was. In a live run (no execution of its own) no image is kept.
func applyState(ctx context.Context, tx pgx.Tx, t StateTable, c *claim, live bool, events []*projected) error {
	all := newestOf(events)
	wrote := make(map[string]bool, len(all.orders))
	var order string
	var isNew bool
	rows, err := tx.Query(ctx, t.Create, c.execution, all.orders, all.values, all.versions)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&order}, func() error { wrote[order] = true; return nil })
	}
	if err != nil {
		return fmt.Errorf("create state: %w", err)
	}
	before := map[string]stateRow{}
	if there := all.without(wrote); len(there.orders) > 0 {
		if rows, err = tx.Query(ctx, t.Lock, there.orders); err == nil {
			before, err = collectState(rows)
		}
		if err != nil {
			return fmt.Errorf("lock state: %w", err)
		}
		if rows, err = tx.Query(ctx, t.Apply, c.execution, there.orders, there.values, there.versions); err == nil {
			_, err = pgx.ForEachRow(rows, []any{&order, &isNew}, func() error {
				if _, seen := before[order]; !seen && !isNew {
					return errMoved
				}
				wrote[order] = true
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("apply state: %w", err)
		}
	}
	if !live {
		if err := recordBefore(ctx, tx, c.execution, all, before, wrote); err != nil {
			return err
		}
	}
	var own map[string]stateRow
	if c.pass > 1 {
		if own, err = ownWrites(ctx, tx, c.execution, all.without(wrote).orders); err != nil {
			return err
		}
	}
	stands := make(map[string]stateRow, len(all.orders))
	for i, order := range all.orders {
		stands[order] = stateRow{all.values[i], all.versions[i]}
	}
	for _, p := range events {
		newest, mine := stands[p.order], own[p.order]
		stored, existed := before[p.order]
		switch {
		case p.version < newest.version || existed && !wrote[p.order] && stored.version > p.version:
			p.fate = newer
		case wrote[p.order] || mine == (stateRow{p.value, p.version}):
			// The second: this very run wrote it when it read the partition before.
			p.fate = written
		default:
			p.fate = unchanged
		}
	}
	return nil
}

// without leaves out the orders of a set.
func (s standing) without(set map[string]bool) standing {
	var rest standing
	for i, order := range s.orders {
		if !set[order] {
			rest.orders, rest.values, rest.versions = append(rest.orders, order), append(rest.values, s.values[i]), append(rest.versions, s.versions[i])
		}
	}
	return rest
}

// recordBefore keeps the state from before each write. It only appends: one row for each part of the orders.
func recordBefore(ctx context.Context, tx pgx.Tx, execution string, s standing, before map[string]stateRow, wrote map[string]bool) error {
	var orders [parts][]string
	var was, wasVersion [parts][]*int64
	var is, isVersion [parts][]int64
	for i, order := range s.orders {
		if !wrote[order] {
			continue
		}
		n := partOf(order)
		orders[n], is[n], isVersion[n] = append(orders[n], order), append(is[n], s.values[i]), append(isVersion[n], s.versions[i])
		var value, version *int64
		if b, ok := before[order]; ok {
			value, version = &b.value, &b.version
		}
		was[n], wasVersion[n] = append(was[n], value), append(wasVersion[n], version)
	}
	var rows [][]any
	for n := range parts {
		if len(orders[n]) > 0 {
			rows = append(rows, []any{execution, n, orders[n], was[n], wasVersion[n], is[n], isVersion[n]})
		}
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"reprocessamento_imagem"},
		[]string{"execucao_id", "parte", "pedidos", "antes", "antes_versao", "depois", "depois_versao"}, pgx.CopyFromRows(rows))
	if err != nil {
		return fmt.Errorf("record state from before: %w", err)
	}
	return nil
}

// foldSQL moves images to the diff: what an order was before the first write, and after the last. Rows that are
// there already, from when the run stopped before, keep their 'antes'.
const foldSQL = `
	with movidas as (
		delete from reprocessamento_imagem where execucao_id = $1 and (parte = $2 or $2 is null)
		returning pedidos, antes, antes_versao, depois, depois_versao
	)
	insert into reprocessamento_diff (execucao_id, pedido_id, antes, antes_versao, depois, depois_versao)
	select $1, i.pedido_id, i.antes, i.antes_versao, i.depois, i.depois_versao
	from (
		select u.pedido_id, first_value(u.antes) over ordem as antes, first_value(u.antes_versao) over ordem as antes_versao,
			u.depois, u.depois_versao, lead(true) over ordem is null as ultima
		from movidas m,
			unnest(m.pedidos, m.antes, m.antes_versao, m.depois, m.depois_versao) u(pedido_id, antes, antes_versao, depois, depois_versao)
		window ordem as (partition by u.pedido_id order by u.depois_versao, u.antes_versao nulls first)
	) i
	where i.ultima
	on conflict (execucao_id, pedido_id) do update
	set depois = excluded.depois, depois_versao = excluded.depois_versao
	where coalesce(reprocessamento_diff.depois_versao, 0) <= excluded.depois_versao`

// foldImages completes the diff of an apply. What it moved it moves no second time, so it may run whenever
// somebody wants to see or undo what was written.
func foldImages(ctx context.Context, tx pgx.Tx, execution string) error {
	if err := unhurried(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, foldSQL, execution, nil); err != nil {
		return fmt.Errorf("complete the diff of %s: %w", execution, err)
	}
	return nil
}

// ownWrites finds, among the orders that needed no write, those that this run wrote when it read the partition
// before: its images were moved to the diff when the partition was opened again.
func ownWrites(ctx context.Context, tx pgx.Tx, execution string, still []string) (map[string]stateRow, error) {
	if len(still) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, ownWritesSQL, execution, still)
	if err != nil {
		return nil, fmt.Errorf("state written before: %w", err)
	}
	own, err := collectState(rows)
	if err != nil {
		return nil, fmt.Errorf("state written before: %w", err)
	}
	return own, nil
}

const recordPoisonSQL = `
	insert into reprocessamento_falha (execucao_id, posicao, evento_id, pedido_id, motivo)
	select $1, * from unnest($2::bigint[], $3::text[], $4::text[], $5::text[])
	on conflict (execucao_id, posicao) do update set motivo = excluded.motivo`

// recordPoison keeps the events that could not be processed, with position and reason.
func recordPoison(ctx context.Context, tx pgx.Tx, execution string, chunk []projected) error {
	var positions []int64
	var ids, orders, reasons []string
	for _, p := range chunk {
		if p.fate == poison {
			positions, ids = append(positions, p.position), append(ids, p.id)
			orders, reasons = append(orders, p.order), append(reasons, strings.TrimSpace(clean(p.reason)))
		}
	}
	if len(positions) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, recordPoisonSQL, execution, positions, ids, orders, reasons); err != nil {
		return fmt.Errorf("record poison events: %w", err)
	}
	return nil
}
