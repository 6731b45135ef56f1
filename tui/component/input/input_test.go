package input

import (
	"strings"
	"testing"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

var keyTypes = map[string]tea.KeyType{
	"left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
	"ctrl+u": tea.KeyCtrlU, "ctrl+w": tea.KeyCtrlW, "ctrl+v": tea.KeyCtrlV,
}

// press sends keys by name and anything else as typed; it reports whether the last one changed the value.
func press(l *Line, names ...string) (changed bool) {
	for _, name := range names {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
		if kt, ok := keyTypes[name]; ok {
			msg = tea.KeyMsg{Type: kt}
		}
		changed = l.Update(msg)
	}
	return changed
}

func paste(l *Line, s string) bool {
	return l.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Paste: true})
}

// plain is what a terminal without attributes shows, the caret as a bar.
func plain(l *Line, w int) string {
	return strings.TrimRight(l.View(theme.Fixed(theme.Plain), w, true, ""), " ")
}

// TestEditing walks the caret through a line, and against both of its ends.
func TestEditing(t *testing.T) {
	l := New("P-1")
	for _, step := range []struct {
		key     string
		changed bool
		shows   string
	}{
		{"0", true, "P-10|"},
		{"right", false, "P-10|"},
		{"delete", false, "P-10|"},
		{"left", false, "P-1|0"},
		{"4", true, "P-14|0"},
		{"home", false, "|P-140"},
		{"left", false, "|P-140"},
		{"backspace", false, "|P-140"},
		{"delete", true, "|-140"},
		{" ", true, " |-140"},
		{"left", false, "| -140"},
		{"end", false, " -140|"},
		{"backspace", true, " -14|"},
		{"漢", true, " -14漢|"},
		{"left", false, " -14|漢"},
		{"ctrl+u", true, "|漢"},
		{"ctrl+v", false, "|漢"}, // the terminal pastes, we never look into the clipboard
		{"delete", true, "|"},
		{"backspace", false, "|"},
	} {
		if changed := press(&l, step.key); changed != step.changed {
			t.Errorf("after %s: changed %v", step.key, changed)
		}
		if got := plain(&l, 20); got != step.shows {
			t.Errorf("after %s: %q, want %q", step.key, got, step.shows)
		}
	}
	l.Set("a b")
	if press(&l, "!"); l.Value() != "a b!" {
		t.Errorf("typed behind what was set: %q", l.Value())
	}
}

// TestPasting: a line stays one line, shows nothing that drives a terminal, and has an end.
func TestPasting(t *testing.T) {
	l := New("")
	if !paste(&l, "P-1\n\tP-2\r") {
		t.Error("no change")
	}
	if got := l.Value(); strings.ContainsAny(got, "\n\r\t") || !strings.HasPrefix(got, "P-1 ") || !strings.Contains(got, "P-2") {
		t.Errorf("a pasted line break: %q", got)
	}
	l.Set("")
	paste(&l, "a\u202eb\u200bc")
	if got := plain(&l, 40); got != `a\u202eb\u200bc|` {
		t.Errorf("hidden characters: %q", got)
	}
	l.Set("")
	paste(&l, strings.Repeat("é", 3000))
	if n := len([]rune(l.Value())); n != 2000 {
		t.Errorf("%d characters", n)
	}
	if paste(&l, "x") || press(&l, "x") {
		t.Error("a full line took more")
	}
}

// TestALongValueIsShownAroundTheCaret: from its start where nobody types, around the caret where somebody does.
func TestALongValueIsShownAroundTheCaret(t *testing.T) {
	l := New("simular-2026-10-14")
	mono := theme.Fixed(theme.Plain)
	if got := l.View(mono, 8, false, ""); got != "simular…" {
		t.Errorf("without the keyboard %q", got)
	}
	if got := plain(&l, 8); got != "6-10-14|" {
		t.Errorf("at the end %q", got)
	}
	press(&l, "home")
	if got := plain(&l, 8); got != "|simula…" {
		t.Errorf("at the start %q", got)
	}
}

// TestHint: an empty line says what belongs there, until something is typed.
func TestHint(t *testing.T) {
	l, mono := New(""), theme.Fixed(theme.Plain)
	if got := l.View(mono, 12, false, "first:last"); got != "first:last  " {
		t.Errorf("without the keyboard %q", got)
	}
	if got := l.View(mono, 12, true, "first:last"); got != "|first:last " {
		t.Errorf("with the keyboard %q", got)
	}
	press(&l, "1")
	if got := l.View(mono, 12, true, "first:last"); got != "1|          " {
		t.Errorf("with a value %q", got)
	}
}

// TestAnyLineFitsAndShowsItsCaret: whatever is typed and wherever the caret is, the line takes its columns, no more and
// no fewer, and the caret is among them.
func TestAnyLineFitsAndShowsItsCaret(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", " ", "ç", "漢", "👍", "e\u0301", "\u0301", "\u200b", "\u202e", `\`, "ﷺ"})
	moves := rapid.SampledFrom([]string{"left", "left", "right", "home", "end", "backspace", "delete", "ctrl+w", "x"})
	rapid.Check(t, func(t *rapid.T) {
		l := New(strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "value"), ""))
		for _, key := range rapid.SliceOfN(moves, 0, 30).Draw(t, "keys") {
			press(&l, key)
		}
		w := rapid.IntRange(-1, 40).Draw(t, "width")
		for _, mode := range []theme.Mode{theme.Plain, theme.Dark} {
			look := theme.Fixed(mode)
			for _, focused := range []bool{true, false} {
				view := l.View(look, w, focused, "a hint")
				bare := ansi.Strip(view)
				if got := text.Width(bare); got != max(w, 0) {
					t.Fatalf("%q is %d columns wide, not %d", bare, got, w)
				}
				if i := strings.IndexFunc(bare, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.Is(unicode.M, r) }); i >= 0 {
					t.Fatalf("%q holds %q", bare, bare[i:])
				}
				if !focused || w < 8 { // an escape under the caret takes six columns
					continue
				}
				if mode == theme.Plain && !strings.Contains(bare, "|") || mode == theme.Dark && !strings.Contains(view, look.Caret.Render("x")[:len(look.Caret.Render("x"))-len("x\x1b[0m")]) {
					t.Fatalf("no caret in %q", view)
				}
			}
		}
	})
}
