// Package modal is what lies over a screen and takes the keyboard.
package modal

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// Modal is a dialog.
type Modal interface {
	// Update takes a message; done means that the dialog is over.
	Update(msg tea.Msg) (done bool, cmd tea.Cmd)
	// View draws it in at most w columns and h rows; all lines have the same width.
	View(w, h int) layout.Block
	// Keys are the keys that work in it.
	Keys() []key.Binding
}

// Box draws a frame of w columns with a title around lines.
func Box(t *theme.Theme, title string, body layout.Block, w int) layout.Block {
	if w < 5 {
		return nil
	}
	inner := w - 4
	title = text.Truncate(title, inner-2)
	side := t.Faint.Render(t.VRule)
	out := layout.Block{
		t.Faint.Render(t.TopLeft+t.Rule) + " " + t.Title.Render(title) + " " +
			t.Faint.Render(strings.Repeat(t.Rule, max(0, inner-text.Width(title)-1))+t.TopRight),
	}
	for _, line := range body {
		out = append(out, side+" "+text.Pad(line, inner)+" "+side)
	}
	return append(out, t.Faint.Render(t.BottomLeft+strings.Repeat(t.Rule, inner+2)+t.BottomRight))
}
