package pager

import (
	"strconv"
	"strings"
	"testing"

	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/theme"
)

func TestScrolling(t *testing.T) {
	var lines layout.Block
	for i := range 100 {
		lines = append(lines, "line "+strconv.Itoa(i))
	}
	var p Pager
	th := theme.Fixed(theme.Plain)
	first := func(key string) string { return strings.Fields(p.View(th, key, lines, 20, 10)[0])[1] }
	if got := first("a"); got != "0" {
		t.Fatal(got)
	}
	p.Move(3)
	p.Move(p.Page())
	if got := first("a"); got != "12" {
		t.Fatal(got)
	}
	p.Bottom()
	p.Move(5)
	if got := first("a"); got != "90" {
		t.Fatal(got)
	}
	lines = lines[:20] // the text shrank
	if got := first("a"); got != "10" {
		t.Fatal(got)
	}
	if got := first("b"); got != "0" {
		t.Fatal("another text does not start at its top", got)
	}
}
