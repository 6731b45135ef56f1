package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// OnceReport says what one pass of the runner did.
type OnceReport struct {
	Sweep   SweepReport
	Replays []Replay // that this pass ended
	Waiting []Replay // that wait for something this pass cannot bring about
}

// RunOnce does one pass: sweep, re-send what reviewers allowed, work the queue until nothing is left that can
// be worked now.
func (e *Engine) RunOnce(ctx context.Context) (OnceReport, error) {
	var report OnceReport
	var began time.Time
	if err := e.pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&began); err != nil {
		return report, fmt.Errorf("database clock: %w", err)
	}
	var err error
	if report.Sweep, err = e.Sweep(ctx); err != nil {
		return report, err
	}
	r, err := e.newRunner(map[string]river.QueueConfig{controlQueue: {MaxWorkers: 2}})
	if err != nil {
		return report, err
	}
	if err := r.client.Start(context.WithoutCancel(ctx)); err != nil {
		return report, fmt.Errorf("job engine: %w", err)
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	beat := e.heartbeat(working, "run")
	e.watchReplays(working, func(ctx context.Context) {
		if err := r.followQueues(ctx); err != nil {
			if ctx.Err() == nil {
				e.log.Warn("follow replays", "error", err)
			}
			return
		}
		idle, err := e.idle(ctx)
		if err != nil {
			e.log.Warn("look at the queue", "error", err)
		}
		if idle {
			cancel()
		}
	})
	err = r.stop(ctx)
	<-beat
	if err == nil {
		err = ctx.Err()
	}
	return report, errors.Join(err, e.reportOnce(context.WithoutCancel(ctx), began, &report))
}

// idle reports whether nothing is left that this pass could work.
func (e *Engine) idle(ctx context.Context) (bool, error) {
	rows, err := e.pool.Query(ctx, `
		select id from reprocessamento
		where estado in ('enfileirado', 'executando') and (condutor is null or condutor_ate < clock_timestamp())`)
	if err != nil {
		return false, err
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if !e.watch.closedByRule(id) {
			return false, nil
		}
	}
	var jobs int64
	err = e.pool.QueryRow(ctx, `
		select count(*) from river.river_job where queue = $1 and state in ('available', 'running', 'retryable')`, controlQueue).Scan(&jobs)
	return jobs == 0, err
}

func (e *Engine) reportOnce(ctx context.Context, began time.Time, report *OnceReport) error {
	rows, err := e.pool.Query(ctx, `select `+replayColumns+` from reprocessamento
		where terminado_em >= $1 or estado in ('enfileirado', 'executando') order by criado_em, id`, began)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Replay, error) { return scanReplay(row) })
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	for _, r := range all {
		if r.FinishedAt != nil {
			report.Replays = append(report.Replays, r)
		} else {
			report.Waiting = append(report.Waiting, r)
		}
	}
	return nil
}
