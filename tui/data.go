package tui

import (
	"context"
	"io"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

// Data is all that the dashboard reads and commands; each screen sees only its own part. Every call gets a
// context with a deadline and may come from several goroutines at once. Lists are pages: they return at most
// limit rows, fewer only at the end.
type Data interface {
	Clock
	Replays
	Progress
	Diff
	Review
	Schedule
	Failures
}

// Clock is the database's clock. Every age on the screen is counted from it, and asking for it is how the
// dashboard finds out that the database is back.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}

// Replays is the queue and the history.
type Replays interface {
	// Replays lists replays, newest first, before an instant (zero: from the newest).
	Replays(ctx context.Context, limit int, before time.Time) ([]batch.Replay, error)
	// Preview says what a request would take; nothing is queued.
	Preview(ctx context.Context, q batch.Request) (batch.Preview, error)
	Queue(ctx context.Context, q batch.Request) (batch.Replay, error)
	Pause(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
	Cancel(ctx context.Context, id string) error
}

// Progress is one replay at work.
type Progress interface {
	Progress(ctx context.Context, id string) (batch.Progress, error)
	Pause(ctx context.Context, id string) error
	Resume(ctx context.Context, id string) error
	Cancel(ctx context.Context, id string) error
}

// Diff is what a replay changes, or would change.
type Diff interface {
	// Diff returns a page. Descending reverses the order entirely, ties and absent values included, so that
	// reading backwards is reading with Descending flipped.
	Diff(ctx context.Context, q batch.DiffQuery) ([]batch.DiffRow, error)
	DiffTotals(ctx context.Context, id string) (batch.DiffTotals, error)
	// Divergences lists, in order of key after the given one, the effects that went out with another value.
	Divergences(ctx context.Context, id, after string, limit int) ([]batch.Divergence, error)
	// OrderHistory is every archived event of an order, oldest version first.
	OrderHistory(ctx context.Context, order string) ([]batch.Event, error)
	// ExportDiff writes the whole diff; format is "csv" or "json".
	ExportDiff(ctx context.Context, id, format string, w io.Writer) error
	ApprovePreview(ctx context.Context, id string) (batch.ApprovalPreview, error)
	// Approve queues the simulation's scope as an apply under newID.
	Approve(ctx context.Context, id, newID string) (batch.Replay, error)
}

// Review is the queue of effects that only a person can settle.
type Review interface {
	Uncertain(ctx context.Context, q ledger.UncertainQuery) ([]ledger.UncertainEffect, error)
	// UncertainCounts counts the whole queue, by kind and reason.
	UncertainCounts(ctx context.Context) ([]ledger.UncertainCount, error)
	// UncertainByKey reads one effect; found is false if it is not uncertain (any more).
	UncertainByKey(ctx context.Context, key string) (e ledger.UncertainEffect, found bool, err error)
	// Occurrences are the effect's, oldest first.
	Occurrences(ctx context.Context, key string) ([]ledger.Occurrence, error)
	// Decisions are the effect's, oldest first.
	Decisions(ctx context.Context, key string) ([]ledger.DecisionRecord, error)
	// Decide records a decision on the very row that was seen. After an error the dashboard reads the row
	// again: it never assumes that nothing happened.
	Decide(ctx context.Context, d ledger.Decision) (ledger.DecisionRecord, error)
	// Event reads an archived event by its id; batch.ErrNotFound if there is none.
	Event(ctx context.Context, id string) (batch.Event, error)
}

// Schedule is what fires when, and who runs it.
type Schedule interface {
	// Firings lists slots, newest first (ties by task), after the given one (nil: from the newest).
	Firings(ctx context.Context, limit int, after *batch.Firing) ([]batch.Firing, error)
	NextFirings() []batch.NextFiring
	Hosts(ctx context.Context) ([]batch.Host, error)
}

// Failures are the events that a replay could not process.
type Failures interface {
	// Failures lists them in order of position, after the given one.
	Failures(ctx context.Context, id string, after int64, limit int) ([]batch.Failure, error)
	Event(ctx context.Context, id string) (batch.Event, error)
}
