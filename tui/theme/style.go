package theme

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
)

// Style paints text by putting one escape sequence before it and one after: a fraction of the cost of laying
// the text out, which is done elsewhere.
type Style struct{ on string }

const off = "\x1b[0m"

// newStyle takes from lipgloss what it knows best: which sequence a terminal understands.
func newStyle(s lipgloss.Style) Style {
	on, _, found := strings.Cut(s.Render("x"), "x")
	if !found {
		return Style{}
	}
	return Style{on}
}

// Render paints text.
func (s Style) Render(text string) string {
	if s.on == "" || text == "" {
		return text
	}
	return s.on + text + off
}

// On is this style on the background of another.
func (s Style) On(back Style) Style { return Style{back.on + s.on} }
