// Package table shows rows under a header. It draws only what is on the screen, remembers the selected row by
// its identity, and cleans every cell.
package table

import (
	"strings"

	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// Column says how one column is laid out.
type Column struct {
	Title string
	Width int // at least
	Grow  int // share of the columns that are left over; 0: stays as it is
	Max   int // at most, if it grows; 0: no limit
	Right bool
	Both  bool // what does not fit is cut in the middle: both ends tell
	Keep  int  // 0: always shown; of the others, the highest goes first where there is no room
	Sort  int  // 1 ascending, -1 descending, 0 not sorted by
}

// Cell is one text, as it comes from data, and its style; or something drawn to the column's width.
type Cell struct {
	Text  string
	Style theme.Style
	Bar   func(w int, back theme.Style) string // on the row's background
}

// Row is what a source shows at one place.
type Row struct {
	Cells []Cell
	Mark  string // one column before the cells, e.g. of a marked row
	Note  *Cell  // takes the place of all cells but the first
}

// Source is where rows come from. Row is called only for rows that are drawn.
type Source interface {
	Len() int
	ID(i int) string
	Row(i int) Row
}

// Table is the state of one table: its columns, the selected row and what is scrolled to.
type Table struct {
	Columns []Column
	Theme   *theme.Theme
	Empty   string // what is said when there is nothing

	id     string // of the selected row
	index  int
	offset int
	height int // rows, when last drawn
	jump   Jump
}

// Jump is where the selection goes when the next rows arrive, instead of following its row.
type Jump int

// The jumps.
const (
	Stay Jump = iota
	First
	Last
)

// Jump sends the selection to an end of the rows that are about to arrive.
func (t *Table) Jump(to Jump) { t.jump = to }

// Selected is the identity of the selected row; "" if there is none.
func (t *Table) Selected() string { return t.id }

// Index is where the selected row is.
func (t *Table) Index() int { return t.index }

// Offset is the first row on the screen.
func (t *Table) Offset() int { return t.offset }

// Height is how many rows were on the screen when it was last drawn.
func (t *Table) Height() int { return max(t.height, 1) }

// Select selects a row by its identity, once the source holds it.
func (t *Table) Select(id string) { t.id = id }

// Sync finds the selected row again after the source changed, and keeps it on the same line of the screen. If
// it is gone, the row that took its place is selected.
func (t *Table) Sync(s Source) {
	n := s.Len()
	line := t.index - t.offset
	found := -1
	switch t.jump {
	case First:
		t.index, t.offset = 0, 0
	case Last:
		t.index = n - 1
	case Stay:
	}
	if t.id != "" && t.jump == Stay {
		for i := range max(n, t.index+1) { // around the old place first: rows rarely move far
			if j := t.index + i; j < n && s.ID(j) == t.id {
				found = j
				break
			}
			if j := t.index - i; j >= 0 && j < n && s.ID(j) == t.id {
				found = j
				break
			}
		}
	}
	if found >= 0 {
		t.index = found
		t.offset = found - line
	}
	t.jump = Stay
	t.settle(s)
}

// Move selects the row that is so many rows further.
func (t *Table) Move(s Source, by int) {
	t.jump = Stay
	t.index += by
	t.settle(s)
}

// To selects a row by its place.
func (t *Table) To(s Source, index int) {
	t.index = index
	t.settle(s)
}

// settle keeps index and offset inside the source and notes the selected identity.
func (t *Table) settle(s Source) {
	n := s.Len()
	t.index = max(0, min(t.index, n-1))
	t.id = ""
	if n > 0 {
		t.id = s.ID(t.index)
	}
	if t.height == 0 { // never drawn: what fits is not known yet
		t.offset = 0
		return
	}
	h := t.height
	margin := min(2, (h-1)/2)
	t.offset = min(t.offset, t.index-margin)
	t.offset = max(t.offset, t.index-h+1+margin)
	t.offset = max(0, min(t.offset, n-h))
}

// View draws the table in w columns and h rows, header included.
func (t *Table) View(s Source, w, h int, focused bool) layout.Block {
	if w <= 0 || h <= 0 {
		return nil
	}
	t.height = max(h-1, 1)
	t.settle(s)
	widths := t.widths(w - 3) // cursor, mark, scroll bar
	out := make(layout.Block, 0, h)
	out = append(out, t.header(widths, w))
	n := s.Len()
	if n == 0 {
		out = append(out, "", "  "+t.Theme.Muted.Render(t.Empty))
		return layout.Fit(out, w, h)
	}
	bar := t.scrollBar(n)
	for line := 0; line < t.height && t.offset+line < n; line++ {
		i := t.offset + line
		out = append(out, t.row(s.Row(i), widths, w, i == t.index, focused)+bar(line))
	}
	return layout.Fit(out, w, h)
}

const gap = 2 // columns between two cells

// widths gives each column its room; 0 means that it is not shown.
func (t *Table) widths(room int) []int {
	widths := make([]int, len(t.Columns))
	shown := make([]bool, len(t.Columns))
	for i := range shown {
		shown[i] = true
	}
	need := func() int {
		sum := 0
		for i, c := range t.Columns {
			if shown[i] {
				sum += c.Width + gap
			}
		}
		return sum - gap
	}
	for need() > room {
		worst := -1
		for i, c := range t.Columns {
			if shown[i] && c.Keep > 0 && (worst < 0 || c.Keep > t.Columns[worst].Keep) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		shown[worst] = false
	}
	left := room - need()
	for i, c := range t.Columns {
		if shown[i] {
			widths[i] = c.Width
		}
	}
	for left > 0 {
		shares := 0
		for i, c := range t.Columns {
			if shown[i] && (c.Max == 0 || widths[i] < c.Max) {
				shares += c.Grow
			}
		}
		if shares == 0 {
			break
		}
		given := 0
		for i, c := range t.Columns {
			if !shown[i] || c.Grow == 0 || c.Max > 0 && widths[i] >= c.Max {
				continue
			}
			more := max(left*c.Grow/shares, 1)
			if c.Max > 0 {
				more = min(more, c.Max-widths[i])
			}
			more = min(more, left-given)
			widths[i] += more
			given += more
		}
		left -= given
	}
	return widths
}

func (t *Table) header(widths []int, w int) string {
	var b strings.Builder
	b.WriteString("  ")
	first := true
	for i, c := range t.Columns {
		if widths[i] == 0 {
			continue
		}
		if !first {
			b.WriteString(strings.Repeat(" ", gap))
		}
		first = false
		title := c.Title
		style := t.Theme.Muted
		if c.Sort != 0 {
			style = t.Theme.Accent
			arrow := t.Theme.Up
			if c.Sort < 0 {
				arrow = t.Theme.Down
			}
			title += arrow
		}
		b.WriteString(style.Render(place(title, widths[i], c.Right)))
	}
	return text.Pad(b.String(), w)
}

func place(s string, w int, right bool) string {
	if right {
		return text.PadLeft(s, w)
	}
	return text.Pad(s, w)
}

func (t *Table) row(r Row, widths []int, w int, selected, focused bool) string {
	var back theme.Style
	cursor := " "
	if selected {
		back = t.Theme.SelectedIdle
		if focused {
			back = t.Theme.Selected
		}
		cursor = t.Theme.Cursor
	}
	mark := r.Mark
	if mark == "" {
		mark = " "
	}
	var b strings.Builder
	b.WriteString(t.Theme.Accent.On(back).Render(cursor))
	b.WriteString(t.Theme.Marked.On(back).Render(mark))
	used := 2
	for i, c := range t.Columns {
		if widths[i] == 0 || i >= len(r.Cells) {
			continue
		}
		if used > 2 {
			b.WriteString(back.Render(strings.Repeat(" ", gap)))
			used += gap
		}
		cell := r.Cells[i]
		if r.Note != nil && i > 0 {
			b.WriteString(r.Note.Style.On(back).Render(text.Pad(text.Clean(text.Clip(r.Note.Text, w)), max(w-1-used, 0))))
			used = w - 1
			break
		}
		if cell.Bar != nil {
			b.WriteString(text.Pad(cell.Bar(widths[i], back), widths[i]))
			used += widths[i]
			continue
		}
		var content string
		if c.Both {
			content = text.Ends(cell.Text, widths[i])
		} else {
			content = text.Clean(text.Clip(cell.Text, widths[i]))
		}
		b.WriteString(cell.Style.On(back).Render(place(content, widths[i], c.Right)))
		used += widths[i]
	}
	if used < w-1 {
		b.WriteString(back.Render(strings.Repeat(" ", w-1-used)))
	}
	line := b.String()
	if used > w-1 {
		line = text.Pad(line, w-1)
	}
	return line
}

// scrollBar draws the last column: where in the loaded rows the screen is.
func (t *Table) scrollBar(n int) func(line int) string {
	if n <= t.height {
		return func(int) string { return " " }
	}
	size := max(1, t.height*t.height/n)
	at := 0
	if n > t.height {
		at = t.offset * (t.height - size) / (n - t.height)
	}
	return func(line int) string {
		if line >= at && line < at+size {
			return t.Theme.Accent.Render(t.Theme.Thumb)
		}
		return t.Theme.Faint.Render(t.Theme.Track)
	}
}
