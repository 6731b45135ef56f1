package form

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/tui/keys"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

type ran struct{ values Values }

func build(spec Spec, outcome error) *Form {
	p := text.NewPrinter(text.English, nil)
	if spec.Do == nil {
		spec.Do = func(v Values) (func() (tea.Msg, error), string) {
			return func() (tea.Msg, error) { return ran{v}, outcome }, ""
		}
	}
	spec.Title, spec.Submit = "Title", "Go"
	return New(spec, theme.Fixed(theme.Dark), p, keys.New(p))
}

// press sends keys and whatever they set going; it returns what came out in the end.
func press(f *Form, names ...string) (done bool, out tea.Msg) {
	for _, name := range names {
		msg := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
		switch name {
		case "enter":
			msg = tea.KeyMsg{Type: tea.KeyEnter}
		case "tab":
			msg = tea.KeyMsg{Type: tea.KeyTab}
		case "esc":
			msg = tea.KeyMsg{Type: tea.KeyEsc}
		case "right":
			msg = tea.KeyMsg{Type: tea.KeyRight}
		}
		var cmd tea.Cmd
		done, cmd = f.Update(msg)
		for cmd != nil {
			out = cmd()
			cmd = nil
			if _, ours := out.(Done); ours {
				done, cmd = f.Update(out)
			}
		}
	}
	return done, out
}

func view(f *Form) string { return ansi.Strip(strings.Join(f.View(80, 24), "\n")) }

func TestFieldsAreCheckedBeforeAnythingIsDone(t *testing.T) {
	match := func(s string) string {
		if s != "r-1" {
			return "that is not r-1"
		}
		return ""
	}
	f := build(Spec{Fields: []Field{{Name: "id", Label: "id", Check: match}, {Name: "mode", Label: "mode", Options: []Option{{"a", "A"}, {"b", "B"}}}}}, nil)
	done, out := press(f, "x", "enter", "right", "enter", "enter")
	if done || out != nil || !strings.Contains(view(f), "that is not r-1") {
		t.Fatalf("%v %v\n%s", done, out, view(f))
	}
	f = build(Spec{Fields: f.spec.Fields}, nil)
	done, out = press(f, "r-1", "enter", "right", "enter", "enter")
	if got, ok := out.(ran); !done || !ok || got.values["id"] != "r-1" || got.values["mode"] != "b" {
		t.Fatalf("%v %#v", done, out)
	}
}

// TestAMistakeIsToldWhereItWasMade: enter does not leave a field with it behind; what is typed next mends it.
func TestAMistakeIsToldWhereItWasMade(t *testing.T) {
	match := func(s string) string {
		if s != "r-12" {
			return "that is not r-12"
		}
		return ""
	}
	f := build(Spec{Danger: true, Fields: []Field{{Name: "id", Label: "id", Check: match}}}, nil)
	if done, out := press(f, "r-1", "enter"); done || out != nil || !strings.Contains(view(f), "that is not r-12") {
		t.Fatalf("%v %v\n%s", done, out, view(f))
	}
	done, out := press(f, "2", "enter", "enter")
	if got, ok := out.(ran); !done || !ok || got.values["id"] != "r-12" {
		t.Fatalf("%v %#v\n%s", done, out, view(f))
	}
}

func TestAnErrorKeepsTheFormWithWhatWasTyped(t *testing.T) {
	f := build(Spec{Fields: []Field{{Name: "note", Label: "note"}}}, errors.New("away\x1b[2J"))
	done, _ := press(f, "because", "enter", "enter")
	if done || f.Busy() || f.Values()["note"] != "because" || !strings.Contains(view(f), `away\x1b[2J`) {
		t.Fatalf("%v\n%s", done, view(f))
	}
}

func TestDangerNeedsMoreThanEnter(t *testing.T) {
	f := build(Spec{Danger: true}, nil)
	if done, out := press(f, "enter"); !done || out != nil {
		t.Fatal("enter alone did it", out)
	}
	f = build(Spec{Danger: true}, nil)
	if _, out := press(f, "y"); out == nil {
		t.Fatal("y did not do it")
	}
	f = build(Spec{}, nil)
	if done, out := press(f, "n"); !done || out != nil {
		t.Fatal("n did it", out)
	}
}

func TestWhileItWorksKeysDoNothing(t *testing.T) {
	calls := 0
	f := build(Spec{Do: func(Values) (func() (tea.Msg, error), string) {
		calls++
		return func() (tea.Msg, error) { return nil, nil }, ""
	}}, nil)
	_, pending := f.Update(tea.KeyMsg{Type: tea.KeyEnter})
	f.Update(tea.KeyMsg{Type: tea.KeyEnter})
	f.Update(tea.KeyMsg{Type: tea.KeyEnter})
	if calls != 1 || !f.Busy() {
		t.Fatalf("%d calls", calls)
	}
	if done, _ := f.Update(pending()); !done {
		t.Fatal("not done")
	}
}

func TestAnotherFormsOutcomeIsNotTaken(t *testing.T) {
	a, b := build(Spec{}, nil), build(Spec{}, nil)
	_, pending := a.Update(tea.KeyMsg{Type: tea.KeyEnter})
	msg := pending().(Done)
	if b.Owns(msg) || !a.Owns(msg) {
		t.Fatal("wrong owner")
	}
	if done, _ := b.Update(msg); done {
		t.Fatal("ended by another's outcome")
	}
}

func TestItFitsAndFieldsAreNeverCutOff(t *testing.T) {
	f := build(Spec{
		Body: func(_ Values, w int) layout.Block {
			return layout.Block(strings.Split(strings.Repeat("line\n", 60), "\n"))
		},
		Fields: []Field{{Name: "id", Label: "the identifier", Hint: "hint"}},
	}, nil)
	for w := 30; w < 120; w += 7 {
		for h := 9; h < 60; h += 5 {
			block := f.View(w, h)
			if len(block) > h {
				t.Fatalf("%dx%d: %d lines", w, h, len(block))
			}
			for _, line := range block {
				if got := ansi.StringWidth(line); got != min(w, 96) {
					t.Fatalf("%dx%d: a line of %d", w, h, got)
				}
			}
			if all := ansi.Strip(strings.Join(block, "\n")); !strings.Contains(all, "Back") || !strings.Contains(all, "the") {
				t.Fatalf("%dx%d: fields are cut off\n%s", w, h, all)
			}
		}
	}
}

func TestALowWindowShowsWhatHasTheKeyboard(t *testing.T) {
	spec := Spec{Title: "many", Submit: "Go"}
	for i := range 12 {
		spec.Fields = append(spec.Fields, Field{Name: fmt.Sprint("f", i), Label: fmt.Sprintf("field-%02d", i)})
	}
	f := build(spec, nil)
	see := func(what string) {
		t.Helper()
		if view := layout.Join(f.View(60, 9)); !strings.Contains(view, what) {
			t.Fatalf("%q is out of sight:\n%s", what, view)
		}
	}
	for i := range 12 {
		see(fmt.Sprintf("field-%02d", i))
		f.Update(tea.KeyMsg{Type: tea.KeyEnter})
	}
	see("[ Go ]")
}
