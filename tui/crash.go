package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// CrashError says that the dashboard failed and where its particulars are. The terminal was restored; no replay
// was touched.
type CrashError struct {
	Panic any
	File  string // "" if it could not be written
	Stack []byte
}

func (e *CrashError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("the dashboard failed: %v\n%s", e.Panic, e.Stack)
	}
	return fmt.Sprintf("the dashboard failed: %v; particulars are in %s", e.Panic, e.File)
}

// crashed makes an error of a panic that was just recovered, with the stack in a file that only its owner reads.
func crashed(dir, version string, value any) *CrashError {
	e := &CrashError{Panic: value, Stack: debug.Stack()}
	if dir == "" {
		dir = os.TempDir()
		if cache, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(cache, "reprise")
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return e
	}
	f, err := os.CreateTemp(dir, "crash-"+time.Now().UTC().Format("20060102T150405Z")+"-*.txt")
	if err != nil {
		return e
	}
	defer f.Close() // what was written is all there is
	if _, err := fmt.Fprintf(f, "reprise %s\npanic: %v\n\n%s", version, value, e.Stack); err == nil {
		e.File = f.Name()
	}
	return e
}

// crashMsg carries a panic of a command to the loop.
type crashMsg struct{ err *CrashError }

// guard makes a panic in a command, or in any that it spawns, a message.
func (a *app) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = crashMsg{crashed(a.opts.CrashDir, a.opts.Version, r)}
			}
		}()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, c := range batch {
				batch[i] = a.guard(c)
			}
		}
		return msg
	}
}
