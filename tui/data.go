package tui

import (
	"context"
	"time"

	"reprise.dev/reprise/tui/screen"
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
	Session
	replays.Source
	progress.Source
	diff.Source
	review.Source
	schedule.Source
	failures.Source
}

// Session says to whom one is connected. An error says why the database cannot be worked with.
type Session interface {
	Identity(ctx context.Context) (Identity, error)
}

// Identity is a database and the role that commands are recorded under.
type Identity = screen.Identity

// Clock is the database's clock. Every age on the screen is counted from it.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}
