package diff

import (
	"context"
	"strconv"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/pager"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/feed"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// history is the archived life of one order.
type history struct {
	env   *screen.Env
	order string
	row   batch.DiffRow
	known bool // row holds a before and an after
	feed  *feed.Feed[[]batch.Event]
	table table.Table
	text  pager.Pager
}

func openHistory(env *screen.Env, source Source, order string, row batch.DiffRow, known bool) *history {
	h := &history{env: env, order: order, row: row, known: known}
	h.feed = feed.New(env.Ctx, func(ctx context.Context) ([]batch.Event, error) { return source.OrderHistory(ctx, order) })
	h.table = table.Table{Theme: env.Theme, Empty: env.S(text.HistoryEmpty), Columns: []table.Column{
		{Title: env.S(text.ColVersion), Width: 7, Right: true},
		{Title: env.S(text.ColEvent), Width: 14, Grow: 1, Max: 40},
		{Title: env.S(text.ColType), Width: 18, Grow: 1, Max: 32},
		{Title: env.S(text.ColOccurred), Width: 24},
		{Title: env.S(text.ColPosition), Width: 12, Right: true, Keep: 1},
	}}
	return h
}

func (h *history) accept(msg tea.Msg) bool {
	if !h.feed.Accept(msg) {
		return false
	}
	h.table.Sync(h)
	return true
}

// Len, ID and Row make the events a table.
func (h *history) Len() int { return len(h.feed.Value) }

// ID of a row is the event's.
func (h *history) ID(i int) string { return h.feed.Value[i].ID }

// Row draws one event.
func (h *history) Row(i int) table.Row {
	e, ev := h.env, h.feed.Value[i]
	t := e.Theme
	return table.Row{Cells: []table.Cell{
		{Text: strconv.FormatInt(ev.Version, 10), Style: t.Bold},
		{Text: ev.ID, Style: t.Text},
		{Text: ev.Type, Style: t.Text},
		{Text: e.Time(ev.OccurredAt), Style: t.Muted},
		{Text: e.Int(ev.Position), Style: t.Muted},
	}}
}

func (h *history) selected() (batch.Event, bool) {
	if i := h.table.Index(); i < len(h.feed.Value) {
		return h.feed.Value[i], true
	}
	return batch.Event{}, false
}

func (h *history) key(msg tea.KeyMsg) tea.Cmd {
	k := h.env.Keys
	switch {
	case key.Matches(msg, k.Pager):
		if ev, ok := h.selected(); ok {
			return h.env.Pager(ev.Payload)
		}
	case key.Matches(msg, k.PageDown):
		h.text.Move(h.text.Page())
	case key.Matches(msg, k.PageUp):
		h.text.Move(-h.text.Page())
	case key.Matches(msg, k.Up):
		h.table.Move(h, -1)
	case key.Matches(msg, k.Down):
		h.table.Move(h, 1)
	case key.Matches(msg, k.Top):
		h.table.To(h, 0)
	case key.Matches(msg, k.Bottom):
		h.table.To(h, h.Len()-1)
	}
	return nil
}

func (h *history) view(w, hgt int) layout.Block {
	e := h.env
	t := e.Theme
	out := layout.Block{e.Section(e.S(text.HistoryTitle, screen.Quote(h.order)), "", w)}
	lower := func(title text.M) string { return t.Muted.Render(strings.ToLower(e.S(title)) + " ") }
	if h.known {
		line := lower(text.ColBefore) + t.Text.Render(e.MoneyOr(h.row.Before)) + "   " + lower(text.ColAfter) + t.Bold.Render(e.Money(h.row.After))
		if h.row.Before != nil {
			line += "   " + lower(text.ColDelta) + t.Text.Render(e.SignedBigMoney(h.row.Delta())+"  "+e.Change(h.row.Before, h.row.After))
		}
		out = append(out, text.Truncate(line, w))
	}
	for _, warning := range e.Warnings(h.order) {
		out = append(out, t.Warn.Render(text.Truncate(t.Warning+" "+warning, w)))
	}
	if !h.feed.Loaded {
		return layout.Fit(append(out, "", "  "+t.Muted.Render(e.S(text.Loading))), w, hgt)
	}
	rows := min(max(h.Len()+1, 2), max((hgt-len(out))/2, 3))
	out = append(out, h.table.View(h, w, rows, true)...)
	ev, ok := h.selected()
	if !ok {
		return layout.Fit(out, w, hgt)
	}
	out = append(out, "", e.Section(e.S(text.SectionPayload, text.Clean(ev.ID)), e.Bytes(len(ev.Payload)), w))
	return layout.Fit(append(out, h.text.View(t, ev.ID, e.JSON(ev.Payload, w-2), w, max(hgt-len(out), 1))...), w, hgt)
}
