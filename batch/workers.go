package batch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
)

// newClient makes the job engine's client for this process. Queues of replays are added and removed as replays
// come and go.
func (e *Engine) newClient(queues map[string]river.QueueConfig) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &planWorker{e: e})
	river.AddWorker(workers, &sliceWorker{e: e})
	river.AddWorker(workers, &stateWorker{e: e})
	river.AddWorker(workers, &finishWorker{e: e})
	river.AddWorker(workers, &sweepWorker{e: e})
	river.AddWorker(workers, &resendWorker{e: e})
	client, err := river.NewClient(riverpgxv5.New(e.pool), &river.Config{
		ID:     fmt.Sprintf("%.80s-%08x", e.host, rand.Uint32()), // see atHand
		Schema: RiverSchema, Workers: workers, Queues: queues, Logger: quiet(e.log),
		// A slice yields after e.Slice and its calls in flight; a job that runs on has lost its process.
		JobTimeout: e.Slice + e.grace, RescueStuckJobsAfter: e.Slice + e.grace,
		FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 250 * time.Millisecond,
		RetryPolicy: retrySoon{}, MaxAttempts: 1000,
		ErrorHandler: jobErrors{e.log},
	})
	if err != nil {
		return nil, fmt.Errorf("job engine: %w", err)
	}
	return client, nil
}

// quiet keeps the job engine's own chatter out of a person's log; its warnings and errors stay.
func quiet(log *slog.Logger) *slog.Logger {
	return slog.New(atLeastWarn{log.Handler()})
}

type atLeastWarn struct{ slog.Handler }

func (h atLeastWarn) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// retrySoon tries a failed job again after a second at first and half a minute at last: what failed is mostly
// the database, and the work is idempotent.
type retrySoon struct{}

func (retrySoon) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(min(time.Duration(len(job.Errors)+1)*time.Second, 30*time.Second))
}

// jobErrors logs a failed job; a panic with its stack.
type jobErrors struct{ log *slog.Logger }

func (h jobErrors) HandleError(_ context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	h.log.Error("job failed; it is tried again", "job", job.Kind, "args", string(job.EncodedArgs), "error", err)
	return nil
}

func (h jobErrors) HandlePanic(_ context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	h.log.Error("job panicked", "job", job.Kind, "args", string(job.EncodedArgs), "panic", value, "stack", trace)
	return nil
}

type planWorker struct {
	river.WorkerDefaults[PlanArgs]
	e *Engine
}

func (*planWorker) Timeout(*river.Job[PlanArgs]) time.Duration { return 10 * time.Minute }

func (w *planWorker) Work(ctx context.Context, job *river.Job[PlanArgs]) error {
	err := w.e.plan(ctx, job.Args.Execution, job.Args.Generation)
	if errors.Is(err, errOverlap) {
		if err := w.e.waitForOverlap(ctx, job.Args.Execution); err != nil {
			return err
		}
		return river.JobSnooze(time.Second)
	}
	return w.e.jobFailed(ctx, job.Args.Execution, job.JobRow, err)
}

type sliceWorker struct {
	river.WorkerDefaults[SliceArgs]
	e *Engine
}

func (w *sliceWorker) Work(ctx context.Context, job *river.Job[SliceArgs]) error {
	end, err := w.e.slice(ctx, job.Args)
	if err != nil {
		return w.e.jobFailed(ctx, job.Args.Execution, job.JobRow, err)
	}
	return end.job()
}

type stateWorker struct {
	river.WorkerDefaults[StateArgs]
	e *Engine
}

func (w *stateWorker) Work(ctx context.Context, job *river.Job[StateArgs]) error {
	end, err := w.e.writeParts(ctx, job.Args)
	if err != nil {
		return w.e.jobFailed(ctx, job.Args.Execution, job.JobRow, err)
	}
	return end.job()
}

// job is what River is told at the end of a slice.
func (end sliceEnd) job() error {
	switch end {
	case sliceYield:
		return river.JobSnooze(0)
	case sliceWait:
		return river.JobSnooze(time.Second)
	default:
		return nil
	}
}

type finishWorker struct {
	river.WorkerDefaults[FinishArgs]
	e *Engine
}

func (*finishWorker) Timeout(*river.Job[FinishArgs]) time.Duration { return 10 * time.Minute }

func (w *finishWorker) Work(ctx context.Context, job *river.Job[FinishArgs]) error {
	err := w.e.finish(ctx, job.Args)
	if errors.Is(err, errStopped) {
		return river.JobSnooze(0)
	}
	return w.e.jobFailed(ctx, job.Args.Execution, job.JobRow, err)
}

// giveUpAfter is how often in a row a job of a replay may fail before the replay does; with the pauses between,
// some minutes.
const giveUpAfter = 15

// jobFailed lets people see why a replay does not get on, and ends it if it never will. It returns err.
func (e *Engine) jobFailed(ctx context.Context, id string, job *rivertype.JobRow, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	why := clean(err.Error())
	if len(job.Errors) < giveUpAfter {
		return errors.Join(err, e.waitFor(ctx, id, fmt.Sprintf(remarkRetry, why)))
	}
	failure := pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		r, err := lockReplay(ctx, tx, id)
		if err != nil || r.State != Queued && r.State != Running {
			return err
		}
		if _, err := tx.Exec(ctx, `update reprocessamento set erro = $2, condutor = null, condutor_ate = null where id = $1`, id, why); err != nil {
			return err
		}
		if err := setState(ctx, tx, id, Failed); err != nil {
			return err
		}
		return notify(ctx, tx, id)
	})
	return errors.Join(err, failure)
}

type resendWorker struct {
	river.WorkerDefaults[ResendArgs]
	e *Engine
}

func (w *resendWorker) Work(ctx context.Context, job *river.Job[ResendArgs]) error {
	wait, err := w.e.resend(ctx, job.Args.Key)
	if err != nil {
		return err
	}
	if wait {
		return river.JobSnooze(5 * time.Second)
	}
	return nil
}
