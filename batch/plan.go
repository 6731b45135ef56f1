package batch

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reprise.dev/reprise/schema/failpoint"
)

const extentSQL = `
	select count(*), coalesce(min(e.posicao), 0), coalesce(max(e.posicao), 0) from evento_arquivado e where` + inScope

// cutSQL cuts the events in scope into $7 runs of equal length, in the order of the log, or one for each event if
// there are fewer: the first position of each, how many events come before it, and the last position and the number of
// all. Beside them it finds every $8-th event, as a sample of the orders. Counting beats cutting the range of positions evenly: positions may be dense in one place and empty in another.
const cutSQL = `
	select p.posicao, p.n - 1, t.ultima, t.eventos, p.pedido_id,
		p.n = 1 or (p.n - 1) * $7::bigint / t.eventos > (p.n - 2) * $7 / t.eventos
	from (select count(*) as eventos, max(e.posicao) as ultima from evento_arquivado e where` + inScope + `) t,
		(select e.posicao, e.pedido_id, row_number() over (order by e.posicao) as n from evento_arquivado e where` + inScope + `) p
	where p.n = 1 or (p.n - 1) * $7::bigint / t.eventos > (p.n - 2) * $7 / t.eventos or p.n % $8 = 0
	order by p.n`

// errOverlap: another apply works some of the positions; it is the database that says so.
var errOverlap = errors.New("another apply works some of these positions")

// plan freezes the scope of a replay, cuts it into partitions and hands them out, in one transaction.
func (e *Engine) plan(ctx context.Context, id string, generation int) error {
	err := e.patiently(ctx, func(tx pgx.Tx) error {
		r, err := lockReplay(ctx, tx, id)
		if err != nil {
			return err
		}
		if r.Generation != generation || r.State != Queued && r.State != Running || r.PlannedAt != nil {
			return nil
		}
		parts, events, orders, err := cut(ctx, tx, r)
		if err != nil {
			return err
		}
		// Between two partitions there may be positions that are not visible yet: each partition reaches up to
		// the next one, so that a late event has a partition to belong to.
		for i := range parts {
			if i+1 < len(parts) {
				parts[i].Last = parts[i+1].First - 1
			}
			if r.Scope.FirstPos != nil && i == 0 {
				parts[i].First = *r.Scope.FirstPos
			}
			if r.Scope.LastPos != nil && i+1 == len(parts) {
				parts[i].Last = *r.Scope.LastPos
			}
		}
		lo, hi := int64(0), int64(-1)
		if len(parts) > 0 {
			lo, hi = parts[0].First, parts[len(parts)-1].Last
		}
		// hi+1 must not overflow; a scope that is open at its end stops at the last event that planning saw.
		_, err = tx.Exec(ctx, `
			update reprocessamento set estado = 'executando', eventos = $2, faixa = int8range($3, $4, '[)'), versao_codigo = $5,
				planejado_em = clock_timestamp(), iniciado_em = coalesce(iniciado_em, clock_timestamp()),
				espera = null, atualizado_em = clock_timestamp()
			where id = $1`, id, events, lo, hi+1, e.version)
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"reprocessamento_checkpoint"},
			[]string{"execucao_id", "particao", "posicao_de", "posicao_ate", "ultima_posicao", "eventos"},
			pgx.CopyFromSlice(len(parts), func(i int) ([]any, error) {
				p := parts[i]
				return []any{id, i, p.First, p.Last, p.First - 1, p.Events}, nil
			}))
		if err != nil {
			return err
		}
		if err := insertParts(ctx, tx, id, bordersFor(events, orders)); err != nil {
			return err
		}
		r.PlannedAt, r.Events = &r.CreatedAt, &events
		if err := e.insertWork(ctx, tx, r); err != nil {
			return err
		}
		return notify(ctx, tx, id)
	})
	failpoint.Hit(failpoint.AfterPlan)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == pgerrcode.ExclusionViolation {
		return errOverlap
	}
	if err != nil {
		return fmt.Errorf("plan %s: %w", id, err)
	}
	return nil
}

const sampleSQL = `
	select pedido_id from evento_arquivado where posicao = any(array(select generate_series($1::bigint, $2, $3)))`

// cut cuts a replay's scope into partitions, counts its events and samples their orders.
func cut(ctx context.Context, tx pgx.Tx, r Replay) (parts []Partition, events int64, orders []string, err error) {
	first, last := bounds(r.Scope)
	var lo, hi int64
	if err := tx.QueryRow(ctx, extentSQL, scopeArgs(r.Scope, first, last)...).Scan(&events, &lo, &hi); err != nil || events == 0 {
		return nil, 0, nil, err
	}
	if n := min(int64(r.Partitions), events); hi-lo+1 == events {
		// No position is missing or out of scope, so that there is no need to look where the events are.
		for i := range n {
			from, to := lo+i*events/n, lo+(i+1)*events/n
			parts = append(parts, Partition{First: from, Last: to - 1, Events: to - from})
		}
		rows, err := tx.Query(ctx, sampleSQL, lo, hi, sampledEvery)
		if err == nil {
			orders, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return parts, events, orders, err
	}
	rows, err := tx.Query(ctx, cutSQL, append(scopeArgs(r.Scope, first, last), r.Partitions, sampledEvery)...)
	if err != nil {
		return nil, 0, nil, err
	}
	var p Partition
	var before, lastPosition int64
	var order string
	var begins bool
	_, err = pgx.ForEachRow(rows, []any{&p.First, &before, &lastPosition, &events, &order, &begins}, func() error {
		if (before+1)%sampledEvery == 0 {
			orders = append(orders, order)
		}
		if !begins {
			return nil
		}
		if n := len(parts); n > 0 {
			parts[n-1].Events -= events - before
		}
		p.Last, p.Events = lastPosition, events-before
		parts = append(parts, p)
		return nil
	})
	return parts, events, orders, err
}

// waitFor records why a replay waits ("" when it does not), for people to read.
func (s *Store) waitFor(ctx context.Context, id string, why string) error {
	_, err := s.pool.Exec(ctx, `
		update reprocessamento set espera = nullif($2, ''), atualizado_em = clock_timestamp()
		where id = $1 and coalesce(espera, '') <> $2`, id, why)
	if err != nil {
		return fmt.Errorf("replay %s: %w", id, err)
	}
	return nil
}

// waitForOverlap names the applies that a queued one waits for.
func (s *Store) waitForOverlap(ctx context.Context, id string) error {
	r, err := s.Replay(ctx, id)
	if err != nil {
		return err
	}
	p, err := s.Preview(ctx, Request{ID: r.ID, Handler: r.Handler, Mode: r.Mode, Scope: r.Scope, Partitions: r.Partitions, Priority: r.Priority})
	if err != nil {
		return err
	}
	return s.waitFor(ctx, id, fmt.Sprintf(remarkOverlap, strings.Join(p.Overlaps, ", ")))
}

// notify tells every runner that a replay changed. It saves time only: they look by themselves as well.
func notify(ctx context.Context, tx pgx.Tx, id string) error {
	_, err := tx.Exec(ctx, `select pg_notify('reprocessamento', $1)`, id)
	return err
}
