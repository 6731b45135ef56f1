package batch

import (
	"context"
	"time"

	"github.com/riverqueue/river"
)

// FireDue is one look at a schedule, as if it were now.
func (e *Engine) FireDue(ctx context.Context, s Schedule, now time.Time) error {
	spec, err := ParseSpec(s.Spec)
	if err != nil {
		return err
	}
	return e.fireDue(ctx, s, spec, now)
}

// ShowSQL is what shows the effects in hand: of a replay ($1), a partition ($2), an epoch ($3), the counters ($4), a
// position ($5).
const ShowSQL = showSQL

// NextChunk is how many events the chunk after one of n events, bytes long, has.
func (e *Engine) NextChunk(n, bytes int, took time.Duration) int { return e.nextChunk(n, bytes, took) }

// AccountAgain is what a slice does at its end.
func (e *Engine) AccountAgain(ctx context.Context, id string) { e.accountAgain(ctx, id) }

// LookForWork is what a runner does when nothing tells it of a replay.
func (e *Engine) LookForWork(ctx context.Context) error {
	r, err := e.newRunner(map[string]river.QueueConfig{controlQueue: {MaxWorkers: 1}})
	if err != nil {
		return err
	}
	return r.followQueues(ctx)
}

// PartsFor is how many parts so many events become.
var PartsFor = partsFor

// AppliedAs lists what a simulation was approved as.
func (s *Store) AppliedAs(ctx context.Context, id string) ([]string, error) {
	return s.appliedAs(ctx, id)
}
