package review

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// maxMarks is how many rows are decided in one go at most.
const maxMarks = 10_000

// mark is a row as it was when it was marked: the decision will name that version.
type mark struct {
	Key, Kind, Reason string
	Version, Until    time.Time
}

func markOf(it item) mark { return mark{it.Key, it.Kind, it.Reason, it.Version, it.Until} }

// marks are the marked rows, in the order in which they were marked.
type marks struct {
	order []string
	byKey map[string]mark
}

func newMarks() *marks { return &marks{byKey: map[string]mark{}} }

func (s *marks) len() int { return len(s.byKey) }

func (s *marks) has(key string) bool {
	_, ok := s.byKey[key]
	return ok
}

func (s *marks) add(m mark) {
	if !s.has(m.Key) {
		s.order = append(s.order, m.Key)
	}
	s.byKey[m.Key] = m
}

func (s *marks) toggle(it item) {
	if s.has(it.Key) {
		s.drop(it.Key)
		return
	}
	s.add(markOf(it))
}

func (s *marks) drop(key string) { delete(s.byKey, key) }

func (s *marks) clear() { s.order, s.byKey = nil, map[string]mark{} }

// all are the marks in order.
func (s *marks) all() []mark {
	out := make([]mark, 0, len(s.byKey))
	seen := make(map[string]bool, len(s.byKey))
	for _, key := range s.order {
		if m, ok := s.byKey[key]; ok && !seen[key] {
			seen[key] = true
			out = append(out, m)
		}
	}
	return out
}

// keep drops marks of rows that would be in memory but are not: they left the queue. A row that changed since it
// was marked loses its mark too: what was marked is no longer what is shown.
func (s *marks) keep(rows []item, covers func(item) bool) {
	if s.len() == 0 {
		return
	}
	now := make(map[string]time.Time, len(rows))
	for _, it := range rows {
		now[it.Key] = it.Version
	}
	for key, m := range s.byKey {
		version, present := now[key]
		gone := !present && covers(item{UncertainEffect: ledger.UncertainEffect{Key: key, Version: m.Version}})
		if gone || present && !version.Equal(m.Version) {
			s.drop(key)
		}
	}
}

// marked is the answer to marking all that the filters show.
type marked struct {
	query ledger.UncertainQuery
	marks []mark
	more  bool
}

// markAll marks all rows that match the filters, page by page.
func (m *Model) markAll() tea.Cmd {
	query, source, now := m.query(), m.source, m.env.Now
	return tea.Batch(
		m.env.Tell(toast.Info, text.MarkingAll),
		m.env.Call(screen.Long, func(ctx context.Context) (tea.Msg, error) {
			out := marked{query: query}
			q := query
			q.Limit = 500
			for {
				rows, err := source.Uncertain(ctx, q)
				if err != nil {
					return nil, err
				}
				for _, e := range rows {
					if len(out.marks) == maxMarks {
						out.more = true
						return out, nil
					}
					out.marks = append(out.marks, markOf(toItem(e, now())))
				}
				if len(rows) < q.Limit {
					return out, nil
				}
				last := rows[len(rows)-1]
				q.After = &ledger.Cursor{Version: last.Version, Key: last.Key}
			}
		}))
}

func (m *Model) takeMarks(msg marked) tea.Cmd {
	if msg.query != m.query() { // the filters changed meanwhile
		return nil
	}
	for _, mk := range msg.marks {
		m.marks.add(mk)
	}
	if msg.more {
		return m.env.Tell(toast.Warn, text.MarkedFirst, m.env.Int(maxMarks))
	}
	return screen.Send(screen.Toast{Kind: toast.Info, Text: m.env.N(text.MarkedAll, int64(len(msg.marks)))})
}
