// Package input is a line that a person edits. The editing is that of bubbles; the drawing is ours, because
// what is typed or pasted is cleaned like anything else.
package input

import (
	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// Line is the state of one input.
type Line struct{ model textinput.Model }

// New makes an input that holds a value.
func New(value string) Line {
	m := textinput.New()
	m.CharLimit = 2000
	m.Cursor.SetMode(cursor.CursorStatic) // a blinking cursor is work all night long
	m.Prompt = ""
	m.SetValue(value)
	m.CursorEnd()
	m.Focus()
	return Line{m}
}

// Value is what was typed.
func (l *Line) Value() string { return l.model.Value() }

// Set replaces what was typed.
func (l *Line) Set(s string) {
	l.model.SetValue(s)
	l.model.CursorEnd()
}

// Update takes a key and reports whether the value changed. What a key would set going, a look into the clipboard, is left
// to the terminal.
func (l *Line) Update(msg tea.KeyMsg) bool {
	before := l.model.Value()
	l.model, _ = l.model.Update(msg)
	return l.model.Value() != before
}

// View draws the line in w columns, with a caret if it has the keyboard. hint is shown while it is empty.
func (l *Line) View(t *theme.Theme, w int, focused bool, hint string) string {
	if w <= 0 {
		return ""
	}
	runes := []rune(l.model.Value())
	pos := min(l.model.Position(), len(runes))
	if !focused {
		if len(runes) == 0 {
			return t.Muted.On(t.Input).Render(text.Pad(hint, w))
		}
		return t.Input.Render(text.Pad(text.Clean(string(runes)), w))
	}
	at, after := " ", ""
	bar := t.Caret == (theme.Style{}) // before the character, where none can be marked
	if bar {
		at = ""
	}
	if pos < len(runes) {
		at, after = text.Clean(string(runes[pos])), text.Clean(string(runes[pos+1:]))
	} else if len(runes) == 0 {
		after = hint
	}
	if bar {
		at = "|" + at
	}
	before := text.Clean(string(runes[:pos]))
	for text.Width(before)+text.Width(at) > w { // show the part around the caret
		_, rest, ok := cutFirst(before)
		if !ok {
			break
		}
		before = rest
	}
	tail := t.Input
	if len(runes) == 0 {
		tail = t.Muted.On(t.Input)
	}
	line := t.Input.Render(before) + t.Caret.Render(at)
	room := w - text.Width(before) - text.Width(at)
	if room > 0 {
		line += tail.Render(text.Pad(after, room))
	}
	return text.Pad(line, w)
}

func cutFirst(s string) (first, rest string, ok bool) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:], true
		}
	}
	return s, "", s != ""
}
