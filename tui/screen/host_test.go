package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// TestTheVersionGivesWayNotWhatAProcessDoes however long it is.
func TestTheVersionGivesWayNotWhatAProcessDoes(t *testing.T) {
	e := &Env{Theme: theme.Fixed(theme.Dark)}
	const line = "vm run  4 partitions in hand"
	h := batch.Host{PID: 2207, Version: strings.Repeat("f", 40)}
	for _, w := range []int{28, 30, 48, 100} {
		got := ansi.Strip(e.HostLine(line, h, w))
		if !strings.HasPrefix(got, line) || text.Width(got) > w {
			t.Errorf("in %d columns: %q", w, got)
		}
	}
}
