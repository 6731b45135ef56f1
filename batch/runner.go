package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// Runner is one process that works replays, alone or beside others on any hosts.
type Runner struct {
	e       *Engine
	client  *river.Client[pgx.Tx]
	queues  map[string]string // replay id to queue
	leaving map[string]bool   // replay id; its queue gives out no more jobs, and some may still run
}

func (e *Engine) newRunner(queues map[string]river.QueueConfig) (*Runner, error) {
	client, err := e.newClient(queues)
	if err != nil {
		return nil, err
	}
	return &Runner{e: e, client: client, queues: map[string]string{}, leaving: map[string]bool{}}, nil
}

// stop lets the calls in flight end, then the jobs, and leaves nothing behind.
func (r *Runner) stop(ctx context.Context) error {
	r.e.Stop()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.e.grace)
	defer cancel()
	err := r.client.Stop(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		// A database that swallows everything must not keep the process from ending: what is unwritten is swept.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = r.client.StopAndCancel(ctx)
	}
	return err
}

// RunDaemon works whatever is queued, sweeps and fires schedules until ctx ends.
func (e *Engine) RunDaemon(ctx context.Context, schedules []Schedule) error {
	r, err := e.newRunner(map[string]river.QueueConfig{controlQueue: {MaxWorkers: 2}})
	if err != nil {
		return err
	}
	if err := r.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("job engine: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beat := e.heartbeat(ctx, "run")
	fire := e.fireSchedules(ctx, schedules)
	e.watchReplays(ctx, func(ctx context.Context) {
		if err := r.followQueues(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("follow replays", "error", err)
		}
	})
	err = r.stop(ctx)
	<-beat
	<-fire
	return err
}

const activeSQL = `
	select id, prioridade, coalesce(espera, '') <> '' from reprocessamento
	where estado in ('enfileirado', 'executando') and (condutor is null or condutor_ate < clock_timestamp())
	order by prioridade, criado_em`

// followQueues subscribes to the queues of the replays that are to be worked now: those of the most urgent
// priority that does not merely wait, and the waiting ones. Replays of one priority go side by side.
func (r *Runner) followQueues(ctx context.Context) error {
	if err := r.e.adopt(ctx); err != nil {
		return err
	}
	rows, err := r.e.pool.Query(ctx, activeSQL)
	if err != nil {
		return fmt.Errorf("active replays: %w", err)
	}
	want := map[string]bool{}
	urgent := 0
	var id string
	var priority int
	var waits bool
	_, err = pgx.ForEachRow(rows, []any{&id, &priority, &waits}, func() error {
		if urgent == 0 && !waits {
			urgent = priority
		}
		want[id] = urgent == 0 || priority <= urgent
		return nil
	})
	if err != nil {
		return fmt.Errorf("active replays: %w", err)
	}
	for id, yes := range want {
		if _, ok := r.queues[id]; ok || !yes {
			continue
		}
		queue := replayQueue(id)
		if err := r.client.Queues().Add(queue, river.QueueConfig{MaxWorkers: r.e.Workers}); err != nil {
			return fmt.Errorf("join queue of %s: %w", id, err)
		}
		r.queues[id] = queue
	}
	for id := range r.queues {
		if r.leaving[id] || !want[id] {
			if err := r.leave(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave makes the slices of a replay end after their calls in flight, and leaves its queue then. What takes longer is
// left to the next look: nobody waits for it.
func (r *Runner) leave(ctx context.Context, id string) error {
	r.leaving[id] = true
	r.e.watch.halt(id)
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if err := r.client.Queues().Remove(soon, r.queues[id]); err != nil {
		if soon.Err() != nil && ctx.Err() == nil {
			return nil
		}
		return fmt.Errorf("leave queue of %s: %w", id, err)
	}
	delete(r.leaving, id)
	delete(r.queues, id)
	return nil
}

// adopt takes over replays whose foreground holder died.
func (e *Engine) adopt(ctx context.Context) error {
	rows, err := e.pool.Query(ctx, `
		select id from reprocessamento
		where estado in ('enfileirado', 'executando') and condutor is not null and condutor_ate < clock_timestamp()`)
	if err != nil {
		return fmt.Errorf("abandoned replays: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("abandoned replays: %w", err)
	}
	for _, id := range ids {
		err := pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
			r, err := lockReplay(ctx, tx, id)
			if err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, `
				update reprocessamento set condutor = null, condutor_ate = null
				where id = $1 and condutor is not null and condutor_ate < clock_timestamp()`, id)
			if err != nil || tag.RowsAffected() == 0 {
				return err
			}
			e.log.Warn("the process that held the replay is gone; taking it over", "replay", id)
			return e.handOut(ctx, tx, r)
		})
		if err != nil {
			return fmt.Errorf("take over %s: %w", id, err)
		}
	}
	return nil
}

// RunReplay works one replay in the foreground until it ends, is paused, or ctx ends; watch is called with its
// progress now and then. A replay that somebody else works is [ErrHeld].
func (e *Engine) RunReplay(ctx context.Context, id string, watch func(Progress)) (Replay, error) {
	replay, err := e.hold(ctx, id)
	if err != nil || replay.State == Done || replay.State == Cancelled {
		return replay, err
	}
	r, err := e.newRunner(map[string]river.QueueConfig{replayQueue(id): {MaxWorkers: e.Workers}})
	if err != nil {
		return replay, err
	}
	if err := r.client.Start(context.WithoutCancel(ctx)); err != nil {
		return replay, fmt.Errorf("job engine: %w", err)
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	beat := e.heartbeat(working, "replay")
	var lost error
	lastBeat := time.Now()
	e.watchReplays(working, func(ctx context.Context) {
		if time.Since(lastBeat) > holdFor/5 {
			if lost = e.keepHold(ctx, id); lost != nil {
				cancel()
				return
			}
			lastBeat = time.Now()
		}
		p, err := e.Progress(ctx, id)
		if err != nil {
			if ctx.Err() == nil {
				e.log.Warn("progress", "error", err)
			}
			return
		}
		if watch != nil {
			watch(p)
		}
		if p.Replay.State != Queued && p.Replay.State != Running {
			cancel()
		}
	})
	err = r.stop(ctx)
	<-beat
	e.letGo(ctx, id)
	if lost != nil {
		return replay, lost
	}
	if err != nil {
		return replay, err
	}
	err = e.inTx(context.WithoutCancel(ctx), func(tx pgx.Tx) (err error) {
		replay, err = readReplay(ctx, tx, id)
		return err
	})
	if err != nil {
		return replay, err
	}
	return replay, ctx.Err()
}
