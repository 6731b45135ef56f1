// Package screen is the contract between the dashboard and its screens, and what the screens share. Each screen
// is a package below this one: a model that reads through an interface of its own and draws from what it read.
package screen

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/component/modal"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/feed"
	"reprise.dev/reprise/tui/keys"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// ID names a screen. The number is the key that opens it.
type ID int

// The screens.
const (
	Replays ID = iota + 1
	Progress
	Diff
	Review
	Schedule
	Failures
)

// All are the screens in the order of their keys.
var All = []ID{Replays, Progress, Diff, Review, Schedule, Failures}

// Name is what a screen is called.
func (id ID) Name() text.M {
	return map[ID]text.M{
		Replays: text.ScreenReplays, Progress: text.ScreenProgress, Diff: text.ScreenDiff,
		Review: text.ScreenReview, Schedule: text.ScreenSchedule, Failures: text.ScreenFailures,
	}[id]
}

// Screen is one model. It is only touched by the program's loop.
type Screen interface {
	ID() ID
	// Subject is what the screen is about, such as a replay's id as it is stored; "" if there is nothing to say.
	Subject() string
	Update(msg tea.Msg) tea.Cmd
	// View draws the body, w columns and h rows.
	View(w, h int) layout.Block
	// Pollers are what has to be kept fresh while the screen is shown.
	Pollers() []feed.Poller
	// Live reports whether the picture changes with time alone, such as a countdown.
	Live() bool
	// Back leaves a detail, a selection or a filter; false if there was nothing to leave.
	Back() bool
	// Keys are the keys that do something now, the most useful first.
	Keys() []key.Binding
}

// Filterer is a screen whose list can be filtered.
type Filterer interface {
	Filter() string
	SetFilter(s string) tea.Cmd
}

// Commander is a screen that understands commands typed after a colon.
type Commander interface {
	// Command carries out a command if it knows it.
	Command(name, arg string) (cmd tea.Cmd, known bool)
}

// Env is what all screens share.
type Env struct {
	*text.Printer
	Theme *theme.Theme
	Keys  *keys.Map
	Ctx   context.Context
	// Local is this machine's clock: when to read next.
	Local func() time.Time
	// Now is the database's clock: how old something is.
	Now func() time.Time
	// After sends a message after a while.
	After func(d time.Duration, msg tea.Msg) tea.Cmd
}

// Identity is a database and the role that commands are recorded under.
type Identity struct{ Database, Server, Role string }

// Messages that a screen sends to the dashboard.
type (
	// Go opens a screen, about a replay if one is named.
	Go struct {
		Screen ID
		Replay string
	}
	// Show opens a dialog.
	Show struct{ Modal modal.Modal }
	// Toast shows a short message, made of clean text.
	Toast toast.Message
	// Changed says that a command changed something: dialogs close, and what is shown is read again at once.
	Changed struct {
		Toast Toast
		Then  tea.Msg // e.g. a Go; nil: nothing more
	}
)

// Send makes a command of a message.
func Send(msg tea.Msg) tea.Cmd { return func() tea.Msg { return msg } }

// Form opens a form.
func (e *Env) Form(spec form.Spec) tea.Cmd {
	return Send(Show{form.New(spec, e.Theme, e.Printer, e.Keys)})
}

// Call runs something that may block and turns its outcome into a message; an error becomes a toast.
func (e *Env) Call(timeout time.Duration, run func(ctx context.Context) (tea.Msg, error)) tea.Cmd {
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(e.Ctx, timeout)
		defer cancel()
		msg, err := run(ctx)
		if err != nil {
			return Toast{Kind: toast.Bad, Text: text.CleanLine(e.Remark(err.Error()))}
		}
		return msg
	}
}

// Tell shows a message.
func (e *Env) Tell(kind toast.Kind, m text.M, args ...any) tea.Cmd {
	return Send(Toast{Kind: kind, Text: e.S(m, args...)})
}

// Patience of commands that a person waits for.
const (
	Quick = 15 * time.Second
	Long  = 2 * time.Minute
)
