// Package feed keeps one value fresh: it is read in a command, never on the loop that handles keys; it is read
// less often while it does not change and while reading fails; and the last value stays when reading fails.
package feed

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// How often a value is read.
const (
	fastest  = time.Second      // while it changes
	slowest  = 8 * time.Second  // while it does not
	patience = 20 * time.Second // most between two tries while reading fails
	timeout  = 10 * time.Second // of one read
)

// Poller is a feed of any type, as the program's loop sees it.
type Poller interface {
	// Due reports whether it is time to read.
	Due(now time.Time) bool
	// Read is the command that reads.
	Read(now time.Time) tea.Cmd
	Health() Health
	// Hurry makes it due now.
	Hurry()
}

// Health says how reading goes.
type Health struct {
	Err   error     // of the last read; nil: it went well
	Good  time.Time // when it last went well; zero: never
	Retry time.Time // when it is tried again, if Err
}

// Result is the message that ends a read.
type Result struct {
	feed, turn int64
	value      any
	err        error
	at         time.Time
	// Same is true if nothing that is shown changed: no need to draw.
	Same bool
}

var feeds atomic.Int64

// Feed is one value that is kept fresh.
type Feed[T any] struct {
	Value  T
	Loaded bool // Value was read

	ctx    context.Context
	query  func(context.Context) (T, error)
	id     int64
	turn   int64 // of the query: answers to former queries are dropped
	busy   bool
	next   time.Time
	pause  time.Duration
	health Health
	fails  int
	slow   time.Duration
}

// New makes a feed of a query. It is due at once.
func New[T any](ctx context.Context, query func(context.Context) (T, error)) *Feed[T] {
	return &Feed[T]{ctx: ctx, query: query, id: feeds.Add(1), pause: fastest, slow: slowest}
}

// Every sets how often an unchanging value is read at least; it makes a feed of something costly rare.
func (f *Feed[T]) Every(d time.Duration) *Feed[T] {
	f.slow, f.pause = d, min(d, max(fastest, d/4))
	return f
}

// Ask replaces the query. The old value stays until the new one is there; an answer to the old query that is
// still on its way is dropped.
func (f *Feed[T]) Ask(query func(context.Context) (T, error)) {
	f.query = query
	f.turn++
	f.busy = false
	f.Hurry()
}

// Continue replaces the query by one that reads the same value another way.
func (f *Feed[T]) Continue(query func(context.Context) (T, error)) { f.query = query }

// Hurry makes the feed due now, e.g. after a command changed what it shows.
func (f *Feed[T]) Hurry() {
	f.next = time.Time{}
	f.pause = min(f.pause, max(fastest, f.slow/4))
}

// Waiting reports whether a read is on its way.
func (f *Feed[T]) Waiting() bool { return f.busy }

// Due reports whether it is time to read.
func (f *Feed[T]) Due(now time.Time) bool { return !f.busy && !now.Before(f.next) }

// Health says how reading goes.
func (f *Feed[T]) Health() Health { return f.health }

// Read is the command that reads. Whether the value changed is found out there too, off the loop.
func (f *Feed[T]) Read(now time.Time) tea.Cmd {
	f.busy = true
	id, turn, query, old, loaded := f.id, f.turn, f.query, f.Value, f.Loaded && f.health.Err == nil
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(f.ctx, timeout)
		defer cancel()
		v, err := query(ctx)
		return Result{feed: id, turn: turn, value: v, err: err, at: now, Same: err == nil && loaded && reflect.DeepEqual(old, v)}
	}
}

// Accept takes a message if it is this feed's and reports whether it was.
func (f *Feed[T]) Accept(msg tea.Msg) bool {
	r, ok := msg.(Result)
	if !ok || r.feed != f.id || r.turn != f.turn {
		return false
	}
	f.busy = false
	if r.err != nil {
		f.fails++
		wait := min(fastest<<min(f.fails-1, 8), patience)
		f.next = r.at.Add(wait)
		f.health = Health{Err: r.err, Good: f.health.Good, Retry: f.next}
		return true
	}
	if r.Same {
		f.pause = min(f.pause*3/2, f.slow)
	} else {
		f.pause = min(fastest, f.slow)
		f.Value, f.Loaded = r.value.(T), true
	}
	f.fails = 0
	f.next = r.at.Add(f.pause)
	f.health = Health{Good: r.at}
	return true
}
