package tui

import (
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// The smallest window in which the screens can be read.
const (
	minWidth  = 60
	minHeight = 12
)

func (a *app) tooSmall() bool { return a.w < minWidth || a.h < minHeight }

// View is the frame. It is drawn again only if something changed.
func (a *app) View() (frame string) {
	defer func() {
		if r := recover(); r != nil {
			a.crash = crashed(a.opts.CrashDir, a.opts.Version, r)
			frame = ""
			go a.quit() // the loop that would take the message is the one that draws
		}
	}()
	if !a.dirty || a.crash != nil {
		return a.frame
	}
	a.dirty = false
	a.drawn++
	a.frame = layout.Join(a.draw())
	return a.frame
}

func (a *app) draw() layout.Block {
	w, h := a.w, a.h
	switch {
	case w <= 0 || h <= 0:
		return nil
	case a.tooSmall():
		return a.small(w, h)
	}
	out := layout.Block{a.header(w), a.tabs(w)}
	if h := a.trouble(); h.Err != nil {
		out = append(out, a.banner(w))
	}
	room := h - len(out) - 1
	body := layout.Fit(a.screen().View(w, room), w, room)
	for i, m := range a.modals {
		if i == len(a.modals)-1 {
			body = layout.Center(a.dimmed(body), m.View(w-2, room))
		}
	}
	body = a.toasts.Over(a.env.Theme, body, w)
	out = append(out, body...)
	return layout.Fit(append(out, a.footer(w)), w, h)
}

// dimmed is what lies behind a dialog.
func (a *app) dimmed(b layout.Block) layout.Block {
	out := make(layout.Block, len(b))
	for i, line := range b {
		out[i] = a.env.Theme.Faint.Render(ansi.Strip(line))
	}
	return out
}

// small says in the window what is wrong with it, however small.
func (a *app) small(w, h int) layout.Block {
	e := a.env
	var lines layout.Block
	for _, s := range []string{e.S(text.TooSmall, w, h), e.S(text.TooSmallNeeds, minWidth, minHeight), e.S(text.TooSmallQuit)} {
		lines = append(lines, text.WrapWords(s, w)...)
	}
	return layout.Fit(lines, w, h)
}

// header says what one is looking at, and the time there.
func (a *app) header(w int) string {
	e, o := a.env, a.opts
	t := e.Theme
	right := " " + e.ShortClock(e.Now()) + " "
	name := " Reprise "
	room := w - text.Width(name) - text.Width(right)
	facts := ""
	add := func(fact string) { // the first facts matter most: which database, as whom
		if more := facts + "  " + t.Dot + "  " + fact; facts == "" && fact != "" {
			facts = text.Truncate(fact, room)
		} else if fact != "" && text.Width(more) <= room {
			facts = more
		}
	}
	who := a.who.Value
	if who.Database != "" {
		add(text.Clean(who.Database) + "@" + text.Clean(who.Server))
	}
	if who.Role != "" {
		add(e.S(text.HeadRole, text.Clean(who.Role)))
	}
	if o.Host != "" {
		add(text.Clean(o.Host))
	}
	if o.Version != "" {
		add(text.Clean(o.Version))
	}
	return t.Header.Render(name) + t.HeaderMuted.Render(text.Pad(facts, room)) + t.Header.Render(right)
}

// tabs name the screens; at their right is what the current one is about.
func (a *app) tabs(w int) string {
	e := a.env
	t := e.Theme
	var b strings.Builder
	for _, id := range screen.All {
		name := string(rune('0'+int(id))) + " " + e.S(id.Name())
		if n := a.uncertain(); id == screen.Review && n > 0 {
			name += " " + e.Compact(n)
		}
		switch {
		case id != a.current:
			b.WriteString(t.Tab.Render(" " + name + " "))
		case t.TabActive == (theme.Style{}):
			b.WriteString("[" + name + "]")
		default:
			b.WriteString(t.TabActive.Render(" " + name + " "))
		}
	}
	subject := text.Clean(a.screen().Subject())
	if text.Width(subject) > w-text.Width(b.String())-2 { // the screen's own title names it too
		subject = ""
	}
	return layout.Ends(b.String(), t.Accent.Render(subject)+" ", w)
}

func (a *app) uncertain() int64 {
	var n int64
	for _, c := range a.waiting.Value {
		n += c.Effects
	}
	return n
}

// banner says that the database is away, how old the picture is, and when it is tried again.
func (a *app) banner(w int) string {
	e, h := a.env, a.trouble()
	t := e.Theme
	now := e.Local()
	stale := e.S(text.BannerNothing)
	if !h.Good.IsZero() {
		stale = e.S(text.BannerStale, e.Duration(now.Sub(h.Good)))
	}
	retry := e.S(text.BannerTrying)
	if left := h.Retry.Sub(now); left >= time.Second {
		retry = e.S(text.BannerRetry, e.Duration(left))
	}
	what := text.BannerFailed
	if a.clock.Health().Err != nil {
		what = text.BannerAway
	}
	tail := "  " + stale + "; " + retry + " "
	line := " " + t.Warning + " " + e.S(what) + ": "
	line += reason(h.Err, w-text.Width(line)-text.Width(tail))
	return t.Banner.Render(layout.Ends(text.Truncate(line, max(w-text.Width(tail), w/3)), tail, w))
}

// footer is the prompt, or the keys that do something now.
func (a *app) footer(w int) string {
	e := a.env
	if a.prompt != nil {
		return a.prompt.view(e, w)
	}
	k := e.Keys
	hints := a.screen().Keys()
	if len(a.modals) > 0 {
		hints = a.modals[len(a.modals)-1].Keys()
		return text.Pad(hintLine(e, hints, w), w)
	}
	everywhere := []key.Binding{k.Help, k.Command, k.Quit}
	if w < 110 {
		everywhere = everywhere[:1]
	}
	tail := hintLine(e, everywhere, w)
	head := hintLine(e, hints, max(w-text.Width(tail)-2, 0))
	return layout.Ends(head, tail, w)
}
