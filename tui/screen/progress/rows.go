package progress

import (
	"strconv"

	"reprise.dev/reprise/tui/component/chart"
	"reprise.dev/reprise/tui/component/heatmap"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// rows are the partitions as a table shows them.
type rows struct{ *Model }

func (r rows) Len() int        { return len(r.feed.Value.Partitions) }
func (r rows) ID(i int) string { return strconv.Itoa(r.feed.Value.Partitions[i].Index) }

func (r rows) Row(i int) table.Row {
	e, p := r.env, r.feed.Value.Partitions[i]
	t := e.Theme
	c, _ := r.inHand(p)
	symbol, style := heatmap.Look(t, r.stateOf(p))
	owner, ownerStyle := text.None, t.Faint
	if p.Owner != "" {
		owner, ownerStyle = r.worker(p.Owner), t.Accent
	}
	poison := t.Faint
	if c.Poison > 0 {
		poison = t.Bad
	}
	return table.Row{Cells: []table.Cell{
		{Text: e.Int(int64(p.Index)), Style: t.Muted},
		{Text: symbol, Style: style},
		{Text: e.Percent(r.doneOf(p), p.Events), Style: t.Text},
		{Bar: func(w int, back theme.Style) string { return chart.BarOn(t, r.doneOf(p), p.Events, w, style, back) }},
		{Text: e.Int(c.Read), Style: t.Text},
		{Text: e.Int(p.Events), Style: t.Muted},
		{Text: e.Int(p.First) + "–" + e.Int(p.Last), Style: t.Muted},
		{Text: e.Int(p.Position), Style: t.Text},
		{Text: e.Int(c.Poison), Style: poison},
		{Text: owner, Style: ownerStyle},
	}}
}
