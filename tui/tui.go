// Package tui is the dashboard: it watches replays and settles what only a person can settle. Closing it never
// stops work. It reads and commands through [Data] alone, which it declares; there is no SQL here.
//
// Each screen is a package below screen, each component one below component; styles are in theme, keys in keys,
// and all that is said is in text. The root model here routes messages, draws the frame around the screens, and
// keeps polling: see poll.go.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/term"

	"reprise.dev/reprise/tui/noprobe"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// bubbletea was initialized before this package: the terminal's name is safe to restore.
func init() { noprobe.Restore() }

var (
	// ErrNoTerminal: there is no terminal to draw on; use the other commands, which print.
	ErrNoTerminal = errors.New("the dashboard needs a terminal; reprise replay list, show and review list print the same")
	// ErrInterrupted: a signal or a closed terminal ended the dashboard. The terminal was restored; work goes on.
	ErrInterrupted = errors.New("interrupted")
)

// Options configure the dashboard.
type Options struct {
	Data     Data
	Language string         // "en", "pt", or "": as LC_ALL, LC_MESSAGES or LANG say
	Theme    string         // auto, dark, light, mono, plain; "": auto
	Zone     *time.Location // that times are shown in and windows are asked in; nil: this machine's

	// What the first line says.
	Version, Host string
	Identity      Identity // as far as it is known at the start
	// Origin is recorded with every decision: host, operating-system user and program version.
	Origin string

	Start    screen.ID // 0: Replays
	Replay   string    // that the screens are about at first
	CrashDir string    // for particulars of a panic; "": the user's cache directory

	In  io.Reader // nil: standard input
	Out io.Writer // nil: standard output
	// Local is this machine's clock; nil: time.Now.
	Local func() time.Time
}

// Run shows the dashboard until it is left. It returns nil if the person left, [ErrInterrupted] on SIGINT,
// SIGTERM, SIGHUP, a closed terminal or the end of ctx, and a [CrashError] after a panic. The terminal is as it
// was before in every case.
func Run(ctx context.Context, o Options) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = crashed(o.CrashDir, o.Version, r)
		}
	}()
	if o.In == nil {
		o.In = os.Stdin
	}
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if !isTerminal(o.In) || !isTerminal(o.Out) {
		return ErrNoTerminal
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()

	a := newApp(ctx, o, theme.New(o.Out, theme.Mode(o.Theme)))
	p := tea.NewProgram(a,
		tea.WithContext(ctx),
		tea.WithInput(watch(o.In, hangUp)),
		tea.WithOutput(o.Out),
		tea.WithAltScreen(),
		tea.WithFPS(framesPerSecond),
		tea.WithoutSignalHandler(), // SIGHUP has to restore the terminal too
		tea.WithoutCatchPanics(),   // ours writes the stack to a file
	)
	a.quit = p.Quit
	_, err = p.Run()
	switch {
	case a.crash != nil:
		return a.crash
	case err != nil && ctx.Err() != nil:
		return ErrInterrupted
	case err != nil && errors.Is(err, syscall.EIO): // the terminal went away
		return ErrInterrupted
	case err != nil:
		return fmt.Errorf("dashboard: %w", err)
	}
	return nil
}

// framesPerSecond is how often bubbletea looks whether there is a new frame to write. Looking is all that an idle
// dashboard does; a key waits for it a thirtieth of a second at most.
const framesPerSecond = 30

func isTerminal(v any) bool {
	f, ok := v.(term.File)
	return ok && term.IsTerminal(f.Fd())
}

// watch notices the end of input: a terminal that was closed reads as empty for ever, and bubbletea would wait
// for ever too.
func watch(in io.Reader, gone func()) io.Reader {
	f, ok := in.(*os.File)
	if !ok {
		return in
	}
	return &watched{f, gone}
}

type watched struct {
	*os.File
	gone func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.File.Read(p)
	if err != nil && n == 0 {
		w.gone()
	}
	return n, err
}

// language is the one that is set, or that of the environment.
func language(s string) text.Language {
	if s == "" || s == "auto" {
		return text.FromEnvironment()
	}
	return text.ParseLanguage(s)
}
