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
	// Replays lists replays, newest first, before an instant (zero: from the newest).
	Replays(ctx context.Context, limit int, before time.Time) ([]batch.Replay, error)
	// Progress is read of the few that run, for their bars.
	Progress(ctx context.Context, id string) (batch.Progress, error)
	action.Controller
	action.Queuer
	action.Approver
}

const (
	page    = 60
	maxBars = 4     // running replays whose progress is shown in the list
	maxScan = 5_000 // replays that one page of a filtered list looks at
)

// Model is the screen.
type Model struct {
	env    *screen.Env
	source Source
	table  table.Table
	list   *paged.List[batch.Replay]
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
	m.table = table.Table{Theme: env.Theme, Empty: env.S(text.ReplaysEmpty), Columns: []table.Column{
		{Title: env.S(text.ColState), Width: 12},
		{Title: env.S(text.ColReplay), Width: 22, Grow: 3, Max: 44},
		{Title: env.S(text.ColMode), Width: 8},
		{Title: env.S(text.ColScope), Width: 20, Keep: 4, Grow: 1, Max: 64},
		{Title: env.S(text.ColEvents), Width: 11, Right: true, Keep: 1},
		{Title: env.S(text.ColProgress), Width: 7, Right: true},
		{Title: env.S(text.ColRequestedBy), Width: 14, Keep: 3, Grow: 1, Max: 24},
		{Title: env.S(text.ColAge), Width: 6, Right: true, Keep: 2},
	}}
	m.list = paged.New(env.Ctx, page, m.fetch(), false)
	m.bars = feed.New(env.Ctx, func(context.Context) (map[string]batch.Progress, error) { return nil, nil })
	return m
}

// fetch reads on until a page matches the filter. The list is short enough for that, and states are shown in
// words that the database does not know.
func (m *Model) fetch() paged.Fetch[batch.Replay] {
	filter := strings.ToLower(m.filter)
	matches := func(r batch.Replay) bool {
		_, word, _ := m.env.StateOf(r.State)
		for _, s := range []string{r.ID, word, string(r.State), m.env.Mode(r.Mode), r.RequestedBy, r.ApprovedBy} {
			if strings.Contains(strings.ToLower(s), filter) {
				return true
			}
		}
		return false
	}
	return func(ctx context.Context, after *batch.Replay, _ bool, limit int) ([]batch.Replay, error) {
		before := time.Time{}
		if after != nil {
			before = after.CreatedAt
		}
		if filter == "" {
			return m.source.Replays(ctx, limit, before)
		}
		var found []batch.Replay
		for seen := 0; seen < maxScan && len(found) < limit; {
			rows, err := m.source.Replays(ctx, limit, before)
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				if matches(r) {
					found = append(found, r)
				}
			}
			if len(rows) < limit {
				break
			}
			seen += len(rows)
			before = rows[len(rows)-1].CreatedAt
		}
		return found[:min(len(found), limit)], nil
	}
}

// ID names the screen.
func (m *Model) ID() screen.ID { return screen.Replays }

// Subject is nothing: the screen is about all replays.
func (m *Model) Subject() string { return "" }

// Pollers are the list and the bars.
func (m *Model) Pollers() []feed.Poller {
	if len(m.barIDs) == 0 {
		return []feed.Poller{m.list.Poller()}
	}
	return []feed.Poller{m.list.Poller(), m.bars}
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
	return true
}

// Filter is what the list is narrowed by.
func (m *Model) Filter() string { return m.filter }

// SetFilter narrows the list.
func (m *Model) SetFilter(s string) tea.Cmd {
	m.filter = s
	m.table.Jump(table.First)
	return m.list.Reset(m.fetch(), m.env.Local())
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
		m.table.Sync(rows{m})
		m.followRunning()
		return m.readEnded()
	}
	if found, ok := msg.(settled); ok {
		m.takeEnded(found)
		return nil
	}
	if m.bars.Accept(msg) {
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
