// Package layout puts blocks of lines beside, below and over one another. Every function keeps the width and
// height that it is given, whatever the lines hold.
package layout

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/tui/text"
)

// Block is a list of lines, styled or not.
type Block []string

// Fit cuts or fills a block to exactly w columns and h rows.
func Fit(b Block, w, h int) Block {
	out := make(Block, max(h, 0))
	for i := range out {
		if i < len(b) {
			out[i] = text.Pad(b[i], w)
		} else {
			out[i] = strings.Repeat(" ", max(w, 0))
		}
	}
	return out
}

// Beside joins blocks of the same height, left to right.
func Beside(gap string, blocks ...Block) Block {
	if len(blocks) == 0 {
		return nil
	}
	out := make(Block, len(blocks[0]))
	for i := range out {
		parts := make([]string, 0, len(blocks))
		for _, b := range blocks {
			if i < len(b) {
				parts = append(parts, b[i])
			}
		}
		out[i] = strings.Join(parts, gap)
	}
	return out
}

// Over lays a block on another with its upper left corner at column x and row y. Both have lines of full width.
func Over(back, front Block, x, y int) Block {
	out := append(Block(nil), back...)
	for i, line := range front {
		row := y + i
		if row < 0 || row >= len(out) {
			continue
		}
		w := ansi.StringWidth(line)
		total := ansi.StringWidth(out[row])
		left := text.Pad(ansi.Truncate(out[row], x, ""), x)
		right := ""
		if x+w < total {
			right = text.PadLeft(ansi.TruncateLeft(out[row], x+w, ""), total-x-w)
		}
		// A mark at a cut may join the cell before it: the line is then filled up again.
		out[row] = text.Pad(ansi.Truncate(left+line+right, total, ""), total)
	}
	return out
}

// Center lays a block in the middle of another.
func Center(back, front Block) Block {
	if len(back) == 0 || len(front) == 0 {
		return back
	}
	x := max(0, (ansi.StringWidth(back[0])-ansi.StringWidth(front[0]))/2)
	return Over(back, front, x, max(0, (len(back)-len(front))/2))
}

// Join makes one string of a block.
func Join(b Block) string { return strings.Join(b, "\n") }

// Ends puts one text at the left end and one at the right end of a line of w columns; the left one gives way.
func Ends(left, right string, w int) string {
	rw := text.Width(right)
	if rw >= w {
		return text.Pad(right, w)
	}
	return text.Pad(left, w-rw) + right
}
