package diff

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/paged"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// told lists the effects whose content already went out with another value.
type told struct {
	env   *screen.Env
	list  *paged.List[batch.Divergence]
	table table.Table
}

func openTold(env *screen.Env, source Source, id string) *told {
	d := &told{env: env}
	d.list = paged.New(env.Ctx, page, func(ctx context.Context, after *batch.Divergence, _ bool, limit int) ([]batch.Divergence, error) {
		key := ""
		if after != nil {
			key = after.Key
		}
		return source.Divergences(ctx, id, key, limit)
	}, false)
	d.table = table.Table{Theme: env.Theme, Empty: env.S(text.ToldEmpty), Columns: []table.Column{
		{Title: env.S(text.ColEffect), Width: 24, Grow: 2, Max: 64},
		{Title: env.S(text.ColOrder), Width: 14, Grow: 1, Max: 40},
		{Title: env.S(text.ColSent) + " " + env.Theme.Right + " " + env.S(text.ColWouldSend), Width: 30, Grow: 4, Keep: 1},
	}}
	return d
}

func (d *told) accept(msg tea.Msg) bool {
	if !d.list.Accept(msg) {
		return false
	}
	d.table.Sync(d)
	return true
}

// Len, ID and Row make the effects a table.
func (d *told) Len() int { return len(d.list.Rows()) }

// ID of a row is the effect's key.
func (d *told) ID(i int) string { return d.list.Rows()[i].Key }

// Row draws one effect.
func (d *told) Row(i int) table.Row {
	t, v := d.env.Theme, d.list.Rows()[i]
	return table.Row{Cells: []table.Cell{
		{Text: v.Key, Style: t.Text}, {Text: v.OrderID, Style: t.Muted}, {Text: d.differing(v), Style: t.Warn},
	}}
}

// differing names the fields that are not the same, if both contents are objects.
func (d *told) differing(v batch.Divergence) string {
	const readable = 1 << 16 // longer contents are for the detail
	if len(v.Sent) > readable || len(v.WouldSend) > readable {
		return ""
	}
	var sent, would map[string]json.RawMessage
	if json.Unmarshal([]byte(v.Sent), &sent) != nil || json.Unmarshal([]byte(v.WouldSend), &would) != nil {
		return v.Sent + " " + d.env.Theme.Right + " " + v.WouldSend
	}
	names := maps.Clone(sent)
	maps.Copy(names, would)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if a, b := sent[name], would[name]; !bytes.Equal(a, b) {
			parts = append(parts, name+" "+cmp.Or(string(a), text.None)+" "+d.env.Theme.Right+" "+cmp.Or(string(b), text.None))
		}
	}
	return strings.Join(parts, ", ")
}

func (d *told) selected() (batch.Divergence, bool) {
	if i := d.table.Index(); i < d.Len() {
		return d.list.Rows()[i], true
	}
	return batch.Divergence{}, false
}

func (d *told) order() string {
	v, _ := d.selected()
	return v.OrderID
}

func (d *told) key(msg tea.KeyMsg) tea.Cmd {
	cmd, _ := screen.Scroll(d.env.Keys, msg, &d.table, d, d.list, d.env.Local())
	return cmd
}

// view draws the list, and both contents of the selected effect below it; total is 0 while it is not known.
func (d *told) view(w, h int, total int64) layout.Block {
	e := d.env
	t := e.Theme
	out := layout.Block{e.Section(e.S(text.ToldTitle), screen.Place(e, d.table.Index(), d.Len(), batch.Count{Rows: total}, d.list), w)}
	out = append(out, e.Paragraph(e.S(text.ToldWhat), t.Muted, w)...)
	if !d.list.Loaded() {
		return layout.Fit(append(out, "", "  "+t.Muted.Render(e.S(text.Loading))), w, h)
	}
	below := 0
	v, ok := d.selected()
	half := (w - 2) / 2
	left := append(layout.Block{e.Section(e.S(text.ToldSent), "", half)}, e.JSON([]byte(v.Sent), half)...)
	right := append(layout.Block{e.Section(e.S(text.ToldWould), "", w-half-2)}, e.JSON([]byte(v.WouldSend), w-half-2)...)
	if ok && h >= 14 { // what the contents need, but the list keeps its half
		below = min(max(len(left), len(right)), (h-len(out))/2)
	}
	out = append(out, d.table.View(d, w, max(h-len(out)-below, 2), true)...)
	if below == 0 {
		return layout.Fit(out, w, h)
	}
	return append(out, layout.Beside("  ", layout.Fit(left, half, below), layout.Fit(right, w-half-2, below))...)
}
