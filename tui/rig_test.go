package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/tui/fake"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/theme"
)

// rig drives the dashboard without a terminal and without real time: commands run at once, and what waits for
// time waits for the rig's clock.
type rig struct {
	t      *testing.T
	app    *app
	store  *fake.Store
	now    time.Time
	timers []timer
	quit   bool
	frames int
}

type timer struct {
	at  time.Time
	msg tea.Msg
}

type rigOptions struct {
	world fake.Options
	Options
	theme theme.Mode
	data  func(*fake.Store) Data
	w, h  int
	late  time.Duration // how long after Noon it is
}

func newRig(t *testing.T, o rigOptions) *rig {
	t.Helper()
	r := &rig{t: t, now: fake.Noon}
	clock := func() time.Time { return r.now }
	o.Options.Local = clock
	if o.Options.Zone == nil {
		o.Options.Zone = fake.Zone
	}
	if o.Options.Language == "" {
		o.Options.Language = "en"
	}
	if o.Options.Version == "" {
		o.Options.Version, o.Options.Host, o.Options.Origin = "1.4.0", "bastion-1", "bastion-1"
	}
	if o.world.Now == nil {
		o.world.Now = clock
	}
	r.store = fake.New(o.world)
	r.now = fake.Noon.Add(o.late)
	o.Options.Data = r.store
	if o.data != nil {
		o.Options.Data = o.data(r.store)
	}
	r.app = newApp(context.Background(), o.Options, theme.Fixed(o.theme))
	r.app.after = func(d time.Duration, msg tea.Msg) tea.Cmd {
		return func() tea.Msg {
			r.timers = append(r.timers, timer{r.now.Add(d), msg})
			return nil
		}
	}
	r.run(r.app.Init())
	if o.w == 0 {
		o.w, o.h = 80, 24
	}
	r.resize(o.w, o.h)
	return r
}

func (r *rig) resize(w, h int) { r.send(tea.WindowSizeMsg{Width: w, Height: h}) }

func (r *rig) send(msg tea.Msg) {
	_, cmd := r.app.Update(msg)
	r.app.View() // as the program does after every message
	r.alive()
	r.run(cmd)
}

func (r *rig) alive() {
	r.t.Helper()
	if r.app.crash != nil {
		r.t.Fatalf("crashed: %v\n%s", r.app.crash.Panic, r.app.crash.Stack)
	}
}

func (r *rig) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			r.run(c)
		}
	case tea.QuitMsg:
		r.quit = true
	default:
		r.send(msg)
	}
}

// advance lets time pass.
func (r *rig) advance(d time.Duration) {
	end := r.now.Add(d)
	for {
		next := -1
		for i, tm := range r.timers {
			if !tm.at.After(end) && (next < 0 || tm.at.Before(r.timers[next].at)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		tm := r.timers[next]
		r.timers = slices.Delete(r.timers, next, next+1)
		if tm.at.After(r.now) {
			r.now = tm.at
		}
		r.send(tm.msg)
	}
	r.now = end
}

// press sends keys by name, such as "enter", "ctrl+c" or "x"; anything in "quotes" is typed.
func (r *rig) press(names ...string) {
	for _, name := range names {
		if text, ok := strings.CutPrefix(name, `"`); ok {
			for _, c := range strings.TrimSuffix(text, `"`) {
				r.send(keyOf(string(c)))
			}
			continue
		}
		r.send(keyOf(name))
	}
}

var keyTypes = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "up": tea.KeyUp, "down": tea.KeyDown,
	"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd,
	"backspace": tea.KeyBackspace, "ctrl+c": tea.KeyCtrlC, "ctrl+r": tea.KeyCtrlR, "ctrl+u": tea.KeyCtrlU, "ctrl+s": tea.KeyCtrlS, "delete": tea.KeyDelete,
}

func keyOf(name string) tea.KeyMsg {
	if kt, ok := keyTypes[name]; ok {
		return tea.KeyMsg{Type: kt}
	}
	if name == " " || name == "space" {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// open goes to a screen, about a replay, and lets it read.
func (r *rig) open(id screen.ID, replay string) {
	r.send(screen.Go{Screen: id, Replay: replay})
	r.advance(300 * time.Millisecond)
}

// frame is what is on the screen, checked as every frame is, without styles.
func (r *rig) frame() string {
	r.t.Helper()
	view := r.app.View()
	r.alive()
	r.frames++
	if wrong := faults(view, r.app.w, r.app.h); wrong != "" {
		r.t.Fatalf("%s, %dx%d: %s\n%s", r.app.current.Name()[0], r.app.w, r.app.h, wrong, ansi.Strip(view))
	}
	return ansi.Strip(view)
}

// faults looks for what no frame may hold: a byte that drives the terminal beyond colours, a character that
// shows nothing, a line of another width than the window's, too many or too few lines.
func faults(view string, w, h int) string {
	if w <= 0 || h <= 0 {
		if view != "" {
			return fmt.Sprintf("draws %q where there is no window", view)
		}
		return ""
	}
	lines := strings.Split(view, "\n")
	if len(lines) != h {
		return fmt.Sprintf("%d lines in a window of %d", len(lines), h)
	}
	for i, line := range lines {
		bare := stripColours(line)
		for _, c := range bare {
			if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 || c == unicode.ReplacementChar || unicode.In(c, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
				return fmt.Sprintf("line %d holds %U: %q", i+1, c, bare)
			}
		}
		if n := ansi.StringWidth(bare); n != w {
			return fmt.Sprintf("line %d is %d columns wide: %q", i+1, n, bare)
		}
	}
	return ""
}

// stripColours removes sequences that set colours and attributes, and nothing else.
func stripColours(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '[' {
			j := i + 2
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == ';') {
				j++
			}
			if j < len(s) && s[j] == 'm' {
				i = j + 1
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

func (r *rig) sees(parts ...string) {
	r.t.Helper()
	frame := r.frame()
	for _, part := range parts {
		if !strings.Contains(frame, part) {
			r.t.Fatalf("the screen does not show %q:\n%s", part, frame)
		}
	}
}

func (r *rig) seesNot(parts ...string) {
	r.t.Helper()
	frame := r.frame()
	for _, part := range parts {
		if strings.Contains(frame, part) {
			r.t.Fatalf("the screen shows %q:\n%s", part, frame)
		}
	}
}
