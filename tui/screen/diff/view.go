package diff

import (
	"strconv"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/chart"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// rows are the orders as a table shows them.
type rows struct{ *Model }

func (r rows) Len() int        { return len(r.list.Rows()) }
func (r rows) ID(i int) string { return r.list.Rows()[i].OrderID }

func (r rows) Row(i int) table.Row {
	e, row := r.env, r.list.Rows()[i]
	t := e.Theme
	delta, style := "=", t.Muted
	switch {
	case row.Before == nil:
		delta, style = e.S(text.DiffNew), t.Info
	case row.After > *row.Before:
		delta, style = t.Up+" "+e.SignedBigMoney(row.Delta()), t.Good
	case row.After < *row.Before:
		delta, style = t.Down+" "+e.SignedBigMoney(row.Delta()), t.Warn
	}
	return table.Row{Cells: []table.Cell{
		{Text: row.OrderID, Style: t.Text},
		{Text: e.MoneyOr(row.Before), Style: t.Muted},
		{Text: e.Money(row.After), Style: t.Bold},
		{Text: delta, Style: style},
		{Text: e.Change(row.Before, row.After), Style: style},
		{Text: versions(t, row), Style: t.Muted},
	}}
}

func versions(t *theme.Theme, row batch.DiffRow) string {
	one := func(v *int64) string {
		if v == nil {
			return text.None
		}
		return strconv.FormatInt(*v, 10)
	}
	if row.BeforeVersion == nil || row.AfterVersion != nil && *row.BeforeVersion == *row.AfterVersion {
		return one(row.AfterVersion)
	}
	return one(row.BeforeVersion) + t.Right + one(row.AfterVersion)
}

// View draws the totals and the list, or what is open over it.
func (m *Model) View(w, h int) layout.Block {
	e := m.env
	switch {
	case m.id == "":
		return layout.Fit(layout.Block{"", "  " + e.Theme.Muted.Render(e.S(text.NoReplayChosen))}, w, h)
	case m.history != nil:
		return m.history.view(w, h)
	case m.told != nil:
		return m.told.view(w, h, m.totals.Value.Told)
	}
	if w >= 130 {
		side := min(w/3, 60)
		return layout.Beside("  ", m.listBlock(w-side-2, h), layout.Fit(m.panel(side, h), side, h))
	}
	top := m.totalLines(w)
	if line := m.sparkLine(w); line != "" && h >= 14 {
		top = append(top, line)
	}
	return append(layout.Fit(top, w, len(top)), m.listBlock(w, h-len(top))...)
}

func (m *Model) listBlock(w, h int) layout.Block {
	e := m.env
	title := e.S([]text.M{text.DiffAll, text.DiffChanged, text.DiffNewOnly}[m.show], text.Clean(m.id))
	if m.prefix != "" {
		title += " /" + text.Clean(m.prefix)
	}
	out := layout.Block{e.Section(title, screen.Place(e, m.table.Index(), rows{m}.Len(), batch.Count{Rows: m.total()}, m.list), w)}
	if !m.list.Loaded() {
		return layout.Fit(append(out, "", "  "+e.Theme.Muted.Render(e.S(text.Loading))), w, h)
	}
	m.table.Empty = e.Nothing(text.DiffEmpty, m.prefix != "" || m.show != all)
	return append(out, m.table.View(rows{m}, w, h-1, true)...)
}

// total is how many orders the list holds; 0 while that is not known, as of those that a prefix leaves.
func (m *Model) total() int64 {
	if !m.totals.Loaded || m.prefix != "" {
		return 0
	}
	s := m.totals.Value
	return []int64{s.Changed + s.New + s.Same, s.Changed, s.New}[m.show]
}

// totalLines sums up the diff, new orders apart from changed ones.
func (m *Model) totalLines(w int) layout.Block {
	e := m.env
	t := e.Theme
	if !m.totals.Loaded {
		return layout.Block{t.Muted.Render(e.S(text.Loading)), ""}
	}
	s := m.totals.Value
	changed := t.Bold.Render(e.Int(s.Changed)) + t.Muted.Render(" "+e.S(text.DiffChangedWord)+"  ")
	if s.Changed > 0 {
		delta, style := m.difference()
		changed += t.Text.Render(e.BigMoney(s.ChangedBefore)+" "+t.Right+" "+e.BigMoney(s.ChangedAfter)) + "  " + style.Render(delta)
	}
	fresh := t.Bold.Render(e.Int(s.New)) + t.Muted.Render(" "+e.S(text.DiffNewWord)+"  ")
	if s.New > 0 {
		fresh += t.Info.Render(e.BigMoney(s.NewAfter))
	}
	same := t.Muted.Render(e.Int(s.Same) + " " + e.S(text.DiffSameWord))
	if s.Told > 0 {
		same = t.Warn.Render(t.Partial+" "+e.Int(s.Told)+" "+e.S(text.EffectDiffers)) + "  " + same
	}
	if w < 70 {
		return layout.Block{text.Truncate(changed, w), text.Truncate(fresh, w), text.Truncate(same, w)}
	}
	return layout.Block{text.Truncate(changed, w), layout.Ends(fresh, same, w)}
}

// difference is what all changed orders together gain or lose.
func (m *Model) difference() (string, theme.Style) {
	e, s := m.env, m.totals.Value
	d := screen.Difference(s.ChangedBefore, s.ChangedAfter)
	switch {
	case d == "" || d == "0":
		return "=", e.Theme.Muted
	case d[0] == '-':
		return e.Theme.Down + " " + e.BigMoney(d), e.Theme.Warn
	}
	return e.Theme.Up + " +" + e.BigMoney(d), e.Theme.Good
}

// sparkLine is the histogram in one line, for small screens.
func (m *Model) sparkLine(w int) string {
	e := m.env
	buckets := m.totals.Value.Histogram
	if len(buckets) == 0 {
		return ""
	}
	values := make([]float64, len(buckets))
	for i, b := range buckets {
		values[i] = float64(b.Orders)
	}
	left := e.S(text.DiffDeltas) + "  " + e.Amount(buckets[0].From) + " "
	right := " " + e.Amount(buckets[len(buckets)-1].To)
	if text.Width(left)+text.Width(right)+len(values) > w {
		return ""
	}
	return e.Theme.Muted.Render(left) + chart.Spark(e.Theme, values, len(values), e.Theme.Accent) + e.Theme.Muted.Render(right)
}

// panel is the side of a wide screen: totals, and the histogram in full.
func (m *Model) panel(w, h int) layout.Block {
	e := m.env
	t := e.Theme
	out := layout.Block{e.Section(e.S(text.SectionTotals), "", w)}
	if !m.totals.Loaded {
		return append(out, t.Muted.Render(e.S(text.Loading)))
	}
	s := m.totals.Value
	delta, style := m.difference()
	told := t.Muted
	if s.Told > 0 {
		told = t.Warn
	}
	out = append(out, e.Facts().
		Add(text.DiffChangedWord, e.Int(s.Changed), t.Bold).
		Add(text.ColBefore, e.BigMoney(s.ChangedBefore)).
		Add(text.ColAfter, e.BigMoney(s.ChangedAfter)).
		Add(text.ColDelta, delta, style).
		Add(text.DiffNewWord, e.Int(s.New), t.Bold).
		Add(text.DiffNewTotal, e.BigMoney(s.NewAfter), t.Info).
		Add(text.DiffSameWord, e.Int(s.Same), t.Muted).
		Add(text.EffectDiffers, e.Int(s.Told), told).Block(w)...)
	if len(s.Histogram) == 0 {
		return out
	}
	out = append(out, "", e.Section(e.S(text.DiffDeltas), e.S(text.DiffOrders), w))
	buckets := make([]chart.Bucket, len(s.Histogram))
	for i, b := range s.Histogram {
		style := t.Good
		if b.From < 0 {
			style = t.Warn
		}
		buckets[i] = chart.Bucket{Label: e.Amount(b.From) + " " + t.Right + " " + e.Amount(b.To), Value: b.Orders, Style: style}
	}
	return append(out, chart.Histogram(t, e.Printer, buckets, w, max(h-len(out), 1))...)
}
