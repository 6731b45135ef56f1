package review

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/text"
)

// filters narrow the queue; "" matches all.
type filters struct{ kind, reason, run, text string }

func (f filters) none() bool { return f == filters{} }

// words are the filters as the title says them.
func (f filters) words() string {
	out := ""
	for _, s := range []string{f.kind, f.reason, f.run, f.text} {
		if s != "" {
			out += " /" + text.Clean(s)
		}
	}
	return out
}

func (m *Model) query() ledger.UncertainQuery {
	return ledger.UncertainQuery{Kind: m.by.kind, Reason: m.by.reason, Execution: m.by.run, Text: m.by.text}
}

// count asks for the counts of what the filters show, kinds and reasons beside the chosen ones included: they can be
// chosen next.
func (m *Model) count() {
	source, q := m.source, ledger.UncertainQuery{Execution: m.by.run, Text: m.by.text}
	m.counts.Ask(func(ctx context.Context) ([]ledger.UncertainCount, error) { return source.UncertainCounts(ctx, q) })
}

// narrow sets the filters and reads the queue from its start. Marks go: nothing is decided that the filters do not
// show.
func (m *Model) narrow(by filters) {
	m.by = by
	m.marks.clear()
	m.ghosts = map[string]item{}
	m.anew = true
	m.table.Jump(table.First)
	m.list.Ask(m.fetch())
	m.count()
}

// Filter is the part of a key that is looked for.
func (m *Model) Filter() string { return m.by.text }

// SetFilter narrows the queue to keys that contain a text.
func (m *Model) SetFilter(s string) tea.Cmd {
	by := m.by
	by.text = s
	m.narrow(by)
	return nil
}

// nextKind narrows the queue to the next kind of effect in it, then to all again.
func (m *Model) nextKind() {
	by := m.by
	by.kind = next(by.kind, m.counted(func(c ledger.UncertainCount) (string, bool) { return c.Kind, true }))
	by.reason = ""
	m.narrow(by)
}

// nextReason narrows the queue to the next reason in it, then to all again.
func (m *Model) nextReason() {
	by := m.by
	by.reason = next(by.reason, m.counted(func(c ledger.UncertainCount) (string, bool) {
		return c.Reason, by.kind == "" || c.Kind == by.kind
	}))
	m.narrow(by)
}

// onlyRun narrows the queue to the run of the selected row, or shows all runs again.
func (m *Model) onlyRun() {
	by := m.by
	if by.run != "" {
		by.run = ""
	} else if it, ok := m.Selected(); ok {
		by.run = it.Execution
	}
	m.narrow(by)
}

// counted are the different values that a part of the counts has, sorted.
func (m *Model) counted(of func(ledger.UncertainCount) (string, bool)) []string {
	var out []string
	for _, c := range m.counts.Value {
		if s, ok := of(c); ok {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// next is the value after one: the first after "", and "" after the last.
func next(value string, all []string) string {
	i := slices.Index(all, value) + 1
	if value != "" && i == 0 || i == len(all) {
		return ""
	}
	return all[i]
}
