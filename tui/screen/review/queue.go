package review

import (
	"cmp"
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

const (
	maxGhosts = 8                // rows that left the queue and are still shown
	linger    = 15 * time.Second // how long they are
)

// gone says how a row that was on the screen left the queue.
type gone struct {
	item item
	last *ledger.DecisionRecord // nil: no person decided it
}

type ghostsOver struct{}

// decided says that rows were decided from here, or that others were found to have been faster.
type decided struct{ keys, others []string }

// refresh takes the new rows. Rows that were on the screen and are no longer in the queue were settled by
// somebody else, or by a look-up: who did it is asked, and said in their place.
func (m *Model) refresh() tea.Cmd {
	fresh := m.list.Rows()
	present := make(map[string]bool, len(fresh))
	for _, it := range fresh {
		present[it.Key] = true
	}
	var cmds []tea.Cmd
	top := m.table.Offset()
	for i := top; i < min(top+m.table.Height(), len(m.shown)) && !m.anew; i++ {
		it := m.shown[i]
		if it.Gone != "" || present[it.Key] || m.isMine(it) || m.asking[it.Key].After(m.env.Local()) || !m.covers(it) || len(cmds) >= maxGhosts {
			continue
		}
		cmds = append(cmds, m.whoDecided(it))
	}
	m.anew = false
	for key := range m.mine {
		if !present[key] {
			delete(m.mine, key)
		}
	}
	m.marks.keep(fresh, m.covers)
	m.compose()
	return tea.Batch(cmds...)
}

// begin notes that a decision on a row is under way from here: that the row leaves the queue meanwhile is no surprise.
func (m *Model) begin(key string) { m.asking[key] = m.env.Local().Add(2 * screen.Quick) }

// isMine reports whether this very row was decided from here. One that came back is another version.
func (m *Model) isMine(it item) bool {
	version, ok := m.mine[it.Key]
	return ok && version.Equal(it.Version)
}

// covers reports whether a row would be among those in memory if it still were in the queue.
func (m *Model) covers(it item) bool {
	rows := m.list.Rows()
	if len(rows) == 0 {
		return m.list.AtStart() && m.list.AtEnd()
	}
	return (m.list.AtStart() || !before(it, rows[0])) && (m.list.AtEnd() || before(it, rows[len(rows)-1]))
}

// compose merges the queue and the ghosts into what is shown.
func (m *Model) compose() {
	shown := make([]item, 0, len(m.list.Rows())+len(m.ghosts))
	for _, it := range m.list.Rows() {
		if !m.isMine(it) {
			shown = append(shown, it)
			delete(m.ghosts, it.Key) // it is back
		}
	}
	for _, g := range m.ghosts {
		shown = append(shown, g)
	}
	slices.SortFunc(shown, func(a, b item) int {
		if c := a.Version.Compare(b.Version); c != 0 {
			return c
		}
		return cmp.Compare(a.Key, b.Key)
	})
	m.shown = shown
	m.table.Sync(rows{m})
}

func (m *Model) whoDecided(it item) tea.Cmd {
	source := m.source
	// Until it is known who, the row stays as it was: it must not be taken for the next one.
	it.Gone = m.env.S(text.GoneUnknown)
	m.ghosts[it.Key] = it
	return m.env.Call(screen.Quick, func(ctx context.Context) (tea.Msg, error) {
		records, err := source.Decisions(ctx, it.Key)
		if err != nil {
			return gone{item: it}, nil //nolint:nilerr // the row is gone all the same; who settled it stays unsaid
		}
		if len(records) == 0 || records[len(records)-1].At.Before(it.Version) {
			return gone{item: it}, nil
		}
		return gone{it, &records[len(records)-1]}, nil
	})
}

// note shows how a row left the queue, in its place.
func (m *Model) note(g gone) tea.Cmd {
	e := m.env
	it := g.item
	it.Gone = e.S(text.GoneSettled)
	if g.last != nil {
		it.Gone = e.S(text.GoneDecided, e.Verdict(g.last.Verdict), text.Clean(g.last.Reviewer), e.Clock(g.last.At))
	}
	m.ghosts[it.Key] = it
	m.compose()
	cmds := []tea.Cmd{m.env.After(linger, ghostsOver{})}
	if it.Key == m.table.Selected() {
		cmds = append(cmds, screen.Send(screen.Toast{Kind: toast.Warn, Text: text.Clean(it.Key) + ": " + it.Gone}))
	}
	return tea.Batch(cmds...)
}

// exorcise drops the ghosts, except one that is being looked at.
func (m *Model) exorcise() tea.Cmd {
	again := false
	for key := range m.ghosts {
		if key == m.table.Selected() && m.open {
			again = true
			continue
		}
		delete(m.ghosts, key)
	}
	m.compose()
	if again {
		return m.env.After(linger, ghostsOver{})
	}
	return nil
}

// leave takes rows that were decided from here out of sight; the next one comes by itself.
func (m *Model) leave(keys []string) tea.Cmd {
	for _, it := range m.list.Rows() {
		if slices.Contains(keys, it.Key) {
			m.mine[it.Key] = it.Version
		}
	}
	for _, key := range keys {
		delete(m.asking, key)
		delete(m.ghosts, key)
		m.marks.drop(key)
	}
	m.compose()
	m.list.Hurry()
	m.counts.Hurry()
	if len(m.shown) == 0 {
		m.open = false
	}
	return m.list.Look(m.table.Index(), m.env.Local())
}
