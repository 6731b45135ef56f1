package layout

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"reprise.dev/reprise/tui/text"
)

func TestBlocksKeepTheirSize(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) string {
		s := text.Clean(rapid.String().Draw(t, "text"))
		if rapid.Bool().Draw(t, "styled") {
			s = "\x1b[31m" + s + "\x1b[0m"
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 40).Draw(t, "w"), rapid.IntRange(1, 6).Draw(t, "h")
		back := Fit(rapid.SliceOfN(line, 0, 8).Draw(t, "back"), w, h)
		fw, fh := rapid.IntRange(1, 50).Draw(t, "fw"), rapid.IntRange(1, 8).Draw(t, "fh")
		front := Fit(rapid.SliceOfN(line, 0, 8).Draw(t, "front"), min(fw, w), fh)
		x := rapid.IntRange(0, w-min(fw, w)).Draw(t, "x")
		for _, b := range []Block{back, Over(back, front, x, rapid.IntRange(-2, 8).Draw(t, "y")), Center(back, front), {Ends(front[0], "→ right", w)}} {
			for _, l := range b {
				if got := ansi.StringWidth(l); got != w {
					t.Fatalf("%q is %d wide, not %d", l, got, w)
				}
			}
		}
	})
}
