package batch

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/schema/failpoint"
)

// finish accounts for a replay whose partitions are all done. It counts the archive in scope again; what became
// visible behind a checkpoint is processed before the replay may say that it is done.
func (e *Engine) finish(ctx context.Context, a FinishArgs) error {
	r, err := e.Replay(ctx, a.Execution)
	if err != nil {
		return err
	}
	if r.Generation != a.Generation || r.State != Running {
		return nil
	}
	parts, err := partitions(ctx, e.pool, r.ID)
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		return e.conclude(ctx, r, true, "")
	}
	missing, open, err := e.waitForGaps(ctx, r)
	if err != nil {
		return err
	}
	again, err := e.reopenLate(ctx, r, parts)
	if err != nil || again {
		return err
	}
	failpoint.Hit(failpoint.BeforeConclude)
	return e.conclude(ctx, r, missing == 0, open)
}

// conclude writes the diff, the account and the final state. whole says that no position is missing.
func (e *Engine) conclude(ctx context.Context, r Replay, whole bool, openGaps string) error {
	return e.patiently(ctx, func(tx pgx.Tx) error {
		if err := e.completeDiff(ctx, tx, r); err != nil {
			return fmt.Errorf("make the diff of %s: %w", r.ID, err)
		}
		now, err := lockReplay(ctx, tx, r.ID)
		if err != nil || now.State != Running || now.Generation != r.Generation {
			return err
		}
		if _, err := tx.Exec(ctx, forgetProjectionSQL, r.ID); err != nil {
			return fmt.Errorf("make the diff of %s: %w", r.ID, err)
		}
		s, err := e.summarize(ctx, tx, now, whole)
		if err != nil {
			return err
		}
		if openGaps != "" {
			s.Missing = append(s.Missing, openGaps)
		}
		return e.end(ctx, tx, now, s)
	})
}

// end moves a replay to Done or, if something is missing, Partial.
func (s *Store) end(ctx context.Context, tx pgx.Tx, r Replay, sum Summary) error {
	state := Done
	if len(sum.Missing) > 0 {
		state = Partial
	}
	_, err := tx.Exec(ctx, `
		update reprocessamento set estado = $2, resumo = $3, terminado_em = clock_timestamp(), espera = null,
			condutor = null, condutor_ate = null, atualizado_em = clock_timestamp()
		where id = $1`, r.ID, state, asJSON{sum})
	if err != nil {
		return fmt.Errorf("finish %s: %w", r.ID, err)
	}
	return notify(ctx, tx, r.ID)
}

// stopRun ends a run early, partial, with what is missing.
func (e *Engine) stopRun(ctx context.Context, id, why string) error {
	return pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		r, err := lockReplay(ctx, tx, id)
		if err != nil || r.State != Running {
			return err
		}
		s, err := e.summarize(ctx, tx, r, false)
		if err != nil {
			return err
		}
		s.Missing = append([]string{strings.TrimSpace(why)}, s.Missing...)
		return e.end(ctx, tx, r, s)
	})
}
