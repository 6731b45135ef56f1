package table

import (
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/tui/theme"
)

// numbers are rows 0, 1, 2…; asked counts the rows that were drawn.
type numbers struct {
	ids   []string
	asked int
}

func upTo(n int) *numbers {
	s := &numbers{}
	for i := range n {
		s.ids = append(s.ids, strconv.Itoa(i))
	}
	return s
}

func (s *numbers) Len() int        { return len(s.ids) }
func (s *numbers) ID(i int) string { return s.ids[i] }
func (s *numbers) Row(i int) Row {
	s.asked++
	return Row{Cells: []Cell{{Text: s.ids[i]}, {Text: "x\x1b[2J"}, {Text: strings.Repeat("界", 40)}}}
}

func newTable() *Table {
	return &Table{Theme: theme.Fixed(theme.Dark), Empty: "nothing", Columns: []Column{
		{Title: "N", Width: 6, Right: true}, {Title: "TEXT", Width: 9, Keep: 1}, {Title: "WIDE", Width: 10, Grow: 1, Max: 30, Keep: 2},
	}}
}

func TestOnlyWhatIsSeenIsDrawn(t *testing.T) {
	s := upTo(100_000)
	table := newTable()
	table.View(s, 60, 20, true)
	table.To(s, 50_000)
	s.asked = 0
	table.View(s, 60, 20, true)
	if s.asked != 19 {
		t.Fatalf("drew %d rows for 19 lines", s.asked)
	}
}

func TestLinesHaveTheWidth(t *testing.T) {
	s := upTo(30)
	table := newTable()
	for w := 1; w < 120; w++ {
		for h := 1; h < 8; h++ {
			block := table.View(s, w, h, w%2 == 0)
			if len(block) != h {
				t.Fatalf("%dx%d: %d lines", w, h, len(block))
			}
			for _, line := range block {
				if got := ansi.StringWidth(line); got != w {
					t.Fatalf("%dx%d: a line of %d: %q", w, h, got, line)
				}
			}
		}
	}
}

func TestColumnsGoByImportance(t *testing.T) {
	table := newTable()
	for room, want := range map[int][]int{60: {6, 9, 30}, 29: {6, 9, 10}, 20: {6, 9, 0}, 10: {6, 0, 0}} {
		if got := table.widths(room); got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Errorf("room for %d: %v, want %v", room, got, want)
		}
	}
}

func TestSelectionByIdentity(t *testing.T) {
	s := upTo(50)
	table := newTable()
	table.View(s, 60, 12, true)
	table.To(s, 20)
	line := table.Index() - table.Offset()
	s.ids = append([]string{"new", "newer"}, s.ids...)
	table.Sync(s)
	if table.Selected() != "20" || table.Index() != 22 || table.Index()-table.Offset() != line {
		t.Fatalf("selected %s at %d, line %d", table.Selected(), table.Index(), table.Index()-table.Offset())
	}
	s.ids = append(s.ids[:22:22], s.ids[23:]...) // the row goes: the next one takes its place
	table.Sync(s)
	if table.Selected() != "21" {
		t.Fatalf("selected %s", table.Selected())
	}
	s.ids = s.ids[:3]
	table.Sync(s)
	if table.Selected() != "0" || table.Index() != 2 {
		t.Fatalf("selected %s at %d", table.Selected(), table.Index())
	}
	s.ids = nil
	table.Sync(s)
	if table.Selected() != "" {
		t.Fatal("selected what is not there")
	}
	table.Move(s, 5)
	if !strings.Contains(strings.Join(table.View(s, 30, 5, true), "\n"), "nothing") {
		t.Fatal("does not say that there is nothing")
	}
}

func TestJumps(t *testing.T) {
	s := upTo(50)
	table := newTable()
	table.View(s, 60, 12, true)
	table.To(s, 10)
	table.Jump(Last)
	table.Sync(s)
	if table.Selected() != "49" {
		t.Fatalf("selected %s", table.Selected())
	}
	table.Jump(First)
	table.Sync(s)
	if table.Selected() != "0" || table.Offset() != 0 {
		t.Fatalf("selected %s", table.Selected())
	}
}

func TestTheSelectedRowIsMarkedWithoutColour(t *testing.T) {
	s := upTo(3)
	table := newTable()
	table.Theme = theme.Fixed(theme.Plain)
	table.View(s, 40, 5, true)
	table.To(s, 1)
	if block := table.View(s, 40, 5, true); !strings.HasPrefix(block[2], ">") || strings.Contains(strings.Join(block, ""), "\x1b") {
		t.Fatalf("%q", block)
	}
}
