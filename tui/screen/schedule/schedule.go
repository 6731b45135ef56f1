// Package schedule is the screen of what fires when, and of the processes that make it happen.
package schedule

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/paged"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/feed"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/screen/action"
	"reprise.dev/reprise/tui/text"
)

// Source is what the screen reads.
type Source interface {
	// Firings lists slots, newest first (ties by task), after the given one (nil: from the newest).
	Firings(ctx context.Context, limit int, after *batch.Firing) ([]batch.Firing, error)
	FiringCount(ctx context.Context) (batch.Count, error)
	action.Scheduler
	Hosts(ctx context.Context) ([]batch.Host, error)
}

const page = 60

// Model is the screen.
type Model struct {
	env    *screen.Env
	source Source
	list   *paged.List[batch.Firing]
	total  *feed.Feed[batch.Count]
	table  table.Table
	hosts  *feed.Feed[[]batch.Host]
	next   *feed.Feed[[]batch.NextFiring]
}

// New makes the screen.
func New(env *screen.Env, source Source) *Model {
	m := &Model{env: env, source: source}
	m.list = paged.New(env.Ctx, page, func(ctx context.Context, after *batch.Firing, _ bool, limit int) ([]batch.Firing, error) {
		return source.Firings(ctx, limit, after)
	}, false)
	m.total = screen.Total(env.Ctx, source.FiringCount)
	m.hosts = feed.New(env.Ctx, source.Hosts)
	m.next = feed.New(env.Ctx, func(context.Context) ([]batch.NextFiring, error) { return source.NextFirings(), nil })
	m.table = table.Table{Theme: env.Theme, Empty: env.S(text.FiringsEmpty), Columns: []table.Column{
		{Title: env.S(text.ColSlot), Width: 17},
		{Title: env.S(text.ColTask), Width: 10, Grow: 1, Max: 28},
		{Title: env.S(text.ColState), Width: 12},
		{Title: env.S(text.ColTook), Width: 8, Right: true, Keep: 1},
		{Title: env.S(text.ColLate), Width: 8, Right: true, Keep: 3},
		{Title: env.S(text.ColHost), Width: 12, Grow: 1, Max: 28, Keep: 4},
		{Title: env.S(text.ColDetail), Width: 20, Grow: 8, Keep: 2},
	}}
	return m
}

// ID names the screen.
func (m *Model) ID() screen.ID { return screen.Schedule }

// Subject is nothing: the screen is about all schedules.
func (m *Model) Subject() string { return "" }

// Pollers are the slots, their number, the hosts and the next firings.
func (m *Model) Pollers() []feed.Poller {
	return []feed.Poller{m.list.Poller(), m.total, m.hosts, m.next}
}

// Live is true while something fires within the minute: then seconds are counted.
func (m *Model) Live() bool {
	for _, n := range m.next.Value {
		if left := n.Next.Sub(m.env.Now()); left > 0 && left < time.Minute {
			return true
		}
	}
	return false
}

// Back has nothing to leave.
func (m *Model) Back() bool { return false }

// Keys are those of a list.
func (m *Model) Keys() []key.Binding {
	k := m.env.Keys
	return []key.Binding{k.RunNow, k.Up, k.Down, k.PageDown, k.Top, k.Bottom}
}

// Update takes keys and what was read.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if m.list.Accept(msg) {
		m.table.Sync(rows{m})
		return nil
	}
	if m.hosts.Accept(msg) || m.next.Accept(msg) || m.total.Accept(msg) {
		return nil
	}
	if msg, ok := msg.(tea.KeyMsg); ok {
		if key.Matches(msg, m.env.Keys.RunNow) {
			f, _ := m.selected()
			return action.RunNow(m.env, m.source, f.Task)
		}
		cmd, _ := screen.Scroll(m.env.Keys, msg, &m.table, rows{m}, m.list, m.env.Local())
		return cmd
	}
	return nil
}
