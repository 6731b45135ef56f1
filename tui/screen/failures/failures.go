// Package failures is the screen of the events that a replay could not process.
package failures

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/paged"
	"reprise.dev/reprise/tui/component/pager"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/feed"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// Source is what the screen reads.
type Source interface {
	// Failures lists them in order of position, after the given one.
	Failures(ctx context.Context, id string, after int64, limit int) ([]batch.Failure, error)
	FailureCount(ctx context.Context, id string) (batch.Count, error)
	// Event reads an archived event by its id; batch.ErrNotFound if there is none.
	Event(ctx context.Context, id string) (batch.Event, error)
}

const (
	page = 60
	rest = 120 * time.Millisecond // that the cursor stays on a row before its event is read
)

// Model is the screen.
type Model struct {
	env    *screen.Env
	source Source
	id     string
	list   *paged.List[batch.Failure]
	total  *feed.Feed[batch.Count]
	table  table.Table
	event  *feed.Feed[found]
	asked  string
	open   bool // the payload has the screen
	text   pager.Pager
}

type found struct {
	batch.Event
	missing bool
}

type due struct{ id string }

// New makes the screen of a replay.
func New(env *screen.Env, source Source, id string) *Model {
	m := &Model{env: env, source: source, id: id}
	m.list = paged.New(env.Ctx, page, func(ctx context.Context, after *batch.Failure, _ bool, limit int) ([]batch.Failure, error) {
		position := int64(-1 << 63)
		if after != nil {
			position = after.Position
		}
		return source.Failures(ctx, id, position, limit)
	}, false)
	m.total = screen.Total(env.Ctx, func(ctx context.Context) (batch.Count, error) { return source.FailureCount(ctx, id) })
	m.event = feed.New(env.Ctx, func(context.Context) (found, error) { return found{}, nil }).Every(time.Minute)
	m.table = table.Table{Theme: env.Theme, Empty: env.S(text.FailuresEmpty), Columns: []table.Column{
		{Title: env.S(text.ColPosition), Width: 12, Right: true},
		{Title: env.S(text.ColEvent), Width: 14, Grow: 1, Max: 40},
		{Title: env.S(text.ColOrder), Width: 12, Grow: 1, Max: 40, Keep: 1},
		{Title: env.S(text.ColReason), Width: 44, Grow: 8, Both: true},
		{Title: env.S(text.ColAge), Width: 6, Right: true, Keep: 2},
	}}
	return m
}

// ID names the screen.
func (m *Model) ID() screen.ID { return screen.Failures }

// Subject is the replay.
func (m *Model) Subject() string { return m.id }

// Pollers are the list, its length and the event that is shown.
func (m *Model) Pollers() []feed.Poller {
	switch {
	case m.id == "":
		return nil
	case m.asked == "":
		return []feed.Poller{m.list.Poller(), m.total}
	}
	return []feed.Poller{m.list.Poller(), m.total, m.event}
}

// Live is false: failures do not move by themselves.
func (m *Model) Live() bool { return false }

// Back closes the payload.
func (m *Model) Back() bool {
	was := m.open
	m.open = false
	return was
}

// Keys are those of a list or of a text.
func (m *Model) Keys() []key.Binding {
	k := m.env.Keys
	if m.open {
		return []key.Binding{k.Up, k.Down, k.PageDown, k.Pager, k.Back}
	}
	return []key.Binding{k.Open, k.Pager, k.Up, k.Down}
}

// Update takes keys and what was read.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if m.list.Accept(msg) {
		m.table.Sync(rows{m})
		return m.ask()
	}
	if m.event.Accept(msg) || m.total.Accept(msg) {
		return nil
	}
	switch msg := msg.(type) {
	case due:
		return m.read(msg.id)
	case tea.KeyMsg:
		return tea.Batch(m.key(msg), m.ask())
	}
	return nil
}

func (m *Model) ask() tea.Cmd {
	f, ok := m.selected()
	if !ok || f.EventID == m.asked {
		return nil
	}
	m.asked = f.EventID
	return m.env.After(rest, due{f.EventID})
}

func (m *Model) read(id string) tea.Cmd {
	if id != m.asked {
		return nil
	}
	source := m.source
	m.event.Ask(func(ctx context.Context) (found, error) {
		ev, err := source.Event(ctx, id)
		if errors.Is(err, batch.ErrNotFound) {
			return found{Event: batch.Event{ID: id}, missing: true}, nil
		}
		return found{Event: ev}, err
	})
	return m.event.Read(m.env.Local())
}

func (m *Model) key(msg tea.KeyMsg) tea.Cmd {
	k := m.env.Keys
	switch {
	case key.Matches(msg, k.Pager) && m.event.Value.ID == m.asked && m.asked != "":
		return m.env.Pager(m.event.Value.Payload)
	case m.open && key.Matches(msg, k.Open):
		m.open = false
	case m.open:
		screen.ScrollText(k, msg, &m.text)
	case key.Matches(msg, k.Open), key.Matches(msg, k.Focus):
		m.open = rows{m}.Len() > 0
	default:
		cmd, _ := screen.Scroll(k, msg, &m.table, rows{m}, m.list, m.env.Local())
		return cmd
	}
	return nil
}

func (m *Model) selected() (batch.Failure, bool) {
	if i := m.table.Index(); i < len(m.list.Rows()) {
		return m.list.Rows()[i], true
	}
	return batch.Failure{}, false
}

// rows are the failures as a table shows them.
type rows struct{ *Model }

func (r rows) Len() int        { return len(r.list.Rows()) }
func (r rows) ID(i int) string { return strconv.FormatInt(r.list.Rows()[i].Position, 10) }

func (r rows) Row(i int) table.Row {
	t, f := r.env.Theme, r.list.Rows()[i]
	return table.Row{Cells: []table.Cell{
		{Text: r.env.Int(f.Position), Style: t.Muted},
		{Text: f.EventID, Style: t.Text},
		{Text: f.OrderID, Style: t.Text},
		{Text: r.env.Remark(f.Reason), Style: t.Text},
		{Text: r.env.Ago(f.At), Style: t.Muted},
	}}
}

// View draws the list and the event behind the selected row.
func (m *Model) View(w, h int) layout.Block {
	e := m.env
	t := e.Theme
	if m.id == "" {
		return layout.Fit(layout.Block{"", "  " + t.Muted.Render(e.S(text.NoReplayChosen))}, w, h)
	}
	if m.open {
		return m.detail(w, h)
	}
	out := layout.Block{e.Section(e.S(text.FailuresTitle, text.Clean(m.id)), screen.Place(e, m.table.Index(), rows{m}.Len(), m.total.Value, m.list), w)}
	if !m.list.Loaded() {
		return layout.Fit(append(out, "", "  "+t.Muted.Render(e.S(text.Loading))), w, h)
	}
	below := 0
	if rows := (rows{m}).Len(); h >= 16 && rows > 0 {
		below = max(h/2, h-rows-2)
	}
	out = append(out, m.table.View(rows{m}, w, max(h-1-below, 2), true)...)
	if below > 0 {
		out = append(out, m.detail(w, below)...)
	}
	return layout.Fit(out, w, h)
}

func (m *Model) detail(w, h int) layout.Block {
	e := m.env
	t := e.Theme
	f, ok := m.selected()
	if !ok {
		return layout.Fit(nil, w, h)
	}
	ev := m.event.Value
	known := ev.ID == f.EventID && ev.ID != ""
	size := ""
	if known && !ev.missing {
		size = e.Bytes(len(ev.Payload))
	}
	out := layout.Block{e.Section(screen.Quote(f.EventID), size, w)}
	var lines layout.Block
	lines = append(lines, e.Paragraph(t.Failed+" "+text.CleanLine(e.Remark(f.Reason)), t.Bad, w-2)...)
	for _, warning := range e.Warnings(f.EventID, f.OrderID) {
		lines = append(lines, e.Paragraph(t.Warning+" "+warning, t.Warn, w-2)...)
	}
	switch {
	case !known:
		lines = append(lines, t.Muted.Render(e.S(text.Loading)))
	case ev.missing:
		lines = append(lines, t.Warn.Render(e.S(text.EventMissing)))
	default:
		lines = append(lines, e.Facts().
			Add(text.ColOrder, screen.Quote(ev.OrderID)+", "+e.S(text.VersionOf, e.Int(ev.Version))).
			Add(text.ColType, text.Clean(ev.Type)).
			Add(text.ColOccurred, e.Time(ev.OccurredAt)).Block(w-2)...)
		lines = append(lines, e.JSON(ev.Payload, w-2)...)
	}
	return append(out, m.text.View(t, f.EventID, lines, w, max(h-1, 1))...)
}
