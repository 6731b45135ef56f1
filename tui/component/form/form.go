// Package form is a dialog: it says what will happen, asks for what is needed, and does nothing until it is
// told to. A confirmation is a form without fields; a typed confirmation is one with a field that must match.
package form

import (
	"strings"
	"sync/atomic"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/component/input"
	"reprise.dev/reprise/tui/component/modal"
	"reprise.dev/reprise/tui/keys"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// Field asks for one thing. With Options it is a choice, otherwise a line of text.
type Field struct {
	Name    string // in Values
	Label   string
	Hint    string // shown while it is empty
	Value   string
	Options []Option
	// Check returns what is wrong with a value, or "".
	Check func(string) string
}

// Option is one of several values to choose from.
type Option struct{ Value, Label string }

// Values is what was entered, by name of the field.
type Values map[string]string

// Spec describes a form.
type Spec struct {
	Title  string
	Body   func(v Values, w int) layout.Block // drawn above the fields; follows what is typed
	Fields []Field
	Submit string // label of the button
	Stay   bool   // stays open when it was carried out: another dialog follows on top of it
	Danger bool   // the button that does nothing is the one that enter presses at first
	// Do carries it out. Its message is a [Done] for this form; an error keeps the form open.
	Do func(v Values) (run func() (then tea.Msg, err error), problem string)
}

// Done ends the carrying out of a form.
type Done struct {
	form int64
	Err  error
	Then tea.Msg
}

type field struct {
	Field
	line   input.Line
	choice int
}

// Form is the state of the dialog.
type Form struct {
	spec    Spec
	theme   *theme.Theme
	printer *text.Printer
	keys    *keys.Map
	fields  []field
	focus   int // fields, then submit, then cancel
	id      int64
	busy    bool
	problem string
	scroll  int
}

var forms atomic.Int64

// New makes a form.
func New(spec Spec, t *theme.Theme, p *text.Printer, k *keys.Map) *Form {
	f := &Form{spec: spec, theme: t, printer: p, keys: k, id: forms.Add(1)}
	for _, def := range spec.Fields {
		fl := field{Field: def, line: input.New(def.Value)}
		for i, o := range def.Options {
			if o.Value == def.Value {
				fl.choice = i
			}
		}
		f.fields = append(f.fields, fl)
	}
	if spec.Danger && len(spec.Fields) == 0 {
		f.focus = f.cancel()
	}
	return f
}

func (f *Form) submit() int { return len(f.fields) }
func (f *Form) cancel() int { return len(f.fields) + 1 }

// Values is what is entered now.
func (f *Form) Values() Values {
	v := Values{}
	for i := range f.fields {
		fl := &f.fields[i]
		if len(fl.Options) > 0 {
			v[fl.Name] = fl.Options[fl.choice].Value
		} else {
			v[fl.Name] = strings.TrimSpace(fl.line.Value())
		}
	}
	return v
}

// Busy reports whether the form is being carried out.
func (f *Form) Busy() bool { return f.busy }

// Update takes a message; done means that the form is over.
func (f *Form) Update(msg tea.Msg) (done bool, cmd tea.Cmd) {
	switch msg := msg.(type) {
	case Done:
		if msg.form != f.id {
			return false, nil
		}
		f.busy = false
		if msg.Err != nil {
			f.problem = text.CleanLine(f.printer.Remark(msg.Err.Error()))
			return false, nil
		}
		if msg.Then == nil {
			return !f.spec.Stay, nil
		}
		then := msg.Then
		return !f.spec.Stay, func() tea.Msg { return then }
	case tea.KeyMsg:
		return f.key(msg)
	}
	return false, nil
}

func (f *Form) key(msg tea.KeyMsg) (done bool, cmd tea.Cmd) {
	k := f.keys
	if key.Matches(msg, k.Dismiss) {
		return true, nil // what is being carried out goes on; its outcome is told by others
	}
	if f.busy {
		return false, nil
	}
	onButton := f.focus >= f.submit()
	switch {
	case key.Matches(msg, k.Finish) && f.long():
		f.focus = f.submit()
		return f.carryOut()
	case key.Matches(msg, k.Next):
		f.move(1)
	case key.Matches(msg, k.Previous):
		f.move(-1)
	case key.Matches(msg, k.PageUp):
		f.scroll = max(0, f.scroll-5)
	case key.Matches(msg, k.PageDown):
		f.scroll += 5
	case msg.Type == tea.KeyEnter:
		switch {
		case f.focus == f.cancel():
			return true, nil
		case f.focus == f.submit():
			return f.carryOut()
		case !f.wrong(f.focus, f.Values()): // who made a mistake is told while the field has the keyboard
			f.move(1)
		}
	case onButton && (msg.Type == tea.KeyLeft || msg.Type == tea.KeyRight):
		f.focus = f.submit() + f.cancel() - f.focus
	case onButton && len(f.fields) == 0 && key.Matches(msg, k.Yes):
		return f.carryOut()
	case onButton && len(f.fields) == 0 && key.Matches(msg, k.No):
		return true, nil
	case onButton:
	case len(f.fields[f.focus].Options) > 0:
		f.choose(msg)
	default:
		if f.fields[f.focus].line.Update(msg) {
			f.problem = ""
		}
	}
	return false, nil
}

// long reports whether a form has so many fields that walking through all of them is a nuisance. Nothing dangerous is
// that long, so that a decision is never made from the middle of its form.
func (f *Form) long() bool { return len(f.fields) > 3 && !f.spec.Danger }

func (f *Form) move(by int) {
	n := f.cancel() + 1
	f.focus = (f.focus + by + n) % n
}

func (f *Form) choose(msg tea.KeyMsg) {
	fl := &f.fields[f.focus]
	switch {
	case msg.Type == tea.KeyLeft:
		fl.choice = (fl.choice + len(fl.Options) - 1) % len(fl.Options)
	case key.Matches(msg, f.keys.Choose):
		fl.choice = (fl.choice + 1) % len(fl.Options)
	}
	f.problem = ""
}

// carryOut checks everything and starts the work, if all is well.
func (f *Form) carryOut() (done bool, cmd tea.Cmd) {
	v := f.Values()
	for i := range f.fields {
		if f.wrong(i, v) {
			return false, nil
		}
	}
	run, problem := f.spec.Do(v)
	if problem != "" {
		f.problem = problem
		return false, nil
	}
	f.busy, f.problem = true, ""
	id := f.id
	return false, func() tea.Msg {
		then, err := run()
		return Done{form: id, Err: err, Then: then}
	}
}

// wrong checks one field, and if something is wrong with it says so there.
func (f *Form) wrong(i int, v Values) bool {
	fl := &f.fields[i]
	if fl.Check == nil {
		return false
	}
	problem := fl.Check(v[fl.Name])
	if problem != "" {
		f.focus, f.problem = i, problem
	}
	return problem != ""
}

// Keys are the keys that work in the form.
func (f *Form) Keys() []key.Binding {
	k := f.keys
	out := []key.Binding{k.Submit, k.Next, k.Dismiss}
	if f.long() {
		out = []key.Binding{k.Finish, k.Submit, k.Next, k.Dismiss}
	}
	if f.focus < f.submit() && len(f.fields[f.focus].Options) > 0 {
		out = append([]key.Binding{k.Choose}, out...)
	}
	if len(f.fields) == 0 {
		out = []key.Binding{k.Yes, k.No, k.Dismiss}
	}
	return out
}

// View draws the form in at most w columns and h rows.
func (f *Form) View(w, h int) layout.Block {
	w = min(w, 96)
	inner := w - 4
	var body layout.Block
	if f.spec.Body != nil {
		body = f.spec.Body(f.Values(), inner)
	}
	foot, focus := f.foot(inner)
	if most := max(h-2, 1); len(foot) > most { // a low window shows the fields around the focus
		from := max(0, min(focus-most/2, len(foot)-most))
		foot = foot[from : from+most]
	}
	body = f.scrolled(body, inner, max(h-2-len(foot), 0))
	return modal.Box(f.theme, f.spec.Title, append(body, foot...), w)
}

// scrolled cuts what does not fit; fields and buttons always do.
func (f *Form) scrolled(body layout.Block, w, room int) layout.Block {
	if len(body) <= room {
		f.scroll = 0
		return body
	}
	if room < 1 {
		return nil
	}
	f.scroll = max(0, min(f.scroll, len(body)-room+1))
	cut := append(layout.Block(nil), body[f.scroll:min(len(body), f.scroll+room-1)]...)
	return append(cut, f.theme.Muted.Render(text.Truncate(f.printer.S(text.FormMore, f.keys.PageDown.Help().Key), w)))
}

// foot draws the fields, what is wrong, and the buttons; focus is the line that has the keyboard.
func (f *Form) foot(w int) (out layout.Block, focus int) {
	t := f.theme
	labels := 0
	for _, fl := range f.fields {
		labels = max(labels, text.Width(fl.Label))
	}
	labels = min(labels, w/2)
	if len(f.fields) > 0 {
		out = append(out, "")
	}
	for i := range f.fields {
		fl := &f.fields[i]
		focused := i == f.focus
		style := t.Muted
		if focused {
			style, focus = t.Accent, len(out)
		}
		room := w - labels - 2
		var value string
		if len(fl.Options) > 0 {
			value = f.options(fl, focused, room)
		} else {
			value = fl.line.View(t, room, focused, fl.Hint)
		}
		out = append(out, style.Render(text.Pad(fl.Label, labels))+"  "+value)
	}
	out = append(out, "")
	switch {
	case f.busy:
		out[len(out)-1] = t.Info.Render(f.printer.S(text.FormBusy))
	case f.problem != "":
		lines := text.WrapWords(t.Failed+" "+f.problem, w)
		for _, line := range lines[:min(len(lines), 4)] {
			out = append(out, t.Bad.Render(line))
		}
		out = append(out, "")
	}
	button := func(label string, focused bool) string {
		if focused {
			return t.ButtonFocused.Render("[ " + label + " ]")
		}
		return t.Button.Render("  " + label + "  ")
	}
	if f.focus >= f.submit() {
		focus = len(out)
	}
	return append(out, button(f.spec.Submit, f.focus == f.submit())+"  "+button(f.printer.S(text.FormCancel), f.focus == f.cancel())), focus
}

func (f *Form) options(fl *field, focused bool, w int) string {
	t := f.theme
	parts := make([]string, len(fl.Options))
	for i, o := range fl.Options {
		switch {
		case i == fl.choice && focused:
			parts[i] = t.ButtonFocused.Render("[" + o.Label + "]")
		case i == fl.choice:
			parts[i] = t.Bold.Render("[" + o.Label + "]")
		default:
			parts[i] = t.Muted.Render(" " + o.Label + " ")
		}
	}
	return text.Truncate(strings.Join(parts, " "), w)
}

// Owns reports whether a Done is this form's: one whose form was dismissed has to be told otherwise.
func (f *Form) Owns(d Done) bool { return d.form == f.id }
