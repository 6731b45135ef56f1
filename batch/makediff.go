package batch

import (
	"context"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

const lockPartitionsSQL = `
	select c.execucao_id from reprocessamento_checkpoint c join reprocessamento r on r.id = c.execucao_id
	where r.id = $1 and r.estado = 'executando' and r.geracao = $2
	for update of c`

// completeDiff makes the diff of a simulation part by part, on connections of their own and as of one snapshot. What an
// earlier attempt left is replaced; two attempts at once take turns at the rows of the partitions, which nobody else
// needs by now. The replay's own row stays free for heartbeat and commands. An apply made its diff as it wrote.
func (e *Engine) completeDiff(ctx context.Context, tx pgx.Tx, r Replay) error {
	if r.Mode == Apply {
		return nil
	}
	tag, err := tx.Exec(ctx, lockPartitionsSQL, r.ID, r.Generation)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	h, err := e.handlers.Get(r.Handler)
	if err != nil {
		return err
	}
	err = e.patiently(ctx, func(other pgx.Tx) error {
		_, err := other.Exec(ctx, forgetDiffSQL, r.ID)
		return err
	})
	if err != nil {
		return err
	}
	var snapshot string
	if err := tx.QueryRow(ctx, `select pg_export_snapshot()`).Scan(&snapshot); err != nil {
		return err
	}
	b, err := readBorders(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	return e.inParts(ctx, b.parts(), func(part pgx.Tx, n int) error {
		if _, err := part.Exec(ctx, "set transaction snapshot '"+snapshot+"'"); err != nil {
			return err
		}
		if err := unhurried(ctx, part); err != nil {
			return err
		}
		if err := byIndex(ctx, part); err != nil {
			return err
		}
		_, err := part.Exec(ctx, h.State().Diff, r.ID, n)
		return err
	})
}

const forgetDiffSQL = `delete from reprocessamento_diff where execucao_id = $1`

// partsAtOnce is how many parts of a diff are made at the same time: each sorts in memory of its own.
const partsAtOnce = 2

// inParts runs fn for every part, each in a transaction of its own that can take on another's snapshot.
func (e *Engine) inParts(ctx context.Context, parts int, fn func(tx pgx.Tx, part int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for n := range parts {
		group.Go(func() error {
			return pgx.BeginTxFunc(ctx, e.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error { return fn(tx, n) })
		})
	}
	return group.Wait()
}
