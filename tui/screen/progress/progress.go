// Package progress is the screen of one replay at work.
package progress

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/heatmap"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/feed"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/screen/action"
	"reprise.dev/reprise/tui/text"
)

// Source is what the screen reads and commands.
type Source interface {
	Progress(ctx context.Context, id string) (batch.Progress, error)
	action.Controller
	action.Approver
	action.Queuer
}

// Model is the screen.
type Model struct {
	env    *screen.Env
	source Source
	id     string
	feed   *feed.Feed[snapshot]
	pace   pace
	at     batch.Stage // that the pace is of
	cursor int         // partition that is pointed at
	led    bool        // the cursor was moved by hand; until then it follows the work
	bars   bool
	table  table.Table
	grid   heatmap.Grid // as last drawn
}

// snapshot is a progress that was found, or the fact that there is none.
type snapshot struct {
	batch.Progress
	missing bool
}

// New makes the screen of a replay.
func New(env *screen.Env, source Source, id string) *Model {
	m := &Model{env: env, source: source, id: id}
	m.feed = feed.New(env.Ctx, func(ctx context.Context) (snapshot, error) {
		p, err := source.Progress(ctx, id)
		if errors.Is(err, batch.ErrNotFound) {
			return snapshot{missing: true}, nil
		}
		if !active(p.Replay.State) {
			p.At = time.Time{} // nothing moves: the same snapshot is the same picture
		}
		return snapshot{Progress: p}, err
	})
	m.table = table.Table{Theme: env.Theme, Empty: env.S(text.ProgressNoPartitions), Columns: []table.Column{
		{Title: "#", Width: 5, Right: true},
		{Title: "", Width: 1},
		{Title: env.S(text.ColProgress), Width: 7, Right: true},
		{Title: "", Width: 16, Grow: 2, Max: 60},
		{Title: env.S(text.ColRead), Width: 10, Right: true},
		{Title: env.S(text.ColEvents), Width: 10, Right: true, Keep: 1},
		{Title: env.S(text.ColPositions), Width: 24, Keep: 3},
		{Title: env.S(text.ColCheckpoint), Width: 12, Right: true, Keep: 4},
		{Title: env.S(text.ColPoison), Width: 8, Right: true, Keep: 2},
		{Title: env.S(text.ColOwner), Width: 12, Grow: 1, Max: 36, Keep: 5},
	}}
	return m
}

// active reports whether a replay in this state may move by itself.
func active(s batch.State) bool { return s == batch.Running || s == batch.Queued }

// ID names the screen.
func (m *Model) ID() screen.ID { return screen.Progress }

// Subject is the replay.
func (m *Model) Subject() string { return m.id }

// Pollers is the one snapshot.
func (m *Model) Pollers() []feed.Poller { return []feed.Poller{m.feed} }

// Live is true while the elapsed time runs.
func (m *Model) Live() bool { return m.feed.Loaded && m.feed.Value.Replay.State == batch.Running }

// Back leaves the list of partitions.
func (m *Model) Back() bool {
	was := m.bars
	m.bars = false
	return was
}

// Keys depend on the state of the replay.
func (m *Model) Keys() []key.Binding {
	k := m.env.Keys
	var keys []key.Binding
	r := m.feed.Value.Replay
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
	keys = append(keys, k.View, k.ToDiff, k.ToFailures, k.New)
	if action.CanRevert(r) {
		keys = append(keys, k.Revert)
	}
	return keys
}

// Update takes keys and snapshots.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if m.feed.Accept(msg) {
		p := m.feed.Value
		m.cursor = max(0, min(m.cursor, len(p.Partitions)-1))
		m.follow()
		m.table.Sync(rows{m})
		if r := msg.(feed.Result); !r.Same && active(p.Replay.State) {
			if p.Stage != m.at {
				m.at, m.pace = p.Stage, pace{}
			}
			done, _, _ := m.done()
			m.pace.add(p.At, done)
		}
		return nil
	}
	if msg, ok := msg.(tea.KeyMsg); ok {
		return m.key(msg)
	}
	return nil
}

func (m *Model) key(msg tea.KeyMsg) tea.Cmd {
	k, r := m.env.Keys, m.feed.Value.Replay
	switch {
	case key.Matches(msg, k.New):
		return action.Queue(m.env, m.source)
	case !m.feed.Loaded || m.feed.Value.missing:
		return nil
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
	case key.Matches(msg, k.ToDiff):
		return screen.Send(screen.Go{Screen: screen.Diff, Replay: m.id})
	case key.Matches(msg, k.ToFailures):
		return screen.Send(screen.Go{Screen: screen.Failures, Replay: m.id})
	case key.Matches(msg, k.View):
		m.bars = !m.bars
		m.table.To(rows{m}, m.cursor)
	case m.bars:
		m.moveInTable(msg)
	default:
		m.moveInMap(msg)
	}
	return nil
}

// follow points at the first partition that is being worked, unless the cursor was moved by hand.
func (m *Model) follow() {
	if m.led {
		return
	}
	for i, p := range m.feed.Value.Partitions {
		if _, done := m.inHand(p); p.Owner != "" && !done {
			m.cursor = i
			return
		}
	}
}

func (m *Model) moveInTable(msg tea.KeyMsg) {
	screen.Scroll(m.env.Keys, msg, &m.table, rows{m}, whole{}, m.env.Local())
	m.led = true
	m.cursor = m.table.Index()
}

// worker names the process that works a partition, by its machine if it is one that reported.
func (m *Model) worker(owner string) string {
	for _, h := range m.feed.Value.Hosts {
		if h.ID == owner {
			return h.Machine + " " + strconv.Itoa(h.PID)
		}
	}
	return owner
}

func (m *Model) moveInMap(msg tea.KeyMsg) {
	k, cells := m.env.Keys, m.cells()
	before := m.cursor
	defer func() { m.led = m.led || m.cursor != before }()
	switch {
	case key.Matches(msg, k.Left):
		m.cursor = cells.Move(m.grid, -1, 0)
	case key.Matches(msg, k.Right):
		m.cursor = cells.Move(m.grid, 1, 0)
	case key.Matches(msg, k.Up):
		m.cursor = cells.Move(m.grid, 0, -1)
	case key.Matches(msg, k.Down):
		m.cursor = cells.Move(m.grid, 0, 1)
	case key.Matches(msg, k.Top):
		m.cursor = 0
	case key.Matches(msg, k.Bottom):
		m.cursor = max(0, len(m.feed.Value.Partitions)-1)
	}
}

// cells are the partitions as a map shows them.
func (m *Model) cells() heatmap.Map {
	parts := m.feed.Value.Partitions
	states := make([]heatmap.State, len(parts))
	for i, p := range parts {
		states[i] = m.stateOf(p)
	}
	return heatmap.Map{States: states, Cursor: m.cursor}
}

// stateOf shows a partition with poison events as one that needs a look, whatever else it does.
func (m *Model) stateOf(p batch.Partition) heatmap.State {
	c, done := m.inHand(p)
	switch {
	case c.Poison > 0:
		return heatmap.Error
	case done:
		return heatmap.Done
	case p.Owner != "":
		return heatmap.Active
	}
	return heatmap.Waiting
}

// whole is a list that is all in memory.
type whole struct{}

func (whole) Look(int, time.Time) tea.Cmd { return nil }
func (whole) Top(time.Time) tea.Cmd       { return nil }
func (whole) Bottom(time.Time) tea.Cmd    { return nil }
func (whole) AtStart() bool               { return true }
func (whole) AtEnd() bool                 { return true }
func (whole) Moving() bool                { return false }
