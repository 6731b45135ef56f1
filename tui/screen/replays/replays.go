// Package replays is the screen of the queue and the history of replays.
package replays

import (
	"context"
	"slices"
	"strings"
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

// Source is what the screen reads and commands.
type Source interface {
	// Replays lists replays, newest first.
	Replays(ctx context.Context, q batch.ReplayQuery) ([]batch.Replay, error)
	ReplayCount(ctx context.Context, q batch.ReplayQuery) (batch.Count, error)
	// Progress is read of the few that run, for their bars.
	Progress(ctx context.Context, id string) (batch.Progress, error)
	action.Controller
	action.Queuer
	action.Approver
}

const (
	page    = 60
	maxBars = 4 // running replays whose progress is shown in the list
)

// Model is the screen.
type Model struct {
	env    *screen.Env
	source Source
	table  table.Table
	list   *paged.List[batch.Replay]
	total  *feed.Feed[batch.Count]
	bars   *feed.Feed[map[string]batch.Progress]
	barIDs []string
	ended  settled
	// reading says that ended is being added to.
	reading bool
	filter  string
}

// New makes the screen.
func New(env *screen.Env, source Source) *Model {
	m := &Model{env: env, source: source, ended: settled{}}
	m.table = table.Table{Theme: env.Theme}
	m.list = paged.New(env.Ctx, page, m.fetch(), false)
	m.columns()
	m.total = screen.Total(env.Ctx, m.count())
	m.bars = feed.New(env.Ctx, func(context.Context) (map[string]batch.Progress, error) { return nil, nil })
	return m
}

// columns leave to the id what the numbers that were read do not need.
func (m *Model) columns() {
	env, events := m.env, text.Width(m.env.S(text.ColEvents))
	for _, r := range m.list.Rows() {
		if r.Events != nil {
			events = max(events, text.Width(env.Int(*r.Events)))
		}
	}
	m.table.Columns = []table.Column{
		{Title: env.S(text.ColState), Width: 12},
		{Title: env.S(text.ColReplay), Width: 22, Grow: 3, Max: 44, Both: true},
		{Title: env.S(text.ColMode), Width: 8},
		{Title: env.S(text.ColScope), Width: 20, Keep: 4, Grow: 1, Max: 64},
		{Title: env.S(text.ColEvents), Width: events, Right: true, Keep: 1},
		{Title: env.S(text.ColProgress), Width: 8, Right: true}, // 2/3 100%
		{Title: env.S(text.ColRequestedBy), Width: 14, Keep: 3, Grow: 1, Max: 24},
		{Title: env.S(text.ColAge), Width: 6, Right: true, Keep: 2},
	}
}

// query narrows the list by the filter. States and modes are shown in words that the database does not know.
func (m *Model) query() batch.ReplayQuery {
	q := batch.ReplayQuery{Text: m.filter}
	if m.filter == "" {
		return q
	}
	says := func(word string) bool { return strings.Contains(strings.ToLower(word), strings.ToLower(m.filter)) }
	for _, s := range []batch.State{batch.Queued, batch.Running, batch.Paused, batch.Done, batch.Partial, batch.Failed, batch.Cancelled} {
		if _, word, _ := m.env.StateOf(s); says(word) {
			q.States = append(q.States, s)
		}
	}
	for _, mode := range []batch.Mode{batch.Simulate, batch.Apply} {
		if says(m.env.Mode(mode)) {
			q.Modes = append(q.Modes, mode)
		}
	}
	return q
}

func (m *Model) fetch() paged.Fetch[batch.Replay] {
	query, source := m.query(), m.source
	return func(ctx context.Context, after *batch.Replay, _ bool, limit int) ([]batch.Replay, error) {
		q := query
		q.Limit = limit
		if after != nil {
			q.Before = after.CreatedAt
		}
		return source.Replays(ctx, q)
	}
}

func (m *Model) count() func(context.Context) (batch.Count, error) {
	q, source := m.query(), m.source
	return func(ctx context.Context) (batch.Count, error) { return source.ReplayCount(ctx, q) }
}

// ID names the screen.
func (m *Model) ID() screen.ID { return screen.Replays }

// Subject is nothing: the screen is about all replays.
func (m *Model) Subject() string { return "" }

// Pollers are the list, its length and the bars.
func (m *Model) Pollers() []feed.Poller {
	if len(m.barIDs) == 0 {
		return []feed.Poller{m.list.Poller(), m.total}
	}
	return []feed.Poller{m.list.Poller(), m.total, m.bars}
}

// Live is false: all that moves comes with new data.
func (m *Model) Live() bool { return false }

// Back drops the filter.
func (m *Model) Back() bool {
	if m.filter == "" {
		return false
	}
	m.filter = ""
	m.list.Ask(m.fetch())
	m.ask()
	return true
}

// Filter is what the list is narrowed by.
func (m *Model) Filter() string { return m.filter }

// SetFilter narrows the list.
func (m *Model) SetFilter(s string) tea.Cmd {
	m.filter = s
	m.table.Jump(table.First)
	m.ask()
	return m.list.Reset(m.fetch(), m.env.Local())
}

// ask counts anew: the former number is another list's.
func (m *Model) ask() {
	m.total.Ask(m.count())
	m.total.Value = batch.Count{}
}

// Selected is the replay under the cursor.
func (m *Model) Selected() (batch.Replay, bool) {
	rows := m.list.Rows()
	for _, r := range rows {
		if r.ID == m.table.Selected() {
			return r, true
		}
	}
	return batch.Replay{}, false
}

// Keys are those of a list of replays.
func (m *Model) Keys() []key.Binding {
	k := m.env.Keys
	keys := []key.Binding{k.Open, k.New}
	if r, ok := m.Selected(); ok {
		switch r.State {
		case batch.Running, batch.Queued:
			keys = append(keys, k.Pause, k.Cancel)
		case batch.Paused:
			keys = append(keys, k.Resume, k.Cancel)
		case batch.Partial, batch.Failed:
			keys = append(keys, k.Resume)
		case batch.Done, batch.Cancelled:
		}
		if r.Mode == batch.Simulate && (r.State == batch.Done || r.State == batch.Partial) {
			keys = append(keys, k.Approve)
		}
	}
	return append(keys, k.ToDiff, k.ToFailures, k.Filter)
}

// Update takes keys and what was read.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if m.list.Accept(msg) {
		m.columns()
		m.table.Sync(rows{m})
		m.followRunning()
		return m.readEnded()
	}
	if found, ok := msg.(settled); ok {
		m.takeEnded(found)
		return nil
	}
	if m.bars.Accept(msg) || m.total.Accept(msg) {
		return nil
	}
	if msg, ok := msg.(tea.KeyMsg); ok {
		return m.key(msg)
	}
	return nil
}

// followRunning reads the progress of the replays that run now.
func (m *Model) followRunning() {
	var ids []string
	for _, r := range m.list.Rows() {
		if (r.State == batch.Running || r.State == batch.Paused) && len(ids) < maxBars {
			ids = append(ids, r.ID)
		}
	}
	if slices.Equal(ids, m.barIDs) {
		return
	}
	m.barIDs = ids
	source := m.source
	m.bars.Ask(func(ctx context.Context) (map[string]batch.Progress, error) {
		out := make(map[string]batch.Progress, len(ids))
		for _, id := range ids {
			p, err := source.Progress(ctx, id)
			if err != nil {
				return nil, err
			}
			p.Partitions, p.Hosts, p.At = nil, nil, time.Time{} // only the totals are shown
			out[id] = p
		}
		return out, nil
	})
}

func (m *Model) key(msg tea.KeyMsg) tea.Cmd {
	k := m.env.Keys
	if cmd, moved := screen.Scroll(k, msg, &m.table, rows{m}, m.list, m.env.Local()); moved {
		return cmd
	}
	if key.Matches(msg, k.New) {
		return action.Queue(m.env, m.source)
	}
	r, ok := m.Selected()
	if !ok {
		return nil
	}
	switch {
	case key.Matches(msg, k.Open), key.Matches(msg, k.ToProgress):
		return screen.Send(screen.Go{Screen: screen.Progress, Replay: r.ID})
	case key.Matches(msg, k.ToDiff):
		return screen.Send(screen.Go{Screen: screen.Diff, Replay: r.ID})
	case key.Matches(msg, k.ToFailures):
		return screen.Send(screen.Go{Screen: screen.Failures, Replay: r.ID})
	case key.Matches(msg, k.Pause):
		return action.Pause(m.env, m.source, r)
	case key.Matches(msg, k.Resume):
		return action.Resume(m.env, m.source, r)
	case key.Matches(msg, k.Cancel):
		return action.Cancel(m.env, m.source, r)
	case key.Matches(msg, k.Approve):
		return action.Approve(m.env, m.source, r, "")
	case key.Matches(msg, k.Revert):
		return action.Revert(m.env, m.source, r)
	}
	return nil
}

// Find is a replay in memory; of one that is not, only the id is known.
func (m *Model) Find(id string) batch.Replay {
	for _, r := range m.list.Rows() {
		if r.ID == id {
			return r
		}
	}
	return batch.Replay{ID: id}
}

// IDs are the replays in memory, for completion.
func (m *Model) IDs() []string {
	ids := make([]string, len(m.list.Rows()))
	for i, r := range m.list.Rows() {
		ids[i] = r.ID
	}
	return ids
}
