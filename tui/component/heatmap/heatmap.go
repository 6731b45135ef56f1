// Package heatmap draws many small things, such as the partitions of a run, as a map of cells.
package heatmap

import (
	"strings"

	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/theme"
)

// State is what one thing is doing. The order is that of importance: a cell that stands for several shows the
// most important that any of them is in.
type State int

// The states.
const (
	Done State = iota
	Waiting
	Part // several, of which some are done
	Active
	Error
)

// Map is a list of things in their order.
type Map struct {
	States []State
	Cursor int // index of the thing pointed at; -1: none
}

// Grid says how a map is cut into cells.
type Grid struct {
	PerCell int // things in one cell
	Columns int
	Rows    int
	spread  bool // a blank between cells
}

// Lay finds the largest cells that fit w columns and h rows: with a blank between them if there is room, and
// several things in a cell if there is not even room for one each.
func (m Map) Lay(w, h int) Grid {
	n := len(m.States)
	if n == 0 || w <= 0 || h <= 0 {
		return Grid{PerCell: 1}
	}
	if cols := (w + 1) / 2; cols*h >= n {
		cols = min(cols, n)
		return Grid{PerCell: 1, Columns: cols, Rows: (n + cols - 1) / cols, spread: true}
	}
	per := (n + w*h - 1) / (w * h)
	cells := (n + per - 1) / per
	cols := min(w, cells)
	return Grid{PerCell: per, Columns: cols, Rows: (cells + cols - 1) / cols}
}

// Cell is the state that stands for things [from, to).
func (m Map) Cell(from, to int) State {
	states := m.States[from:min(to, len(m.States))]
	worst, done := Done, 0
	for _, s := range states {
		worst = max(worst, s)
		if s == Done {
			done++
		}
	}
	if worst == Waiting && done > 0 {
		return Part
	}
	return worst
}

// View draws the map.
func (m Map) View(t *theme.Theme, w, h int) layout.Block {
	g := m.Lay(w, h)
	var out layout.Block
	for row := range g.Rows {
		var b strings.Builder
		for col := range g.Columns {
			from := (row*g.Columns + col) * g.PerCell
			if from >= len(m.States) {
				break
			}
			if col > 0 && g.spread {
				b.WriteByte(' ')
			}
			symbol, style := Look(t, m.Cell(from, from+g.PerCell))
			if m.Cursor >= from && m.Cursor < from+g.PerCell {
				style = style.On(t.Selected)
				if t.Selected == (theme.Style{}) { // no attributes at all
					symbol = "@"
				}
			}
			b.WriteString(style.Render(symbol))
		}
		out = append(out, b.String())
	}
	return out
}

// Move is where the cursor goes from its cell by so many columns and rows.
func (m Map) Move(g Grid, dx, dy int) int {
	n := len(m.States)
	if n == 0 {
		return 0
	}
	at := m.Cursor/max(g.PerCell, 1) + dx + dy*g.Columns
	cells := (n + g.PerCell - 1) / g.PerCell
	if at < 0 || at >= cells {
		return m.Cursor
	}
	return min(at*g.PerCell, n-1)
}

// Look is the symbol and the style of a state.
func Look(t *theme.Theme, s State) (symbol string, style theme.Style) {
	switch s {
	case Done:
		return t.CellDone, t.Good
	case Active:
		return t.CellActive, t.Accent
	case Error:
		return t.CellError, t.Bad
	case Part:
		return t.CellPart, t.Muted
	case Waiting:
	}
	return t.CellWaiting, t.Muted
}
