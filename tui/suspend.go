package tui

import (
	"os"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/sys/unix"

	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/text"
)

// suspend stops the process like any other program in a shell. Where no shell is there to continue it (a session
// that was started with nothing but the dashboard), the system would discard the stop and bubbletea wait for
// ever, so there it is refused.
func (a *app) suspend() tea.Cmd {
	parent, err := unix.Getsid(os.Getppid())
	if own, _ := unix.Getsid(0); err != nil || parent != own {
		return a.env.Tell(toast.Warn, text.NoSuspend)
	}
	return tea.Suspend
}
