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
