package batch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/failpoint"
)

// run is what a slice knows of its replay, and how it learns that it must stop.
type run struct {
	execution string
	mode      Mode
	live      bool
	borders   borders // where the run projects
	scope     Scope
	handler   Handler
	rules     map[string]Rule
	limits    Limits
	deadline  time.Time
	stopped   *atomic.Bool // the replay was paused, cancelled or taken over
	stopping  <-chan struct{}

	inHand  inHand
	waiting bool         // it is on record that the replay waits
	closed  *ClosedError // a provider that takes no calls
	limited bool         // the limit of effects is reached
}

// halted reports whether no new effect may begin.
func (r *run) halted() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return r.stopped.Load() || time.Now().After(r.deadline)
	}
}

// pause waits, unless the slice has to end.
func (r *run) pause(ctx context.Context, d time.Duration) bool {
	if time.Now().Add(d).After(r.deadline) {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-r.stopping:
		return false
	case <-timer.C:
		return !r.halted()
	}
}

// sliceEnd says how a slice ended.
type sliceEnd int

const (
	sliceDone    sliceEnd = iota // the partition is done
	sliceYield                   // more to do, now
	sliceWait                    // more to do, later
	sliceStopped                 // nothing to do for this job any more
)

// takeUp is how every job of a replay begins: from what the replay is now. run is nil if the job was for what it was
// before; forget ends that the job hears of the replay.
func (e *Engine) takeUp(ctx context.Context, execution string, generation int) (r *run, forget func(), err error) {
	replay, err := e.Replay(ctx, execution)
	if err != nil || replay.Generation != generation || replay.State != Running {
		return nil, nil, err
	}
	handler, err := e.handlers.Get(replay.Handler)
	if err != nil {
		return nil, nil, err
	}
	stopped, forget := e.watch.follow(execution, generation)
	return &run{
		execution: execution, mode: replay.Mode, scope: replay.Scope, handler: handler, rules: replay.Rules, limits: replay.Limits,
		deadline: time.Now().Add(e.Slice), stopped: stopped, stopping: e.stopping, waiting: replay.Waiting != "",
	}, forget, nil
}

// slice works one partition of a replay for some seconds.
func (e *Engine) slice(ctx context.Context, a SliceArgs) (sliceEnd, error) {
	run, forget, err := e.takeUp(ctx, a.Execution, a.Generation)
	if err != nil || run == nil {
		return sliceStopped, err
	}
	defer forget()
	if a.Stage == Projecting || run.mode == Simulate {
		if run.borders, err = readBorders(ctx, e.pool, run.execution); err != nil {
			return sliceWait, err
		}
	}
	c, ok, err := e.claimPartition(ctx, a)
	if err != nil || !ok {
		return sliceWait, err
	}
	work := e.workPartition
	if a.Stage == Projecting {
		work = e.projectPartition
	}
	before := c.counters.Read
	end, err := work(ctx, run, &c)
	if end != sliceDone {
		e.release(ctx, c)
	}
	if c.counters.Read != before {
		e.accountAgain(ctx, run.execution)
	}
	if errors.Is(err, errFenced) {
		e.log.Warn("another slice took the partition over", "replay", a.Execution, "partition", a.Partition)
		return sliceWait, nil
	}
	if err != nil {
		return sliceWait, fmt.Errorf("partition %d of %s: %w", a.Partition, a.Execution, err)
	}
	return end, nil
}

// leastChunk is how many events a chunk has, however long their effects take: enough for every place at a provider, and
// little to look at in vain if the slice ends before.
const leastChunk = 256

func (e *Engine) workPartition(ctx context.Context, r *run, c *claim) (sliceEnd, error) {
	limit := leastChunk
	if r.mode == Simulate {
		limit = e.Chunk
	}
	for first := true; !r.halted(); first = false {
		began := time.Now()
		last := c.last
		chunk, bytes, more, err := e.readChunk(ctx, r.handler, r.scope, c.position, last, limit)
		if err != nil {
			return sliceWait, err
		}
		if first {
			// However long events take to read, a slice gets on with those that it read.
			r.deadline = time.Now().Add(e.Slice)
		}
		why, err := e.workChunk(ctx, r, c, chunk, !more)
		if err != nil {
			return sliceWait, err
		}
		if why != "" {
			return e.heldUp(ctx, r, why)
		}
		if r.waiting {
			r.waiting = false
			if err := e.waitFor(ctx, r.execution, ""); err != nil {
				return sliceWait, err
			}
		}
		if !more && c.position == last {
			return sliceDone, nil
		}
		limit = e.nextChunk(len(chunk), bytes, time.Since(began))
	}
	return sliceYield, nil
}

// nextChunk sizes the next chunk by the last one, of n events: for about a second of work, but not less than is worth it.
func (e *Engine) nextChunk(n, bytes int, took time.Duration) int {
	limit := n
	switch {
	case took < 500*time.Millisecond:
		limit *= 32
	case took > 2*time.Second:
		limit /= 2
	}
	limit = max(limit, leastChunk)
	if n > 0 && bytes > 0 {
		limit = min(limit, chunkBytes/(bytes/n+1))
	}
	return min(max(limit, 1), e.Chunk)
}

// settleState brings about, or finds out, what became of the state of the chunk's events, as far as it matters for their
// effects. The state of an apply was written in the stage before.
func (e *Engine) settleState(ctx context.Context, r *run, chunk []projected) error {
	if r.live {
		err := e.inTx(ctx, func(tx pgx.Tx) error { return followState(ctx, tx, r.handler.State(), chunk) })
		failpoint.Hit(failpoint.AfterState)
		return err
	}
	if r.mode == Apply {
		if err := skipPoison(ctx, e.pool, r.execution, chunk); err != nil {
			return err
		}
	}
	return e.findOvertaken(ctx, r, chunk)
}

// workChunk does everything that the chunk's events ask for and moves the checkpoint over those that are
// settled: state first, then effects, then the checkpoint. final says that nothing follows the chunk.
func (e *Engine) workChunk(ctx context.Context, r *run, c *claim, chunk []projected, final bool) (why string, err error) {
	if err := e.settleState(ctx, r, chunk); err != nil {
		return "", err
	}
	tasks := tasksOf(r.execution, r.rules, chunk)
	if r.mode == Apply {
		stop := e.show(ctx, &r.inHand, *c)
		why, err = e.applyEffects(ctx, r, tasks)
		stop()
	} else {
		err = e.simulateEffects(ctx, tasks)
	}
	if err != nil {
		// What was settled before the error is safe in the ledger; the checkpoint stays behind it.
		return "", err
	}
	settled, tasks := settledPrefix(chunk, tasks)
	if settled < len(chunk) {
		final = false
	}
	next := *c
	next.counters = c.counters.Plus(countEvents(r, chunk[:settled]).Plus(countEffects(tasks)))
	switch {
	case final:
		next.position = c.last
	case settled > 0:
		next.position = chunk[settled-1].position
	default:
		return why, nil
	}
	// The checkpoint is worth its transaction even if the slice is being stopped.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.grace)
	defer cancel()
	err = e.inTx(ctx, func(tx pgx.Tx) error {
		if r.mode == Simulate {
			if err := keepProjection(ctx, tx, r.execution, c.partition, r.borders, chunk[:settled]); err != nil {
				return err
			}
		}
		if err := recordPoison(ctx, tx, r.execution, chunk[:settled]); err != nil {
			return err
		}
		if err := recordDivergence(ctx, tx, r.execution, chunk, tasks); err != nil {
			return err
		}
		return e.stepOn(ctx, tx, next, checkpointSQL, workSQL, final && !r.live)
	})
	if err != nil {
		return "", err
	}
	failpoint.Hit(failpoint.AfterCheckpoint)
	*c = next
	return why, nil
}

// settledPrefix cuts the chunk before the first event with an unsettled effect.
func settledPrefix(chunk []projected, tasks []task) (int, []task) {
	for i := range tasks {
		if !tasks[i].outcome.settled() {
			cut := tasks[i].event
			for i > 0 && tasks[i-1].event == cut {
				i--
			}
			return cut, tasks[:i]
		}
	}
	return len(chunk), tasks
}

// countEvents counts the chunk's events, and the effects that the policy rules out. What became of the state of an
// apply's events is counted where it is written.
func countEvents(r *run, chunk []projected) Counters {
	c := Counters{Effects: map[string]EffectCounters{}}
	for i := range chunk {
		c.Read++
		switch p := &chunk[i]; {
		case p.fate == passed:
			c.Passed++
		case p.fate == poison:
			c.Poison++
		case r.mode == Apply && !r.live:
		case p.fate == unchanged:
			c.Unchanged++
		case p.fate == newer && r.live:
			c.Newer++
		default:
			c.Written++
		}
		if chunk[i].differs {
			c.OtherMode++
		}
		for _, w := range chunk[i].effects {
			rule, _ := policyOf(r.rules, w.Kind)
			if o := ruledOut(rule, &chunk[i]); o != undecided {
				kind := c.Effects[w.Kind]
				kind.count(o)
				c.Effects[w.Kind] = kind
			}
		}
	}
	return c
}

// countEffects counts what became of effects that the policy did not rule out.
func countEffects(tasks []task) Counters {
	c := Counters{Effects: map[string]EffectCounters{}}
	for i := range tasks {
		kind := c.Effects[tasks[i].effect.Kind]
		kind.count(tasks[i].outcome)
		if tasks[i].status.Differs {
			kind.Differs++
		}
		c.Effects[tasks[i].effect.Kind] = kind
	}
	return c
}

// heldUp decides what a slice that cannot go on does: wait and say why, or end the run.
func (e *Engine) heldUp(ctx context.Context, r *run, why string) (sliceEnd, error) {
	if r.live {
		return sliceWait, nil
	}
	if r.limited {
		return sliceStopped, e.stopRun(ctx, r.execution, why)
	}
	if r.closed != nil && r.closed.Failing && e.watch.failingFor(r.execution) > e.GiveUpAfter {
		return sliceStopped, e.stopRun(ctx, r.execution, why)
	}
	if r.closed == nil || !r.closed.Failing {
		e.watch.healthy(r.execution)
	}
	if r.closed != nil && !r.closed.Failing {
		e.watch.closedUntil(r.execution, r.closed.Until)
	}
	if err := e.waitFor(ctx, r.execution, why); err != nil {
		return sliceWait, err
	}
	return sliceWait, nil
}

// inTx runs a transaction, again if the database asked for it: what failed so was rolled back as a whole.
func (e *Engine) inTx(ctx context.Context, fn func(pgx.Tx) error) error {
	var err error
	for range 5 {
		if err = pgx.BeginFunc(ctx, e.pool, fn); !worthRepeating(err) {
			return err
		}
	}
	return err
}

func worthRepeating(err error) bool {
	if errors.Is(err, errMoved) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case pgerrcode.DeadlockDetected, pgerrcode.SerializationFailure:
		return true
	}
	return schema.StalePlan(err)
}
