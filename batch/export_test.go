package batch

import (
	"context"
	"time"
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
