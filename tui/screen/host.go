package screen

import (
	"strconv"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
)

// HostName is what a process is called in a list of them.
func HostName(h batch.Host) string { return text.Clean(h.Machine) + " " + text.Clean(h.Role) }

// HostLine is a line about a process, with what identifies it as far as there is room.
func (e *Env) HostLine(line string, h batch.Host, w int) string {
	which := text.Truncate("pid "+strconv.Itoa(h.PID)+" "+text.Clean(h.Version), max(w-text.Width(line)-1, 0))
	return layout.Ends(line, e.Theme.Muted.Render(which), w)
}

// HostNames is how wide the names of processes are, most at most.
func HostNames(hosts []batch.Host, most int) int {
	names := 0
	for _, h := range hosts {
		names = max(names, min(text.Width(HostName(h)), most))
	}
	return names
}
