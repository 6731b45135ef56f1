// Package keys is every key of the dashboard, in one place: what is pressed, and what help says that it does.
package keys

import (
	"github.com/charmbracelet/bubbles/key"

	"reprise.dev/reprise/tui/text"
)

// Map is all keys. A key means the same wherever it is bound.
type Map struct {
	// Everywhere
	Screen, Help, Filter, Command, Refresh, Back, Quit, Suspend key.Binding
	// In lists and texts
	Up, Down, PageUp, PageDown, Top, Bottom, Left, Right, Focus key.Binding
	// Of a replay
	Open, New, Pause, Resume, Cancel, Approve, Revert, ToProgress, ToDiff, ToFailures key.Binding
	// Progress
	View key.Binding
	// Diff
	Sort, Reverse, Show, History, Told, Export key.Binding
	// Schedule
	RunNow key.Binding
	// Review
	Confirm, Resend, Discard, Mark, MarkAll, Unmark, Kind, Reason, OnlyRun, Item, Pager key.Binding
	// In forms
	Next, Previous, Submit, Finish, Choose, Dismiss, Yes, No key.Binding
}

// New makes the map with its help in one language.
func New(p *text.Printer) *Map {
	b := func(shown string, help text.M, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, p.S(help)))
	}
	return &Map{
		Screen:  b("1-6", text.KeyScreen, "1", "2", "3", "4", "5", "6"),
		Help:    b("?", text.KeyHelp, "?"),
		Filter:  b("/", text.KeyFilter, "/"),
		Command: b(":", text.KeyCommand, ":"),
		Refresh: b("ctrl+r", text.KeyRefresh, "ctrl+r"),
		Back:    b("esc", text.KeyBack, "esc"),
		Quit:    b("q", text.KeyQuit, "q", "ctrl+c"),
		Suspend: b("ctrl+z", text.KeySuspend, "ctrl+z"),

		Up:       b("↑ k", text.KeyUp, "up", "k"),
		Down:     b("↓ j", text.KeyDown, "down", "j"),
		PageUp:   b("pgup", text.KeyPageUp, "pgup", "ctrl+b"),
		PageDown: b("pgdn", text.KeyPageDown, "pgdown", "ctrl+f"),
		Top:      b("g", text.KeyTop, "g", "home"),
		Bottom:   b("G", text.KeyBottom, "G", "end"),
		Left:     b("← h", text.KeyLeft, "left", "h"),
		Right:    b("→ l", text.KeyRight, "right", "l"),
		Focus:    b("tab", text.KeyFocus, "tab"),

		Open:       b("enter", text.KeyOpen, "enter"),
		New:        b("n", text.KeyNew, "n"),
		Pause:      b("p", text.KeyPause, "p"),
		Resume:     b("r", text.KeyResume, "r"),
		Cancel:     b("x", text.KeyCancel, "x"),
		Approve:    b("a", text.KeyApprove, "a"),
		Revert:     b("R", text.KeyRevert, "R"),
		ToProgress: b("o", text.KeyToProgress, "o"),
		ToDiff:     b("d", text.KeyToDiff, "d"),
		ToFailures: b("f", text.KeyToFailures, "f"),

		View: b("v", text.KeyView, "v"),

		Sort:    b("s", text.KeySort, "s"),
		Reverse: b("S", text.KeyReverse, "S"),
		Show:    b("c", text.KeyShow, "c"),
		History: b("enter", text.KeyHistory, "enter"),
		Told:    b("t", text.KeyTold, "t"),
		Export:  b("e", text.KeyExport, "e"),

		RunNow: b("n", text.KeyRunNow, "n"),

		Confirm: b("c", text.KeyConfirm, "c"),
		Resend:  b("r", text.KeyResend, "r"),
		Discard: b("d", text.KeyDiscard, "d"),
		Mark:    b("space", text.KeyMark, " "),
		MarkAll: b("A", text.KeyMarkAll, "A"),
		Unmark:  b("u", text.KeyUnmark, "u"),
		Kind:    b("K", text.KeyKind, "K"),
		Reason:  b("w", text.KeyReason, "w"),
		OnlyRun: b("e", text.KeyOnlyRun, "e"),
		Item:    b("← →", text.KeyItem, "left", "right", "h", "l"),
		Pager:   b("o", text.KeyPager, "o"),

		Next:     b("tab", text.KeyNext, "tab", "down"),
		Previous: b("shift+tab", text.KeyPrevious, "shift+tab", "up"),
		Submit:   b("enter", text.KeySubmit, "enter"),
		Finish:   b("ctrl+s", text.KeyFinish, "ctrl+s"),
		Choose:   b("← →", text.KeyChoose, "left", "right", " "),
		Dismiss:  b("esc", text.KeyDismiss, "esc"),
		Yes:      b(p.S(text.KeyYesKey), text.KeyYes, "y", "s"),
		No:       b("n", text.KeyNo, "n"),
	}
}

// Everywhere are the keys that work on every screen.
func (m *Map) Everywhere() []key.Binding {
	return []key.Binding{m.Screen, m.Help, m.Filter, m.Command, m.Back, m.Refresh, m.Suspend, m.Quit}
}

// Moving are the keys of lists and texts.
func (m *Map) Moving() []key.Binding {
	return []key.Binding{m.Up, m.Down, m.PageUp, m.PageDown, m.Top, m.Bottom, m.Left, m.Right, m.Focus}
}
