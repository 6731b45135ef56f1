package batch

import (
	"context"
	"fmt"
	"maps"
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

func newestOf(chunk []projected) standing {
	newest := make(map[string]int, len(chunk))
	for i := range chunk {
		p := &chunk[i]
		if p.fate == passed || p.fate == poison {
			continue
		}
		if j, ok := newest[p.order]; !ok || chunk[j].version <= p.version {
			newest[p.order] = i
		}
	}
	s := standing{orders: make([]string, 0, len(newest))}
	for order := range newest {
		s.orders = append(s.orders, order)
	}
	slices.Sort(s.orders)
	s.values, s.versions = make([]int64, len(s.orders)), make([]int64, len(s.orders))
	for i, order := range s.orders {
		s.values[i], s.versions[i] = chunk[newest[order]].value, chunk[newest[order]].version
	}
	return s
}

// simulateState keeps what the chunk would change. Appending is all that is done here: comparing with the state
// is one statement at the end, for all orders and as of one snapshot.
func simulateState(ctx context.Context, tx pgx.Tx, execution string, chunk []projected) error {
	next := 0
	row := func() ([]any, error) {
		for ; next < len(chunk); next++ {
			if p := &chunk[next]; p.fate != passed && p.fate != poison {
				next++
				return []any{execution, p.order, p.version, p.value}, nil
			}
		}
		return nil, nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"reprocessamento_simulado"}, []string{"execucao_id", "pedido_id", "versao", "depois"}, pgx.CopyFromFunc(row))
	if err != nil {
		return fmt.Errorf("simulate state: %w", err)
	}
	return nil
}

// makeDiff turns what a simulation kept into its diff.
func makeDiff(ctx context.Context, tx pgx.Tx, t StateTable, execution string) error {
	for _, sql := range []string{
		`delete from reprocessamento_diff where execucao_id = $1`,
		t.Diff,
		`delete from reprocessamento_simulado where execucao_id = $1`,
	} {
		if _, err := tx.Exec(ctx, sql, execution); err != nil {
			return fmt.Errorf("make the diff of %s: %w", execution, err)
		}
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

const recordBeforeSQL = `
	insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois, antes_versao, depois_versao)
	select $1, * from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
	on conflict (execucao_id, pedido_id) do update
	set depois = excluded.depois, depois_versao = excluded.depois_versao
	where coalesce(reprocessamento_diff.depois_versao, 0) <= excluded.depois_versao`

const ownWritesSQL = `
	select d.pedido_id, d.depois, d.depois_versao
	from unnest($2::text[]) u(pedido_id)
	cross join lateral (
		select * from reprocessamento_diff d where d.execucao_id = $1 and d.pedido_id = u.pedido_id offset 0) d
	where d.antes is distinct from d.depois or d.antes_versao is distinct from d.depois_versao`

// errMoved: somebody else's row appeared between the look and the write; look again.
var errMoved = fmt.Errorf("state moved under the chunk")

// stateBatch is how many orders are written in one transaction: few enough that slices which meet on the same
// orders do not wait for each other for long.
const stateBatch = 4000

// applyState writes the chunk's state, guarded by version, together with the images from before, and decides each
// event's fate. It may be repeated.
func (e *Engine) applyState(ctx context.Context, r *run, chunk []projected) error {
	all := newestOf(chunk)
	f := fates{stands: make(map[string]stateRow, len(all.orders)), before: map[string]stateRow{}, wrote: map[string]bool{}, own: map[string]stateRow{}}
	for first := 0; first < len(all.orders); first += stateBatch {
		s := all.part(first, min(first+stateBatch, len(all.orders)))
		var done fates
		err := e.inTx(ctx, func(tx pgx.Tx) (err error) {
			done, err = writeState(ctx, tx, r.handler.State(), r.execution, r.live, s)
			return err
		})
		if err != nil {
			return err
		}
		f.add(done)
	}
	f.decide(chunk)
	return nil
}

func (s standing) part(i, j int) standing {
	return standing{s.orders[i:j], s.values[i:j], s.versions[i:j]}
}

// fates are what became of the orders of a chunk.
type fates struct {
	stands map[string]stateRow // the newest version in the chunk
	before map[string]stateRow // what was stored
	wrote  map[string]bool
	own    map[string]stateRow // what this run had written already
}

func (f *fates) add(o fates) {
	maps.Copy(f.stands, o.stands)
	maps.Copy(f.before, o.before)
	maps.Copy(f.wrote, o.wrote)
	maps.Copy(f.own, o.own)
}

func (f *fates) decide(chunk []projected) {
	for i := range chunk {
		p := &chunk[i]
		if p.fate == passed || p.fate == poison {
			continue
		}
		newest, mine := f.stands[p.order], f.own[p.order]
		stored, existed := f.before[p.order]
		switch {
		case p.version < newest.version || existed && !f.wrote[p.order] && stored.version > p.version:
			p.fate = newer
		case f.wrote[p.order] || mine == (stateRow{p.value, p.version}):
			// The second: this very run wrote it before it was interrupted.
			p.fate = written
		default:
			p.fate = unchanged
		}
	}
}

// writeState writes the state of some orders and keeps their images from before. In a live run (no execution of
// its own) no image is kept.
func writeState(ctx context.Context, tx pgx.Tx, t StateTable, execution string, live bool, s standing) (fates, error) {
	rows, err := tx.Query(ctx, t.Lock, s.orders)
	if err != nil {
		return fates{}, fmt.Errorf("lock state: %w", err)
	}
	before, err := collectState(rows)
	if err != nil {
		return fates{}, fmt.Errorf("lock state: %w", err)
	}
	rows, err = tx.Query(ctx, t.Apply, execution, s.orders, s.values, s.versions)
	if err != nil {
		return fates{}, fmt.Errorf("apply state: %w", err)
	}
	wrote := make(map[string]bool, len(s.orders))
	var moved []string
	var order string
	var isNew bool
	_, err = pgx.ForEachRow(rows, []any{&order, &isNew}, func() error {
		if _, seen := before[order]; !seen && !isNew {
			moved = append(moved, order)
		}
		wrote[order] = true
		return nil
	})
	if err != nil {
		return fates{}, fmt.Errorf("apply state: %w", err)
	}
	if err := ownInserts(ctx, tx, execution, live, moved); err != nil {
		return fates{}, err
	}
	own := map[string]stateRow{}
	if !live {
		if err := recordBefore(ctx, tx, execution, s, before, wrote); err != nil {
			return fates{}, err
		}
		if own, err = ownWrites(ctx, tx, execution, s, wrote); err != nil {
			return fates{}, err
		}
	}
	stands := make(map[string]stateRow, len(s.orders))
	for i, order := range s.orders {
		stands[order] = stateRow{s.values[i], s.versions[i]}
	}
	return fates{stands, before, wrote, own}, nil
}

// ownInserts makes sure that rows which appeared between the look and the write came from another slice of this
// very run: that slice has kept what was there before. Of anybody else's the image is unknown.
func ownInserts(ctx context.Context, tx pgx.Tx, execution string, live bool, moved []string) error {
	if live || len(moved) == 0 {
		return nil
	}
	var own int
	err := tx.QueryRow(ctx, `
		select count(*) from unnest($2::text[]) u(pedido_id)
		cross join lateral (
			select 1 from reprocessamento_diff d where d.execucao_id = $1 and d.pedido_id = u.pedido_id offset 0) d`, execution, moved).Scan(&own)
	if err != nil {
		return fmt.Errorf("state from before: %w", err)
	}
	if own < len(moved) {
		return errMoved
	}
	return nil
}

func recordBefore(ctx context.Context, tx pgx.Tx, execution string, s standing, before map[string]stateRow, wrote map[string]bool) error {
	var orders []string
	var was, wasVersion []*int64
	var is, isVersion []int64
	for i, order := range s.orders {
		if !wrote[order] {
			continue
		}
		orders, is, isVersion = append(orders, order), append(is, s.values[i]), append(isVersion, s.versions[i])
		var value, version *int64
		if b, ok := before[order]; ok {
			value, version = &b.value, &b.version
		}
		was, wasVersion = append(was, value), append(wasVersion, version)
	}
	if len(orders) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, recordBeforeSQL, execution, orders, was, is, wasVersion, isVersion); err != nil {
		return fmt.Errorf("record state from before: %w", err)
	}
	return nil
}

// ownWrites finds, among the orders that needed no write, those that this run had written already.
func ownWrites(ctx context.Context, tx pgx.Tx, execution string, s standing, wrote map[string]bool) (map[string]stateRow, error) {
	still := slices.DeleteFunc(slices.Clone(s.orders), func(order string) bool { return wrote[order] })
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
