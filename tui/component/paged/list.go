// Package paged reads a list of any length a window at a time: three pages around what is looked at, always the
// result of one single query, so that what is on the screen was once true.
package paged

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/feed"
)

// Fetch reads up to limit rows after a row (nil: from the start). With back it reads the rows before it, or from
// the end, nearest first.
type Fetch[T any] func(ctx context.Context, after *T, back bool, limit int) ([]T, error)

// Window is what is held in memory of a list.
type Window[T any] struct {
	Rows   []T
	Anchor *T   // the row before the first; nil: the list starts here
	More   bool // there are rows after the last
}

// List is a window that follows the reader.
type List[T any] struct {
	feed  *feed.Feed[Window[T]]
	fetch Fetch[T]
	back  bool // the source reads backwards too
	page  int
	past  []*T // anchors of former windows, for sources that read forward only
	moved bool // a new window is on its way
}

// New makes a list with pages of so many rows. back says that its source reads backwards too.
func New[T any](ctx context.Context, page int, fetch Fetch[T], back bool) *List[T] {
	l := &List[T]{fetch: fetch, back: back, page: page}
	l.feed = feed.New(ctx, l.forward(nil))
	return l
}

func (l *List[T]) limit() int { return 3 * l.page }

func (l *List[T]) forward(anchor *T) func(context.Context) (Window[T], error) {
	fetch, limit := l.fetch, l.limit()
	return func(ctx context.Context) (Window[T], error) {
		rows, err := fetch(ctx, anchor, false, limit+1)
		w := Window[T]{Rows: rows, Anchor: anchor, More: len(rows) > limit}
		if w.More {
			w.Rows = rows[:limit:limit]
		}
		return w, err
	}
}

// backward reads the window that ends before a row, or at the end of the list.
func (l *List[T]) backward(from *T) func(context.Context) (Window[T], error) {
	fetch, limit := l.fetch, l.limit()
	return func(ctx context.Context) (Window[T], error) {
		rows, err := fetch(ctx, from, true, limit+1)
		rows = slices.Clone(rows)
		slices.Reverse(rows)
		w := Window[T]{Rows: rows, More: from != nil}
		if len(rows) > limit {
			first := rows[0]
			w.Anchor, w.Rows = &first, rows[1:]
		}
		return w, err
	}
}

// Rows are the rows in memory.
func (l *List[T]) Rows() []T { return l.feed.Value.Rows }

// Loaded reports whether anything was read yet.
func (l *List[T]) Loaded() bool { return l.feed.Loaded }

// Moving reports whether the window is on its way to another place.
func (l *List[T]) Moving() bool { return l.moved && l.feed.Waiting() }

// AtStart and AtEnd report whether the window holds the first and the last row of the list.
func (l *List[T]) AtStart() bool { return l.feed.Value.Anchor == nil }

// AtEnd reports whether the window holds the last row of the list.
func (l *List[T]) AtEnd() bool { return !l.feed.Value.More }

// Poller is what keeps the window fresh.
func (l *List[T]) Poller() feed.Poller { return l.feed }

// Hurry reads the window again now.
func (l *List[T]) Hurry() { l.feed.Hurry() }

// Ask starts again at the top with another query, the next time that the list is polled.
func (l *List[T]) Ask(fetch Fetch[T]) {
	l.fetch, l.past, l.moved = fetch, nil, true
	l.feed.Ask(l.forward(nil))
}

// Reset starts again at the top, with another query if fetch is not nil.
func (l *List[T]) Reset(fetch Fetch[T], now time.Time) tea.Cmd {
	if fetch == nil {
		fetch = l.fetch
	}
	l.Ask(fetch)
	return l.feed.Read(now)
}

// Top moves to the start.
func (l *List[T]) Top(now time.Time) tea.Cmd {
	if l.AtStart() {
		return nil
	}
	return l.Reset(nil, now)
}

// Bottom moves to the end, if the source can.
func (l *List[T]) Bottom(now time.Time) tea.Cmd {
	if l.AtEnd() || !l.back {
		return nil
	}
	return l.move(l.backward(nil), now)
}

// Look tells which row is looked at; near an end of the window, the next one is fetched before it is needed.
func (l *List[T]) Look(i int, now time.Time) tea.Cmd {
	rows := l.Rows()
	if l.moved || len(rows) == 0 {
		return nil
	}
	switch {
	case i >= len(rows)-l.page/2 && !l.AtEnd():
		at := max(0, min(i-l.page, len(rows)-2))
		anchor := rows[at]
		if !l.back {
			l.past = append(l.past, l.feed.Value.Anchor)
		}
		return l.move(l.forward(&anchor), now)
	case i < l.page/2 && !l.AtStart():
		if !l.back {
			last := len(l.past) - 1
			if last < 0 {
				return l.Reset(nil, now)
			}
			anchor := l.past[last]
			l.past = l.past[:last]
			return l.move(l.forward(anchor), now)
		}
		from := rows[min(i+l.page, len(rows)-1)]
		return l.move(l.backward(&from), now)
	}
	return nil
}

func (l *List[T]) move(query func(context.Context) (Window[T], error), now time.Time) tea.Cmd {
	l.moved = true
	l.feed.Ask(query)
	return l.feed.Read(now)
}

// Accept takes a message if it is this list's and reports whether it was.
func (l *List[T]) Accept(msg tea.Msg) bool {
	if !l.feed.Accept(msg) {
		return false
	}
	if l.feed.Health().Err != nil {
		return true
	}
	l.moved = false
	w := l.feed.Value
	if len(w.Rows) == 0 && w.Anchor != nil { // all that was here is gone
		l.past = nil
		l.feed.Ask(l.forward(nil))
		return true
	}
	l.feed.Continue(l.forward(w.Anchor))
	if w.More && len(w.Rows) < l.limit() { // reading backwards met the start: fill up
		l.feed.Hurry()
	}
	return true
}
