package tui

import (
	"context"
	"time"

	"reprise.dev/reprise/tui/screen/diff"
	"reprise.dev/reprise/tui/screen/failures"
	"reprise.dev/reprise/tui/screen/progress"
	"reprise.dev/reprise/tui/screen/replays"
	"reprise.dev/reprise/tui/screen/review"
	"reprise.dev/reprise/tui/screen/schedule"
)

// Data is all that the dashboard reads and commands; each screen declares its own part of it. Every call gets a
// context with a deadline and may come from several goroutines at once. Lists are pages: they return at most
// limit rows, fewer only at the end. What they return belongs to the dashboard and is not changed afterwards.
type Data interface {
	Clock
	replays.Source
	progress.Source
	diff.Source
	review.Source
	schedule.Source
	failures.Source
}

// Clock is the database's clock. Every age on the screen is counted from it.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}
