package tui

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/component/modal"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/feed"
	"reprise.dev/reprise/tui/keys"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/screen/diff"
	"reprise.dev/reprise/tui/screen/failures"
	"reprise.dev/reprise/tui/screen/progress"
	"reprise.dev/reprise/tui/screen/replays"
	"reprise.dev/reprise/tui/screen/review"
	"reprise.dev/reprise/tui/screen/schedule"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// app is the root model. It is only touched by the program's loop.
type app struct {
	opts Options
	env  *screen.Env
	w, h int
	// after sends a message after a while; tests have a clock of their own.
	after func(d time.Duration, msg tea.Msg) tea.Cmd

	screens map[screen.ID]screen.Screen
	current screen.ID
	history []screen.ID // screens to go back to
	replay  string      // that the screens are about

	modals []modal.Modal
	prompt *prompt
	toasts toast.Stack
	typed  []string // commands of before, newest last

	waiting *feed.Feed[[]ledger.UncertainCount] // for the number beside Review
	clock   *feed.Feed[time.Duration]           // how far the database's clock is ahead
	who     *feed.Feed[Identity]

	frame   string // as last drawn
	dirty   bool   // something that is drawn changed since
	drawn   int    // frames so far
	minute  int64  // of the clock in the frame
	away    bool   // the banner was shown
	crash   *CrashError
	quit    func() // ends the program from outside of Update
	quitted bool
}

func newApp(ctx context.Context, o Options, th *theme.Theme) *app {
	if o.Local == nil {
		o.Local = time.Now
	}
	a := &app{opts: o, current: o.Start, replay: o.Replay, dirty: true, quit: func() {}}
	a.after = func(d time.Duration, msg tea.Msg) tea.Cmd { return tea.Tick(d, func(time.Time) tea.Msg { return msg }) }
	if a.current == 0 {
		a.current = screen.Replays
	}
	a.waiting = feed.New(ctx, func(ctx context.Context) ([]ledger.UncertainCount, error) {
		return o.Data.UncertainCounts(ctx, ledger.UncertainQuery{})
	}).Every(20 * time.Second)
	a.clock = feed.New(ctx, func(ctx context.Context) (time.Duration, error) {
		now, err := o.Data.Now(ctx)
		if err != nil {
			return 0, err
		}
		// To the second: a network's jitter is no news.
		return now.Sub(o.Local()).Round(time.Second), nil
	}).Every(30 * time.Second)
	a.who = feed.New(ctx, o.Data.Identity).Every(10 * time.Minute)
	a.who.Value = o.Identity
	a.speak(ctx, language(o.Language), th)
	return a
}

// speak starts over in a language.
func (a *app) speak(ctx context.Context, l text.Language, th *theme.Theme) {
	p := text.NewPrinter(l, a.opts.Zone)
	a.env = &screen.Env{
		Printer: p, Theme: th, Keys: keys.New(p), Ctx: ctx,
		Local: a.opts.Local, Now: func() time.Time { return a.opts.Local().Add(a.clock.Value) },
		After: func(d time.Duration, msg tea.Msg) tea.Cmd { return a.after(d, msg) },
	}
	a.screens = map[screen.ID]screen.Screen{}
}

// Init asks for the first tick.
func (a *app) Init() tea.Cmd {
	return a.guard(tea.Batch(a.env.After(time.Second, tickMsg{}), a.poll()))
}

// screen is the one that is shown; screens are made when they are first seen.
func (a *app) screen() screen.Screen { return a.open(a.current) }

func (a *app) open(id screen.ID) screen.Screen {
	if s, ok := a.screens[id]; ok {
		return s
	}
	var s screen.Screen
	switch id {
	case screen.Replays:
		s = replays.New(a.env, a.opts.Data)
	case screen.Progress:
		s = progress.New(a.env, a.opts.Data, a.replay)
	case screen.Diff:
		s = diff.New(a.env, a.opts.Data, a.replay)
	case screen.Review:
		s = review.New(a.env, a.opts.Data, a.opts.Origin)
	case screen.Schedule:
		s = schedule.New(a.env, a.opts.Data)
	case screen.Failures:
		s = failures.New(a.env, a.opts.Data, a.replay)
	}
	a.screens[id] = s
	return s
}

// show opens a screen, about a replay if one is named.
func (a *app) show(id screen.ID, replay string) {
	if replay == "" && a.replay == "" && id != screen.Replays { // none was chosen: the one under the cursor
		if list, ok := a.screens[screen.Replays].(*replays.Model); ok {
			r, _ := list.Selected()
			replay = r.ID
		}
	}
	if replay != "" && replay != a.replay {
		a.replay = replay
		for _, about := range []screen.ID{screen.Progress, screen.Diff, screen.Failures} {
			delete(a.screens, about)
		}
	}
	if id != a.current {
		a.history = append(a.history, a.current)
		if len(a.history) > 20 {
			a.history = a.history[1:]
		}
		a.current = id
	}
}

// Update takes one message. A panic ends the dashboard, not the terminal.
func (a *app) Update(msg tea.Msg) (m tea.Model, cmd tea.Cmd) {
	defer func() {
		if r := recover(); r != nil {
			a.crash = crashed(a.opts.CrashDir, a.opts.Version, r)
			m, cmd = a, tea.Quit
		}
	}()
	cmd = a.update(msg)
	if a.quitted || a.crash != nil {
		return a, tea.Quit
	}
	return a, a.guard(tea.Batch(cmd, a.poll()))
}

func (a *app) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tickMsg:
		return a.tick()
	case feed.Result:
		return a.read(msg)
	case crashMsg:
		a.crash = msg.err
		return nil
	}
	a.dirty = true
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.w, a.h = msg.Width, msg.Height
		return nil
	case tea.KeyMsg:
		return a.keys(msg)
	case tea.ResumeMsg:
		return tea.Batch(tea.ClearScreen, tea.WindowSize())
	case screen.Go:
		a.show(msg.Screen, msg.Replay)
		return nil
	case screen.Show:
		a.modals = append(a.modals, msg.Modal)
		a.toasts.Clear()
		return nil
	case screen.Toast:
		a.toasts.Add(toast.Message(msg), a.env.Local())
		return nil
	case screen.Changed:
		return a.changed(msg)
	case screen.Exec:
		return tea.ExecProcess(msg.Command, func(err error) tea.Msg {
			if err == nil {
				return redraw{}
			}
			return screen.Toast{Kind: toast.Bad, Text: text.CleanLine(err.Error())}
		})
	case redraw:
		return tea.ClearScreen
	case form.Done:
		return a.done(msg)
	case filterDue:
		return a.filter(msg)
	}
	return a.broadcast(msg)
}

// redraw repaints what another program drew over.
type redraw struct{}

// broadcast lets every open screen see a message: each knows its own.
func (a *app) broadcast(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, id := range screen.All {
		if s, ok := a.screens[id]; ok {
			cmds = append(cmds, s.Update(msg))
		}
	}
	return tea.Batch(cmds...)
}

// changed closes the dialogs, says what was done, and reads everything again.
func (a *app) changed(msg screen.Changed) tea.Cmd {
	a.modals = nil
	if msg.Toast.Text != "" {
		a.toasts.Add(toast.Message(msg.Toast), a.env.Local())
	}
	a.hurry()
	if msg.Then == nil {
		return nil
	}
	return screen.Send(msg.Then)
}

// done gives a form its outcome. If the form was dismissed meanwhile, the outcome is told all the same.
func (a *app) done(msg form.Done) tea.Cmd {
	for i, m := range a.modals {
		f, ok := m.(*form.Form)
		if !ok || !f.Owns(msg) {
			continue
		}
		over, cmd := f.Update(msg)
		if over {
			a.modals = append(a.modals[:i:i], a.modals[i+1:]...)
		}
		return cmd
	}
	if msg.Err != nil {
		a.toasts.Add(toast.Message{Kind: toast.Bad, Text: text.CleanLine(a.env.Remark(msg.Err.Error()))}, a.env.Local())
		return nil
	}
	if _, dialog := msg.Then.(screen.Show); dialog || msg.Then == nil { // nobody waits for the next dialog
		return nil
	}
	return screen.Send(msg.Then)
}

// keys takes keys that were pressed while nobody looked: they arrive as one, on a slow line for instance, but
// each of them means what it means alone.
func (a *app) keys(msg tea.KeyMsg) tea.Cmd {
	if msg.Type != tea.KeyRunes || len(msg.Runes) < 2 || msg.Paste {
		return a.key(msg)
	}
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		one := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt}
		if r == ' ' {
			one.Type = tea.KeySpace
		}
		cmds = append(cmds, a.key(one))
	}
	return tea.Batch(cmds...)
}

func (a *app) key(msg tea.KeyMsg) tea.Cmd {
	k := a.env.Keys
	switch {
	case msg.Type == tea.KeyCtrlC:
		a.quitted = true
		return nil
	case key.Matches(msg, k.Suspend):
		return a.suspend()
	case a.tooSmall():
		a.quitted = key.Matches(msg, k.Quit)
		return nil
	case a.prompt != nil:
		return a.promptKey(msg)
	case len(a.modals) > 0:
		return a.modalKey(msg)
	case key.Matches(msg, k.Quit):
		a.quitted = true
		return nil
	case key.Matches(msg, k.Help):
		a.modals = append(a.modals, newHelp(a.env, a.screen()))
		return nil
	case key.Matches(msg, k.Command):
		a.prompt = newCommandPrompt()
		return nil
	case key.Matches(msg, k.Filter):
		return a.openFilter()
	case key.Matches(msg, k.Refresh):
		a.hurry()
		return tea.ClearScreen
	case key.Matches(msg, k.Screen):
		a.show(screen.ID(msg.Runes[0]-'0'), "")
		return nil
	case key.Matches(msg, k.Back):
		a.back()
		return nil
	}
	return a.screen().Update(msg)
}

func (a *app) modalKey(msg tea.KeyMsg) tea.Cmd {
	last := len(a.modals) - 1
	over, cmd := a.modals[last].Update(msg)
	if over {
		a.modals = a.modals[:last]
	}
	return cmd
}

// back leaves toasts, then what the screen can leave, then the screen.
func (a *app) back() {
	switch {
	case !a.toasts.Empty():
		a.toasts.Clear()
	case a.screen().Back():
	case len(a.history) > 0:
		a.current = a.history[len(a.history)-1]
		a.history = a.history[:len(a.history)-1]
	}
}
