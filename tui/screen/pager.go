package screen

import (
	"os"
	"os/exec"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/text"
)

// Exec runs a program on the terminal; the dashboard comes back when it ends.
type Exec struct{ Command *exec.Cmd }

// Pager shows a whole value, cleaned, in the person's own pager.
func (e *Env) Pager(raw []byte) tea.Cmd {
	ctx := e.Ctx
	return func() tea.Msg {
		lines, _ := text.JSON(raw, len(raw))
		program := os.Getenv("PAGER")
		if program == "" {
			program = "less -S"
		}
		cmd := exec.CommandContext(ctx, "sh", "-c", program)
		cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
		return Exec{cmd}
	}
}
