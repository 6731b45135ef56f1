// Package pager scrolls through lines that were laid out elsewhere.
package pager

import (
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/theme"
)

// Pager remembers how far a text was read.
type Pager struct {
	key    string
	offset int
	lines  int
	height int
}

// Move scrolls by lines.
func (p *Pager) Move(by int) {
	p.offset = max(0, min(p.offset+by, p.lines-p.height))
}

// Page is how far a page key scrolls.
func (p *Pager) Page() int { return max(p.height-1, 1) }

// Top and Bottom scroll to the ends.
func (p *Pager) Top() { p.offset = 0 }

// Bottom scrolls to the end.
func (p *Pager) Bottom() { p.Move(p.lines) }

// View shows lines in w columns and h rows. key names the text: another one starts at its top.
func (p *Pager) View(t *theme.Theme, key string, lines layout.Block, w, h int) layout.Block {
	if w <= 2 || h <= 0 {
		return nil
	}
	if key != p.key {
		p.key, p.offset = key, 0
	}
	p.lines, p.height = len(lines), h
	p.Move(0)
	shown := layout.Fit(lines[min(p.offset, len(lines)):], w-1, h)
	size := max(1, h*h/max(p.lines, 1))
	at := 0
	if p.lines > h {
		at = p.offset * (h - size) / (p.lines - h)
	}
	for i := range shown {
		bar := " "
		if p.lines > h {
			bar = t.Faint.Render(t.Track)
			if i >= at && i < at+size {
				bar = t.Accent.Render(t.Thumb)
			}
		}
		shown[i] += bar
	}
	return shown
}
