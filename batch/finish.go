package batch

import (
	"context"
	"fmt"
	"slices"
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

// endedSQL is true of a run that was ended before its slices were: one that came to its end had all of its checkpoints.
const endedSQL = `
	select resumo is not null and (estado = 'cancelado' or estado = 'parcial' and exists (
		select from reprocessamento_checkpoint c where c.execucao_id = r.id and c.atualizado_em > r.terminado_em))
	from reprocessamento r where id = $1`

// accountAgain brings the account of a run up to date that a person or a limit ended while others had calls in flight. They
// ended after it, and moved what it is made from.
func (e *Engine) accountAgain(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.grace)
	defer cancel()
	var ended bool
	err := e.pool.QueryRow(ctx, endedSQL, id).Scan(&ended)
	if err == nil && ended {
		err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error { return e.amend(ctx, tx, id) })
	}
	if err != nil {
		e.log.Warn("the account of a run that ended lacks what was in flight", "replay", id, "error", err)
	}
}

func (e *Engine) amend(ctx context.Context, tx pgx.Tx, id string) error {
	r, err := lockReplay(ctx, tx, id)
	if err != nil || r.Summary == nil || r.State != Partial && r.State != Cancelled {
		return err
	}
	s, err := e.summarize(ctx, tx, r, false)
	if err != nil {
		return err
	}
	s.Elapsed = r.Summary.Elapsed
	if r.State == Partial { // why it ended comes first
		s.Missing = append(slices.Clone(r.Summary.Missing[:min(1, len(r.Summary.Missing))]), s.Missing...)
	}
	if _, err := tx.Exec(ctx, `update reprocessamento set resumo = $2 where id = $1`, id, asJSON{s}); err != nil {
		return fmt.Errorf("account of %s: %w", id, err)
	}
	return notify(ctx, tx, id)
}
