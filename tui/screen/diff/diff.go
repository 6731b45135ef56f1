// Package diff is the screen of what a replay changes, or would change: order by order, with the history behind
// each, and the effects that already told another value.
package diff

import (
	"context"
	"io"
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
	action.Approver
}

const page = 60

// what says which rows are shown.
type what int

const (
	all what = iota
	changed
	fresh // new orders
)

// Model is the screen.
type Model struct {
	env    *screen.Env
	source Source
	id     string

	table  table.Table
	list   *paged.List[batch.DiffRow]
	wide   [4]int // columns that the widest before, after, delta and percentage so far take
	totals *feed.Feed[batch.DiffTotals]
	sort   batch.DiffSort
	desc   bool
	show   what
	prefix string

	history *history // open over the list, or nil
	told    *told    // open instead of the list, or nil
}

// sorts are the columns that can be sorted by, in the order in which the key goes through them.
var sorts = []batch.DiffSort{batch.ByOrder, batch.ByBefore, batch.ByAfter, batch.ByDelta, batch.ByPercent, batch.ByVersion}

// New makes the screen of a replay.
func New(env *screen.Env, source Source, id string) *Model {
	m := &Model{env: env, source: source, id: id, sort: batch.ByOrder}
	m.table = table.Table{Theme: env.Theme}
	m.columns()
	m.list = paged.New(env.Ctx, page, m.fetch(), true)
	m.totals = feed.New(env.Ctx, func(ctx context.Context) (batch.DiffTotals, error) { return source.DiffTotals(ctx, id) }).
		Every(30 * time.Second)
	return m
}

func (m *Model) columns() {
	e := m.env
	sorted := func(s batch.DiffSort) int {
		switch {
		case m.sort != s:
			return 0
		case m.desc:
			return -1
		}
		return 1
	}
	m.table.Columns = []table.Column{
		{Title: e.S(text.ColOrder), Width: 16, Grow: 1, Max: 40, Sort: sorted(batch.ByOrder)},
		{Title: e.S(text.ColBefore), Width: max(14, m.wide[0]), Max: max(20, m.wide[0]), Grow: 1, Right: true, Sort: sorted(batch.ByBefore)},
		{Title: e.S(text.ColAfter), Width: max(14, m.wide[1]), Max: max(20, m.wide[1]), Grow: 1, Right: true, Sort: sorted(batch.ByAfter)},
		{Title: e.S(text.ColDelta), Width: max(15, m.wide[2]), Max: max(20, m.wide[2]), Grow: 1, Right: true, Sort: sorted(batch.ByDelta)},
		{Title: "%", Width: max(9, m.wide[3]), Max: max(12, m.wide[3]), Grow: 1, Right: true, Keep: 2, Sort: sorted(batch.ByPercent)},
		{Title: e.S(text.ColVersion), Width: 8, Right: true, Keep: 1, Sort: sorted(batch.ByVersion)},
	}
}

// measure makes room for the amounts that were read: a number that is cut is another number.
func (m *Model) measure() {
	for i := range m.list.Rows() {
		cells := rows{m}.Row(i).Cells
		for j := range m.wide {
			m.wide[j] = max(m.wide[j], text.Width(cells[j+1].Text))
		}
	}
	m.columns()
}

func (m *Model) query() batch.DiffQuery {
	return batch.DiffQuery{
		Execution: m.id, Sort: m.sort, Descending: m.desc, Prefix: m.prefix,
		NewOnly: m.show == fresh, ChangedOnly: m.show == changed,
	}
}

func (m *Model) fetch() paged.Fetch[batch.DiffRow] {
	q, source := m.query(), m.source
	return func(ctx context.Context, after *batch.DiffRow, back bool, limit int) ([]batch.DiffRow, error) {
		q := q
		q.After, q.Limit = after, limit
		if back {
			q.Descending = !q.Descending
		}
		return source.Diff(ctx, q)
	}
}

// ID names the screen.
func (m *Model) ID() screen.ID { return screen.Diff }

// Subject is the replay.
func (m *Model) Subject() string { return m.id }

// Pollers are those of what is open.
func (m *Model) Pollers() []feed.Poller {
	switch {
	case m.id == "":
		return nil
	case m.history != nil:
		return []feed.Poller{m.history.feed}
	case m.told != nil:
		return []feed.Poller{m.told.list.Poller()}
	}
	return []feed.Poller{m.list.Poller(), m.totals}
}

// Live is false: a diff does not move by itself.
func (m *Model) Live() bool { return false }

// Back closes what is open, then drops filters.
func (m *Model) Back() bool {
	switch {
	case m.history != nil:
		m.history = nil
	case m.told != nil:
		m.told = nil
	case m.prefix != "" || m.show != all:
		m.prefix, m.show = "", all
		m.table.Jump(table.First)
		m.list.Ask(m.fetch())
	default:
		return false
	}
	return true
}

// Filter is the prefix of the order ids that are shown.
func (m *Model) Filter() string { return m.prefix }

// SetFilter narrows the list to orders that begin so.
func (m *Model) SetFilter(s string) tea.Cmd {
	m.prefix = s
	m.history, m.told = nil, nil
	return m.again()
}

func (m *Model) again() tea.Cmd {
	m.columns()
	m.table.Jump(table.First)
	return m.list.Reset(m.fetch(), m.env.Local())
}

// Keys are those of what is open.
func (m *Model) Keys() []key.Binding {
	k := m.env.Keys
	switch {
	case m.history != nil:
		return []key.Binding{k.Up, k.Down, k.PageDown, k.Pager, k.Back}
	case m.told != nil:
		return []key.Binding{k.Up, k.Down, k.History, k.Back}
	}
	return []key.Binding{k.History, k.Approve, k.Sort, k.Show, k.Told, k.Export, k.Reverse, k.Filter}
}

// Update takes keys and what was read.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	if m.list.Accept(msg) {
		m.measure()
		m.table.Sync(rows{m})
		return nil
	}
	if m.totals.Accept(msg) || m.history != nil && m.history.accept(msg) || m.told != nil && m.told.accept(msg) {
		return nil
	}
	if msg, ok := msg.(tea.KeyMsg); ok && m.id != "" {
		return m.key(msg)
	}
	return nil
}

func (m *Model) key(msg tea.KeyMsg) tea.Cmd {
	k := m.env.Keys
	switch {
	case m.history != nil:
		return m.history.key(msg)
	case m.told != nil:
		if key.Matches(msg, k.History) {
			if order := m.told.order(); order != "" {
				m.history = openHistory(m.env, m.source, order, batch.DiffRow{OrderID: order}, false)
			}
			return nil
		}
		return m.told.key(msg)
	}
	if cmd, moved := screen.Scroll(k, msg, &m.table, rows{m}, m.list, m.env.Local()); moved {
		return cmd
	}
	switch {
	case key.Matches(msg, k.History):
		if row, ok := m.selected(); ok {
			m.history = openHistory(m.env, m.source, row.OrderID, row, true)
		}
	case key.Matches(msg, k.Sort):
		m.sort = nextSort(m.sort)
		return m.again()
	case key.Matches(msg, k.Reverse):
		m.desc = !m.desc
		return m.again()
	case key.Matches(msg, k.Show):
		m.show = (m.show + 1) % 3
		return m.again()
	case key.Matches(msg, k.Told):
		m.told = openTold(m.env, m.source, m.id)
	case key.Matches(msg, k.Export):
		return m.export()
	case key.Matches(msg, k.Approve):
		return action.Approve(m.env, m.source, batch.Replay{ID: m.id}, "")
	}
	return nil
}

func nextSort(s batch.DiffSort) batch.DiffSort {
	for i, other := range sorts {
		if other == s {
			return sorts[(i+1)%len(sorts)]
		}
	}
	return batch.ByOrder
}

func (m *Model) selected() (batch.DiffRow, bool) {
	for _, r := range m.list.Rows() {
		if r.OrderID == m.table.Selected() {
			return r, true
		}
	}
	return batch.DiffRow{}, false
}

// Command carries out "export FORMAT FILE" and "order ID".
func (m *Model) Command(name, arg string) (tea.Cmd, bool) {
	switch name {
	case "export":
		format, file, _ := strings.Cut(arg, " ")
		if file == "" {
			return m.export(), true
		}
		return m.write(format, strings.TrimSpace(file)), true
	case "order":
		m.history = openHistory(m.env, m.source, arg, batch.DiffRow{OrderID: arg}, false)
		return nil, true
	}
	return nil, false
}
