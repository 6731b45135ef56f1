package modal_test

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/component/modal"
	"reprise.dev/reprise/tui/keys"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

var look = theme.Fixed(theme.Plain)

func shown(b layout.Block) string { return ansi.Strip(layout.Join(b)) }

func TestBox(t *testing.T) {
	for _, c := range []struct {
		w    int
		want string
	}{
		{20, "+- Delete 漢字? ---+\n| one              |\n| 漢字漢字漢字漢字 |\n| a line that is … |\n+------------------+"},
		{13, "+- Delete… -+\n| one       |\n| 漢字漢字… |\n| a line t… |\n+-----------+"},
		{5, "+-  +\n| … |\n| … |\n| … |\n+---+"},
		{4, ""},
	} {
		b := modal.Box(look, "Delete 漢字?", layout.Block{"one", "漢字漢字漢字漢字", "a line that is longer"}, c.w)
		if got := shown(b); got != c.want {
			t.Errorf("in %d columns:\n%s\nwant\n%s", c.w, got, c.want)
		}
	}
}

// TestBoxIsStraight: every line of a box is as wide as it was asked for, whatever it holds.
func TestBoxIsStraight(t *testing.T) {
	styled := theme.Fixed(theme.Dark)
	body := layout.Block{"", "x", "漢字漢字漢", styled.Bad.Render("red, and too long for most boxes"), "e\u0301e\u0301e\u0301"}
	for w := 5; w <= 60; w++ {
		for _, title := range []string{"", "T", "漢", "A title of more columns than a low window has, 漢字"} {
			b := modal.Box(styled, title, body, w)
			if len(b) != len(body)+2 {
				t.Fatalf("%d lines", len(b))
			}
			for _, line := range b {
				if got := text.Width(line); got != w {
					t.Fatalf("a box of %d columns has a line of %d:\n%s", w, got, shown(b))
				}
			}
		}
	}
}

// dialog asks for a name and does something dangerous.
func dialog(did *int) modal.Modal {
	p := text.NewPrinter(text.English, nil)
	return form.New(form.Spec{
		Title: "Remove a thing for good?", Submit: "Remove", Danger: true,
		Body: func(_ form.Values, w int) layout.Block {
			return text.WrapWords("What this does is said here in more words than fit into a low window.", w)
		},
		Fields: []form.Field{{Name: "id", Label: "type r-1"}},
		Do: func(form.Values) (func() (tea.Msg, error), string) {
			*did++
			return func() (tea.Msg, error) { return nil, nil }, ""
		},
	}, look, p, keys.New(p))
}

// TestADialogFitsAndShowsWhatHasTheKeyboard: in every window from 20 by 5 on.
func TestADialogFitsAndShowsWhatHasTheKeyboard(t *testing.T) {
	for w := 20; w <= 100; w += 4 {
		for h := 5; h <= 30; h++ {
			d := dialog(new(int))
			for _, step := range []struct {
				key   tea.KeyMsg
				shows string
			}{
				{tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("r")}, "r|"},
				{tea.KeyMsg{Type: tea.KeyTab}, "[ Remove ]"},
				{tea.KeyMsg{Type: tea.KeyTab}, "[ B"},
				{tea.KeyMsg{Type: tea.KeyTab}, "r|"},
			} {
				if done, _ := d.Update(step.key); done {
					t.Fatal("over")
				}
				b := d.View(w, h)
				at := fmt.Sprintf("%dx%d after %s:\n%s", w, h, step.key, shown(b))
				if len(b) > h {
					t.Fatalf("%d lines in %s", len(b), at)
				}
				for _, line := range b {
					if got := text.Width(line); got != text.Width(b[0]) || got > w {
						t.Fatalf("%d columns in %s", got, at)
					}
				}
				if !strings.Contains(shown(b), step.shows) {
					t.Fatalf("no %q in %s", step.shows, at)
				}
			}
		}
	}
}

// TestADialogsKeys: the keys that it names do what they say, and what is dangerous needs its button.
func TestADialogsKeys(t *testing.T) {
	var did int
	d := dialog(&did)
	names := make([]string, 0, 3)
	for _, k := range d.Keys() {
		names = append(names, k.Help().Key)
	}
	if got := strings.Join(names, " "); got != "enter tab esc" {
		t.Errorf("keys %s", got)
	}
	enter, tab, esc := tea.KeyMsg{Type: tea.KeyEnter}, tea.KeyMsg{Type: tea.KeyTab}, tea.KeyMsg{Type: tea.KeyEsc}
	if done, _ := d.Update(esc); !done || did != 0 {
		t.Errorf("esc: over %v, did it %d times", done, did)
	}
	d = dialog(&did)
	if done, _ := d.Update(enter); done || did != 0 {
		t.Errorf("enter in a field: over %v, did it %d times", done, did)
	}
	if _, _ = d.Update(enter); did != 1 {
		t.Errorf("enter on the button did it %d times", did)
	}
	d = dialog(&did)
	d.Update(tab)
	d.Update(tab)
	if done, _ := d.Update(enter); !done || did != 1 {
		t.Errorf("the button that does nothing: over %v, did it %d times", done, did)
	}
}
