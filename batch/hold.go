package batch

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// holdFor is how long a foreground run holds its replay without a sign of life.
const holdFor = 15 * time.Second

// hold takes a replay for this process alone.
func (e *Engine) hold(ctx context.Context, id string) (Replay, error) {
	var out Replay
	err := e.inTx(ctx, func(tx pgx.Tx) error {
		r, err := lockReplay(ctx, tx, id)
		if err != nil {
			return err
		}
		switch r.State {
		case Done, Cancelled:
			out = r
			return nil
		case Paused:
			return fmt.Errorf("replay %s is paused; resume it first (reprise replay resume %s): %w", id, id, ErrState)
		case Partial, Failed:
			if r.PlannedAt != nil {
				if err := e.reopenIncomplete(ctx, tx, r); err != nil {
					return err
				}
			}
			to := Running
			if r.PlannedAt == nil {
				to = Queued
			}
			if err := setState(ctx, tx, id, to); err != nil {
				return err
			}
		}
		if r.Holder != "" && !gone(r.Holder) {
			return fmt.Errorf("replay %s is held by %s since %s: %w", id, r.Holder, r.HolderSince.UTC().Format(time.RFC3339), ErrHeld)
		}
		if err := e.clearLeases(ctx, tx, id); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			update reprocessamento set condutor = $2, condutor_desde = clock_timestamp(), condutor_ate = clock_timestamp() + $3
			where id = $1`, id, e.host, holdFor)
		if err != nil {
			return err
		}
		if err := e.handOut(ctx, tx, r); err != nil {
			return err
		}
		out, err = readReplay(ctx, tx, id)
		return err
	})
	if err != nil {
		return Replay{}, fmt.Errorf("run %s: %w", id, err)
	}
	return out, nil
}

// clearLeases frees the partitions of processes that are known to be dead; a living one is a reason not to start.
func (e *Engine) clearLeases(ctx context.Context, tx pgx.Tx, id string) error {
	rows, err := tx.Query(ctx, `
		select dono, min(atualizado_em) from reprocessamento_checkpoint
		where execucao_id = $1 and ocupada_ate > clock_timestamp() and dono is not null group by dono`, id)
	if err != nil {
		return err
	}
	var owner string
	var since time.Time
	_, err = pgx.ForEachRow(rows, []any{&owner, &since}, func() error {
		if gone(owner) {
			return nil
		}
		return fmt.Errorf("replay %s is being worked by runner %s since %s: %w", id, owner, since.UTC().Format(time.RFC3339), ErrHeld)
	})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `update reprocessamento_checkpoint set ocupada_ate = null, dono = null where execucao_id = $1 and not concluida`, id)
	return err
}

func (e *Engine) keepHold(ctx context.Context, id string) error {
	tag, err := e.pool.Exec(ctx, `
		update reprocessamento set condutor_ate = clock_timestamp() + $3 where id = $1 and condutor = $2`, id, e.host, holdFor)
	if err != nil {
		// The hold may still be ours: the next look tells.
		e.log.Warn("keep the hold on the replay", "replay", id, "error", err)
		return nil
	}
	if tag.RowsAffected() == 0 {
		r, err := e.Replay(ctx, id)
		if err != nil {
			e.log.Warn("who holds the replay", "replay", id, "error", err)
			return nil // the next look tells
		}
		if r.State != Queued && r.State != Running {
			return nil // it ended, and with it the hold
		}
		return fmt.Errorf("replay %s was taken over by %s: %w", id, r.Holder, ErrHeld)
	}
	return nil
}

func (e *Engine) letGo(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := e.pool.Exec(ctx, `update reprocessamento set condutor = null, condutor_ate = null where id = $1 and condutor = $2`, id, e.host)
	if err != nil {
		e.log.Warn("let go of the replay", "replay", id, "error", err)
	}
}
