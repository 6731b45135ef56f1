package replays

import (
	"context"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/screen"
)

// maxEnded is how many applies that ended short of their end are looked at, from the top of the list.
const maxEnded = 20

// moving is how long calls in flight may still move the checkpoints of an apply that was ended.
const moving = time.Minute

// settled says how many events an apply had settled when it ended, by the run that it was: see [endedKey].
type settled map[string]int64

// short reports whether an apply may have ended before all of its events were settled. Its account holds all of them,
// by what became of its state; how far its effects came is in its progress.
func short(r batch.Replay) bool {
	switch r.State {
	case batch.Partial, batch.Failed, batch.Cancelled:
		return r.Mode == batch.Apply && r.Events != nil
	case batch.Queued, batch.Running, batch.Paused, batch.Done:
	}
	return false
}

// endedKey names one end of a replay: one that is resumed may end again.
func endedKey(r batch.Replay) string {
	at := ""
	if r.UpdatedAt != nil {
		at = r.UpdatedAt.Format(time.RFC3339Nano)
	}
	return r.ID + " " + strconv.Itoa(r.Generation) + " " + at
}

// readEnded reads how far they came: once each, or until nothing moves any more. What cannot be read is tried again with
// the next list.
func (m *Model) readEnded() tea.Cmd {
	var todo []batch.Replay
	for i, r := range m.list.Rows() {
		_, known := m.ended[endedKey(r)]
		fresh := r.UpdatedAt != nil && m.env.Now().Sub(*r.UpdatedAt) < moving
		if (!known || fresh) && i < maxEnded && short(r) {
			todo = append(todo, r)
		}
	}
	if len(todo) == 0 || m.reading {
		return nil
	}
	m.reading = true
	source, ctx := m.source, m.env.Ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, screen.Quick)
		defer cancel()
		found := settled{}
		for _, r := range todo {
			p, err := source.Progress(ctx, r.ID)
			if err != nil {
				break
			}
			found[endedKey(r)] = p.Settled
		}
		return found
	}
}

// takeEnded keeps what was read.
func (m *Model) takeEnded(found settled) {
	m.reading = false
	for key, read := range found {
		m.ended[key] = read
	}
}
