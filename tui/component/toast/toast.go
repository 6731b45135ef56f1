// Package toast shows short messages that go away by themselves.
package toast

import (
	"slices"
	"time"

	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// Kind is how a message is meant.
type Kind int

// The kinds.
const (
	Info Kind = iota
	Good
	Warn
	Bad
)

// Message is one toast. Its text is clean.
type Message struct {
	Kind Kind
	Text string
}

type entry struct {
	Message
	until time.Time
}

// Stack holds the messages that are shown now.
type Stack struct{ entries []entry }

// Add shows a message; bad news stays longer. What was said for the meantime, an Info, gives way to what comes next.
func (s *Stack) Add(m Message, now time.Time) {
	const most = 3
	life := 5 * time.Second
	if m.Kind == Bad || m.Kind == Warn {
		life = 12 * time.Second
	}
	s.entries = slices.DeleteFunc(s.entries, func(e entry) bool { return e.Kind == Info })
	s.entries = append(s.entries, entry{m, now.Add(life)})
	if len(s.entries) > most {
		s.entries = s.entries[len(s.entries)-most:]
	}
}

// Expire drops what is over and reports whether anything was.
func (s *Stack) Expire(now time.Time) bool {
	kept := s.entries[:0]
	for _, e := range s.entries {
		if now.Before(e.until) {
			kept = append(kept, e)
		}
	}
	changed := len(kept) != len(s.entries)
	s.entries = kept
	return changed
}

// Clear drops all messages.
func (s *Stack) Clear() { s.entries = nil }

// Empty reports whether there is nothing to show.
func (s *Stack) Empty() bool { return len(s.entries) == 0 }

// Over lays the messages on the lower right corner of a block.
func (s *Stack) Over(t *theme.Theme, back layout.Block, w int) layout.Block {
	if len(back) == 0 {
		return back
	}
	row := len(back)
	for i := len(s.entries) - 1; i >= 0; i-- {
		e := s.entries[i]
		symbol, style := look(t, e.Kind)
		lines := text.WrapWords(e.Text, max(8, min(w-8, 76)))
		for j := len(lines) - 1; j >= 0; j-- {
			row--
			if row < 0 {
				return back
			}
			lead := symbol
			if j > 0 {
				lead = " "
			}
			line := t.HeaderMuted.Render(" ") + style.On(t.Header).Render(lead) + t.Header.Render(" "+lines[j]+" ")
			if text.Width(line) > w {
				line = text.Truncate(line, w)
			}
			back = layout.Over(back, layout.Block{line}, w-text.Width(line), row)
		}
	}
	return back
}

func look(t *theme.Theme, k Kind) (symbol string, style theme.Style) {
	switch k {
	case Good:
		return t.Done, t.Good
	case Warn:
		return t.Warning, t.Warn
	case Bad:
		return t.Failed, t.Bad
	case Info:
	}
	return t.Bullet, t.Info
}
