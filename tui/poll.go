package tui

import (
	"errors"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/feed"
	"reprise.dev/reprise/tui/text"
)

// Polling: once a second, and after every message, what is due of the current screen is read in commands. A
// result that changes nothing draws nothing; a second in which nothing changes draws nothing either.

type tickMsg struct{}

// pollers are what is on the screen now, the frame included.
func (a *app) pollers() []feed.Poller {
	return append([]feed.Poller{a.clock, a.who, a.waiting}, a.screen().Pollers()...)
}

// poll reads what is due.
func (a *app) poll() tea.Cmd {
	if a.w == 0 || a.h == 0 { // nothing is shown
		return nil
	}
	now := a.env.Local()
	var cmds []tea.Cmd
	for _, p := range a.pollers() {
		if p.Due(now) {
			cmds = append(cmds, p.Read(now))
		}
	}
	return tea.Batch(cmds...)
}

// hurry makes everything due.
func (a *app) hurry() {
	for _, p := range a.pollers() {
		p.Hurry()
	}
}

// tick looks whether time alone changed the picture.
func (a *app) tick() tea.Cmd {
	now := a.env.Local()
	if minute := a.env.Now().Unix() / 60; minute != a.minute {
		a.minute = minute
		a.dirty = true
	}
	if a.toasts.Expire(now) || a.screen().Live() || a.away {
		a.dirty = true
	}
	for _, m := range a.modals { // a dialog may show a countdown
		if _, ok := m.(*help); !ok && a.screen().Live() {
			a.dirty = true
		}
	}
	return a.env.After(time.Second, tickMsg{})
}

// read takes the end of a read.
func (a *app) read(msg feed.Result) tea.Cmd {
	if !msg.Same {
		a.dirty = true
	}
	var cmd tea.Cmd
	switch {
	case a.clock.Accept(msg), a.who.Accept(msg), a.waiting.Accept(msg):
	default:
		cmd = a.broadcast(msg)
	}
	away := a.trouble().Err != nil
	if away && a.clock.Health().Err == nil && !a.away {
		a.clock.Hurry() // is it this one list, or all of the database?
	}
	if away != a.away {
		a.away, a.dirty = away, true
		if !away {
			a.toasts.Add(toast.Message{Kind: toast.Good, Text: a.env.S(text.BannerBack)}, a.env.Local())
			a.hurry()
		}
	}
	return cmd
}

// trouble is the worst that reading what is on the screen came to: the feed that has gone longest without.
func (a *app) trouble() feed.Health {
	var worst feed.Health
	for _, p := range a.pollers() {
		h := p.Health()
		if h.Err == nil {
			continue
		}
		if worst.Err == nil || h.Good.Before(worst.Good) {
			worst = h
		}
	}
	return worst
}

// innermost is what an error comes down to; of several, the last one that was tried.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if many, ok := err.(interface{ Unwrap() []error }); ok && len(many.Unwrap()) > 0 {
			all := many.Unwrap()
			next = all[len(all)-1]
		}
		if next == nil {
			return err
		}
		err = next
	}
}

// reason is an error in a line of w columns: all of it, or else its innermost part if that is what it ends with;
// the outer parts say what was being done.
func reason(err error, w int) string {
	all := text.CleanLine(err.Error())
	if short := text.CleanLine(innermost(err).Error()); text.Width(all) > w && strings.HasSuffix(all, short) {
		return short
	}
	return all
}
