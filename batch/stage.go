package batch

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"reprise.dev/reprise/schema/failpoint"
)

// writers are how many jobs write the state of an apply side by side, on whatever hosts.
const writers = 4

const (
	projectSQL = `
		select particao, passagens from reprocessamento_checkpoint
		where execucao_id = $1 and projetada_ate is distinct from posicao_ate order by particao`
	workSQL = `
		select particao, passagens from reprocessamento_checkpoint
		where execucao_id = $1 and not concluida order by particao`
	openPartsSQL = `select count(*) from reprocessamento_parte where execucao_id = $1 and not concluida`
	// Without effects, an apply whose state is written is done.
	settleAllSQL = `
		update reprocessamento_checkpoint
		set ultima_posicao = posicao_ate, contadores = projecao, concluida = true, ocupada_ate = null, dono = null, atualizado_em = clock_timestamp()
		where execucao_id = $1 and not concluida`
	startOverSQL = `
		update reprocessamento_checkpoint
		set projetada_ate = null, projecao = '{}', passagens = passagens + 1, epoca = epoca + 1, ocupada_ate = null, dono = null
		where execucao_id = $1`
	reopenPartsSQL = `
		update reprocessamento_parte set concluida = false, escritos = null, iguais = null, mais_novos = null where execucao_id = $1`
)

// insertWork inserts the jobs that carry on from where a replay is: those of the first stage that is not over, or the
// account. The caller holds the replay's row.
func (s *Store) insertWork(ctx context.Context, tx pgx.Tx, r Replay) error {
	if r.Mode == Apply {
		n, err := s.insertSlices(ctx, tx, r, Projecting, projectSQL)
		if err != nil || n > 0 {
			return err
		}
		open, err := s.insertWriters(ctx, tx, r)
		if err != nil || open {
			return err
		}
		if !appliesEffects(r) {
			if _, err := tx.Exec(ctx, settleAllSQL, r.ID); err != nil {
				return fmt.Errorf("settle %s: %w", r.ID, err)
			}
		}
	}
	n, err := s.insertSlices(ctx, tx, r, Working, workSQL)
	if err != nil || n > 0 {
		return err
	}
	return s.insertFinish(ctx, tx, r)
}

func appliesEffects(r Replay) bool {
	for _, rule := range r.Rules {
		if rule.Mode == ModeApply {
			return true
		}
	}
	return false
}

// insertSlices inserts a job for each partition that the stage has something to do for.
func (s *Store) insertSlices(ctx context.Context, tx pgx.Tx, r Replay, stage Stage, sql string) (int, error) {
	rows, err := tx.Query(ctx, sql, r.ID)
	if err != nil {
		return 0, fmt.Errorf("partitions of %s: %w", r.ID, err)
	}
	opts := insertOpts(replayQueue(r.ID), r.Priority)
	jobs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (river.InsertManyParams, error) {
		a := SliceArgs{Execution: r.ID, Generation: r.Generation, Stage: stage}
		err := row.Scan(&a.Partition, &a.Pass)
		return river.InsertManyParams{Args: a, InsertOpts: opts}, err
	})
	if err != nil {
		return 0, fmt.Errorf("partitions of %s: %w", r.ID, err)
	}
	if len(jobs) == 0 {
		return 0, nil
	}
	if _, err := s.jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return 0, fmt.Errorf("hand out %s: %w", r.ID, err)
	}
	return len(jobs), nil
}

// insertWriters inserts the jobs that write the state, unless all of it is written.
func (s *Store) insertWriters(ctx context.Context, tx pgx.Tx, r Replay) (open bool, err error) {
	var left int
	if err := tx.QueryRow(ctx, openPartsSQL, r.ID).Scan(&left); err != nil || left == 0 {
		return false, err
	}
	pass, err := passOf(ctx, tx, r.ID)
	if err != nil {
		return true, err
	}
	jobs := make([]river.InsertManyParams, min(writers, left))
	for i := range jobs {
		jobs[i] = river.InsertManyParams{Args: StateArgs{r.ID, r.Generation, pass, i}, InsertOpts: insertOpts(replayQueue(r.ID), r.Priority)}
	}
	if _, err := s.jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return true, fmt.Errorf("hand out %s: %w", r.ID, err)
	}
	return true, nil
}

func passOf(ctx context.Context, q querier, id string) (pass int, err error) {
	err = q.QueryRow(ctx, `select coalesce(max(passagens), 1) from reprocessamento_checkpoint where execucao_id = $1`, id).Scan(&pass)
	if err != nil {
		return 0, fmt.Errorf("hand out %s: %w", id, err)
	}
	return pass, nil
}

// startOver makes an apply find out again what its events lead to, and write what is missing of that. Effects are settled
// from the partitions' checkpoints on. The caller holds the replay's row.
func startOver(ctx context.Context, tx pgx.Tx, id string) error {
	// The checkpoints first: a slice that still runs finds that its epoch is over, and keeps nothing more.
	for _, sql := range []string{startOverSQL, reopenPartsSQL, forgetProjectionSQL} {
		if _, err := tx.Exec(ctx, sql, id); err != nil {
			return fmt.Errorf("start %s over: %w", id, err)
		}
	}
	return nil
}

// projectPartition is the first stage of an apply.
func (e *Engine) projectPartition(ctx context.Context, r *run, c *claim) (sliceEnd, error) {
	limit := e.Chunk
	for !r.halted() {
		began := time.Now()
		chunk, bytes, more, err := e.readChunk(ctx, r.handler, r.scope, c.position, c.last, limit)
		if err != nil {
			return sliceWait, err
		}
		next := *c
		next.counters = c.counters.Plus(countEvents(r, chunk))
		if next.position = c.last; more {
			next.position = chunk[len(chunk)-1].position
		}
		err = e.inTx(ctx, func(tx pgx.Tx) error {
			if err := keepProjection(ctx, tx, r.execution, c.partition, r.borders, chunk); err != nil {
				return err
			}
			if err := recordPoison(ctx, tx, r.execution, chunk); err != nil {
				return err
			}
			return e.stepOn(ctx, tx, next, projectedSQL, projectSQL, !more)
		})
		if err != nil {
			return sliceWait, err
		}
		failpoint.Hit(failpoint.AfterCheckpoint)
		*c = next
		if !more {
			return sliceDone, nil
		}
		limit = e.nextChunk(len(chunk), bytes, time.Since(began))
	}
	return sliceYield, nil
}

// stepOn moves a checkpoint of a stage, as the last statement of the transaction that holds what it accounts for, and
// if that was the stage's last partition, hands out what follows.
func (e *Engine) stepOn(ctx context.Context, tx pgx.Tx, c claim, move, open string, final bool) error {
	if !final {
		return e.move(ctx, tx, move, c, false)
	}
	// The row lock makes one of two partitions that end at the same moment see the other's end.
	r, err := lockReplay(ctx, tx, c.execution)
	if err != nil {
		return err
	}
	if err := e.move(ctx, tx, move, c, true); err != nil || r.State != Running {
		return err
	}
	var more bool
	if err := tx.QueryRow(ctx, `select exists (`+open+`)`, c.execution).Scan(&more); err != nil || more {
		return err
	}
	return e.insertWork(ctx, tx, r)
}

// writeParts is the second stage of an apply: it writes one part of the state after the other, until none is left.
func (e *Engine) writeParts(ctx context.Context, a StateArgs) (sliceEnd, error) {
	run, forget, err := e.takeUp(ctx, a.Execution, a.Generation)
	if err != nil || run == nil {
		return sliceStopped, err
	}
	defer forget()
	defer e.accountAgain(ctx, a.Execution)
	for !run.halted() {
		found, err := e.writePart(ctx, run, a.Pass > 1)
		if err != nil {
			return sliceWait, err
		}
		if !found {
			return sliceDone, e.endWriting(ctx, a)
		}
	}
	return sliceYield, nil
}

// endWriting hands out what follows once the last part is written. Whoever writes a part at this moment comes here after it.
func (e *Engine) endWriting(ctx context.Context, a StateArgs) error {
	return pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		r, err := lockReplay(ctx, tx, a.Execution)
		if err != nil || r.State != Running || r.Generation != a.Generation {
			return err
		}
		var left int
		if err := tx.QueryRow(ctx, openPartsSQL, a.Execution).Scan(&left); err != nil || left > 0 {
			return err
		}
		return e.insertWork(ctx, tx, r)
	})
}
