package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reprise.dev/reprise/schema/failpoint"
)

// keepProjection keeps what the chunk leads to. Appending is all that is done here: what it means for the state is
// found out for all orders together.
func keepProjection(ctx context.Context, tx pgx.Tx, execution string, partition int, b borders, chunk []projected) error {
	type part struct {
		orders           []string
		versions, values []int64
	}
	kept := make([]part, b.parts())
	for i := range chunk {
		if p := &chunk[i]; p.fate != passed && p.fate != poison {
			k := &kept[b.part(p.order)]
			k.orders, k.versions, k.values = append(k.orders, p.order), append(k.versions, p.version), append(k.values, p.value)
		}
	}
	var rows [][]any
	for n, k := range kept {
		if len(k.orders) > 0 {
			rows = append(rows, []any{execution, partition, n, k.orders, k.versions, k.values})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"reprocessamento_projetado"},
		[]string{"execucao_id", "particao", "parte", "pedidos", "versoes", "depois"}, pgx.CopyFromRows(rows))
	if err != nil {
		return fmt.Errorf("keep what events lead to: %w", err)
	}
	return nil
}

const forgetProjectionSQL = `delete from reprocessamento_projetado where execucao_id = $1`

// errMoved: somebody created or overtook an order under the statement that wrote it; look again.
var errMoved = errors.New("state moved under the statement")

// openPartSQL takes a part that nobody is writing. The row's lock is the lease.
const openPartSQL = `
	select parte from reprocessamento_parte where execucao_id = $1 and not concluida
	order by parte limit 1 for update skip locked`

// writePart writes the state of one part of an apply; found is false if there is none left to take.
func (e *Engine) writePart(ctx context.Context, r *run, again bool) (found bool, err error) {
	err = e.inTx(ctx, func(tx pgx.Tx) error {
		var part int
		if err := tx.QueryRow(ctx, openPartSQL, r.execution).Scan(&part); isNoRows(err) {
			found = false
			return nil
		} else if err != nil {
			return err
		}
		found = true
		if err := byIndex(ctx, tx); err != nil {
			return err
		}
		var events, wrote, same int64
		var sure bool
		err := tx.QueryRow(ctx, r.handler.State().Write, r.execution, part, again).Scan(&events, &wrote, &same, &sure)
		var pg *pgconn.PgError
		switch {
		case errors.As(err, &pg) && pg.Code == pgerrcode.UniqueViolation:
			return fmt.Errorf("%w: %w", errMoved, err)
		case err != nil:
			return err
		case !sure:
			return errMoved
		}
		failpoint.Hit(failpoint.BeforeState)
		// All others gave way to a newer version: a stored one, or their order's newest in this run.
		_, err = tx.Exec(ctx, `
			update reprocessamento_parte set concluida = true, escritos = $3, iguais = $4, mais_novos = $5
			where execucao_id = $1 and parte = $2`, r.execution, part, wrote, same, events-wrote-same)
		return err
	})
	if err != nil {
		return found, fmt.Errorf("write the state of %s: %w", r.execution, err)
	}
	if found {
		failpoint.Hit(failpoint.AfterState)
	}
	return found, nil
}

const writtenSQL = `
	select coalesce(sum(escritos), 0)::bigint, coalesce(sum(iguais), 0)::bigint, coalesce(sum(mais_novos), 0)::bigint
	from reprocessamento_parte where execucao_id = $1`

// countWritten adds what became of the state of an apply to an account.
func countWritten(ctx context.Context, q querier, id string, c *Counters) error {
	if err := q.QueryRow(ctx, writtenSQL, id).Scan(&c.Written, &c.Unchanged, &c.Newer); err != nil {
		return fmt.Errorf("state written by %s: %w", id, err)
	}
	return nil
}

type stateRow struct{ value, version int64 }

// followState writes the state that the chunk leads to, as the live consumer does: guarded by version, and without
// images from before.
func followState(ctx context.Context, q querier, t StateTable, chunk []projected) error {
	newest := make(map[string]*projected, len(chunk))
	for i := range chunk {
		p := &chunk[i]
		if p.fate == passed || p.fate == poison {
			continue
		}
		if other := newest[p.order]; other == nil || other.version <= p.version {
			newest[p.order] = p
		}
	}
	if len(newest) == 0 {
		return nil
	}
	orders := make([]string, 0, len(newest))
	for order := range newest {
		orders = append(orders, order)
	}
	values, versions := make([]int64, len(orders)), make([]int64, len(orders))
	for i, order := range orders {
		values[i], versions[i] = newest[order].value, newest[order].version
	}
	wrote := make(map[string]bool, len(orders))
	rows, err := q.Query(ctx, t.Follow, orders, values, versions)
	if err == nil {
		var order string
		_, err = pgx.ForEachRow(rows, []any{&order}, func() error { wrote[order] = true; return nil })
	}
	if err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	stored, err := readState(ctx, q, t, slices.DeleteFunc(orders, func(order string) bool { return wrote[order] }))
	if err != nil {
		return err
	}
	for i := range chunk {
		p := &chunk[i]
		switch {
		case p.fate == passed || p.fate == poison:
		case p.version < newest[p.order].version || stored[p.order].version > p.version:
			p.fate = newer
		case wrote[p.order]:
			p.fate = written
		default:
			p.fate = unchanged
		}
	}
	return nil
}

func readState(ctx context.Context, q querier, t StateTable, orders []string) (map[string]stateRow, error) {
	state := make(map[string]stateRow, len(orders))
	if len(orders) == 0 {
		return state, nil
	}
	rows, err := q.Query(ctx, t.Versions, orders)
	if err == nil {
		var order string
		var r stateRow
		_, err = pgx.ForEachRow(rows, []any{&order, &r.value, &r.version}, func() error { state[order] = r; return nil })
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	return state, nil
}

// newestSQL finds the newest version of each order within a scope. $7: orders; $8: types that the handler takes.
const newestSQL = `
	select u.pedido_id, n.versao
	from unnest($7::text[]) u(pedido_id)
	cross join lateral (
		select e.versao from evento_arquivado e
		where e.pedido_id = u.pedido_id and e.tipo = any($8::text[]) and` + inScope + `
		order by e.versao desc limit 1) n`

// findOvertaken marks the events whose state gave way, or would give way, to a newer one, as far as an effect depends on
// it: in an apply the state is written by now, in a simulation the scope's own events count too.
func (e *Engine) findOvertaken(ctx context.Context, r *run, chunk []projected) error {
	var orders []string
	for i := range chunk {
		if dependsOnState(r.rules, &chunk[i]) {
			orders = append(orders, chunk[i].order)
		}
	}
	if len(orders) == 0 {
		return nil
	}
	slices.Sort(orders)
	orders = slices.Compact(orders)
	newest, err := readState(ctx, e.pool, r.handler.State(), orders)
	if err != nil {
		return err
	}
	if r.mode == Simulate {
		first, last := bounds(r.scope)
		rows, err := e.pool.Query(ctx, newestSQL, append(scopeArgs(r.scope, first, last), orders, r.handler.Types())...)
		if err == nil {
			var order string
			var version int64
			_, err = pgx.ForEachRow(rows, []any{&order, &version}, func() error {
				newest[order] = stateRow{version: max(version, newest[order].version)}
				return nil
			})
		}
		if err != nil {
			return fmt.Errorf("newest versions in scope: %w", err)
		}
	}
	for i := range chunk {
		if p := &chunk[i]; dependsOnState(r.rules, p) && newest[p.order].version > p.version {
			p.fate = newer
		}
	}
	return nil
}

func dependsOnState(rules map[string]Rule, p *projected) bool {
	return slices.ContainsFunc(p.effects, func(w Wanted) bool {
		rule, _ := policyOf(rules, w.Kind)
		return rule.Mode == ModeApply && rule.When == WhenWritten
	})
}
