package heatmap

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/tui/theme"
)

func TestEveryThingHasItsCell(t *testing.T) {
	for n := range 300 {
		for _, size := range [][2]int{{78, 3}, {20, 2}, {1, 1}, {200, 10}, {7, 40}} {
			m := Map{States: make([]State, n), Cursor: -1}
			g := m.Lay(size[0], size[1])
			block := m.View(theme.Fixed(theme.Plain), size[0], size[1])
			if len(block) > size[1] {
				t.Fatalf("%d in %v: %d rows", n, size, len(block))
			}
			cells := 0
			for _, line := range block {
				if ansi.StringWidth(line) > size[0] {
					t.Fatalf("%d in %v: %q", n, size, line)
				}
				cells += strings.Count(line, "#")
			}
			if n > 0 && (cells*g.PerCell < n || (cells-1)*g.PerCell >= n) {
				t.Fatalf("%d in %v: %d cells of %d", n, size, cells, g.PerCell)
			}
		}
	}
}

func TestACellShowsTheWorst(t *testing.T) {
	for _, c := range []struct {
		states []State
		want   State
	}{
		{[]State{Done, Done}, Done}, {[]State{Done, Waiting}, Part}, {[]State{Waiting, Waiting}, Waiting},
		{[]State{Done, Active, Waiting}, Active}, {[]State{Done, Error, Active}, Error},
	} {
		if got := (Map{States: c.states}).Cell(0, len(c.states)); got != c.want {
			t.Errorf("%v: %v, want %v", c.states, got, c.want)
		}
	}
}

func TestSymbolsDiffer(t *testing.T) {
	for _, mode := range []theme.Mode{theme.Dark, theme.Plain} {
		seen := map[string]State{}
		for s := Done; s <= Error; s++ {
			symbol, _ := Look(theme.Fixed(mode), s)
			if other, ok := seen[symbol]; ok {
				t.Errorf("%s: %v and %v look alike", mode, other, s)
			}
			seen[symbol] = s
		}
	}
}

func TestCursorStaysOnTheMap(t *testing.T) {
	m := Map{States: make([]State, 1000)}
	g := m.Lay(40, 3)
	for range 2000 {
		m.Cursor = m.Move(g, 1, 0)
	}
	if m.Cursor < 1000-g.PerCell || m.Cursor > 999 {
		t.Fatal(m.Cursor)
	}
	for range 2000 {
		m.Cursor = m.Move(g, 0, -1)
	}
	if m.Cursor >= g.Columns*g.PerCell {
		t.Fatal(m.Cursor)
	}
	if (Map{}).Move(Grid{PerCell: 1}, 1, 1) != 0 {
		t.Fatal("moved on nothing")
	}
}
