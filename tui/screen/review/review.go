// Package review is the screen of the effects that only a person can settle: what is known of each, and the
// decision. A decision names the very row that was shown; whatever anybody else did meanwhile is seen as such.
package review

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/component/paged"
	"reprise.dev/reprise/tui/component/pager"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/feed"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// Source is what the screen reads and commands.
type Source interface {
	Uncertain(ctx context.Context, q ledger.UncertainQuery) ([]ledger.UncertainEffect, error)
	// UncertainCounts counts what matches, by kind and reason.
	UncertainCounts(ctx context.Context, q ledger.UncertainQuery) ([]ledger.UncertainCount, error)
	// UncertainByKey reads one effect; found is false if it is not uncertain (any more).
	UncertainByKey(ctx context.Context, key string) (e ledger.UncertainEffect, found bool, err error)
	// Occurrences are the effect's, oldest first.
	Occurrences(ctx context.Context, key string) ([]ledger.Occurrence, error)
	// Decisions are the effect's, oldest first.
	Decisions(ctx context.Context, key string) ([]ledger.DecisionRecord, error)
	// Decide records a decision on the very row that was seen. After an error the row is read again: that
	// nothing happened is never assumed.
	Decide(ctx context.Context, d ledger.Decision) (ledger.DecisionRecord, error)
	// Event reads an archived event by its id; batch.ErrNotFound if there is none.
	Event(ctx context.Context, id string) (batch.Event, error)
}

const page = 60

// item is one row of the queue. Its quarantine is an instant, so that waiting changes nothing that was read.
type item struct {
	ledger.UncertainEffect
	Until time.Time // decidable from then on
	Gone  string    // how it left the queue under our eyes, in words; "": it is in the queue
}

// Model is the screen.
type Model struct {
	env    *screen.Env
	source Source
	origin string

	table    table.Table
	list     *paged.List[item]
	counts   *feed.Feed[[]ledger.UncertainCount]
	evidence *feed.Feed[evidence]
	asked    string // key that evidence was asked for
	anew     bool   // the rows that come next answer another query
	shown    []item // rows of the list, and ghosts of those that just left it
	ghosts   map[string]item
	mine     map[string]time.Time // versions of rows that were decided from here: their going is no surprise
	asking   map[string]time.Time // until when a decision from here may be under way, by key
	marks    *marks
	bulk     *bulk // a decision on many that is being carried out, or nil

	by    filters
	open  bool // the detail has the screen (narrow) or the keyboard (wide)
	text  pager.Pager
	width int
}

// New makes the screen. origin is recorded with decisions: host, user and program version.
func New(env *screen.Env, source Source, origin string) *Model {
	m := &Model{env: env, source: source, origin: origin, ghosts: map[string]item{}, mine: map[string]time.Time{}, asking: map[string]time.Time{}, marks: newMarks()}
	m.table = table.Table{Theme: env.Theme, Columns: []table.Column{
		{Title: env.S(text.ColEvent), Width: 10, Grow: 2, Max: 40},
		{Title: env.S(text.ColKind), Width: 18, Grow: 1, Max: 28},
		{Title: env.S(text.ColReason), Width: 12, Grow: 1, Max: 24, Keep: 1},
		{Title: env.S(text.ColTries), Width: 5, Right: true, Keep: 3},
		{Title: env.S(text.ColReady), Width: 7, Right: true},
		{Title: env.S(text.ColRun), Width: 16, Grow: 1, Max: 30, Keep: 4, Both: true},
		{Title: env.S(text.ColAge), Width: 6, Right: true, Keep: 2},
	}}
	m.list = paged.New(env.Ctx, page, m.fetch(), true)
	m.counts = feed.New[[]ledger.UncertainCount](env.Ctx, nil).Every(15 * time.Second)
	m.count()
	m.evidence = feed.New(env.Ctx, func(context.Context) (evidence, error) { return evidence{}, nil }).Every(15 * time.Second)
	return m
}

// before is the order of the queue: oldest first.
func before(a, b item) bool {
	if !a.Version.Equal(b.Version) {
		return a.Version.Before(b.Version)
	}
	return a.Key < b.Key
}

func (m *Model) fetch() paged.Fetch[item] {
	query, source, now := m.query(), m.source, m.env.Now
	return func(ctx context.Context, after *item, back bool, limit int) ([]item, error) {
		q := query
		q.Limit, q.Backwards = limit, back
		if after != nil {
			q.After = &ledger.Cursor{Version: after.Version, Key: after.Key}
		}
		effects, err := source.Uncertain(ctx, q)
		items := make([]item, len(effects))
		for i, e := range effects {
			items[i] = toItem(e, now())
		}
		return items, err
	}
}

// toItem drops what a list does not show: contents may be large.
func toItem(e ledger.UncertainEffect, now time.Time) item {
	it := item{UncertainEffect: e}
	if e.QuarantineLeft > 0 {
		it.Until = now.Add(e.QuarantineLeft).Round(time.Second)
	}
	it.QuarantineLeft, it.Content = 0, nil
	return it
}

// ID names the screen.
func (m *Model) ID() screen.ID { return screen.Review }

// Subject is the kind of effect, if the queue is narrowed to one.
func (m *Model) Subject() string { return m.by.kind }

// Pollers are the queue, its counts and the evidence that is shown.
func (m *Model) Pollers() []feed.Poller {
	out := []feed.Poller{m.list.Poller(), m.counts}
	if m.asked != "" && (m.open || m.wide()) {
		out = append(out, m.evidence)
	}
	return out
}

// Live is true while a countdown is on the screen.
func (m *Model) Live() bool {
	now := m.env.Now()
	for i := m.table.Offset(); i < min(m.table.Offset()+m.table.Height(), len(m.shown)); i++ {
		if m.shown[i].Until.After(now) {
			return true
		}
	}
	it, ok := m.Selected()
	return ok && it.Until.After(now)
}

func (m *Model) wide() bool { return m.width >= 110 }

// Back stops a decision on many, closes the detail, drops marks, then filters.
func (m *Model) Back() bool {
	switch {
	case m.bulk != nil:
		m.bulk.stopped = true
	case m.open:
		m.open = false
	case m.marks.len() > 0:
		m.marks.clear()
	case !m.by.none():
		m.narrow(filters{})
	default:
		return false
	}
	return true
}

// Selected is the row under the cursor.
func (m *Model) Selected() (item, bool) {
	if i := m.table.Index(); i < len(m.shown) && m.shown[i].Key == m.table.Selected() {
		return m.shown[i], true
	}
	return item{}, false
}

// Keys are those of the queue or of the detail.
func (m *Model) Keys() []key.Binding {
	k := m.env.Keys
	decide := []key.Binding{k.Confirm, k.Resend, k.Discard}
	switch {
	case m.bulk != nil:
		return []key.Binding{k.Back}
	case m.open:
		return append(decide, k.Item, k.Pager, k.Down, k.Up, k.Back)
	case m.marks.len() > 0:
		return append(decide, k.Mark, k.Unmark, k.MarkAll)
	}
	return append(decide, k.Open, k.Mark, k.MarkAll, k.Kind, k.Reason, k.OnlyRun, k.Filter, k.Pager)
}

// Update takes keys, what was read and how decisions ended.
func (m *Model) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		return tea.Batch(m.key(msg), m.ask())
	case gone:
		return m.note(msg)
	case ghostsOver:
		return tea.Batch(m.exorcise(), m.ask())
	case evidenceDue:
		return m.readEvidence(msg.key)
	case decided:
		for _, key := range msg.others {
			delete(m.asking, key)
		}
		return tea.Batch(m.leave(msg.keys), m.ask())
	case marked:
		return m.takeMarks(msg)
	case startBulk:
		m.bulk = msg.bulk
		return m.step()
	case bulkStep:
		return m.bulkStep(msg)
	}
	if m.list.Accept(msg) {
		return tea.Batch(m.refresh(), m.ask())
	}
	_ = m.counts.Accept(msg) || m.evidence.Accept(msg)
	return nil
}

func (m *Model) key(msg tea.KeyMsg) tea.Cmd {
	k := m.env.Keys
	switch {
	case key.Matches(msg, k.Confirm):
		return m.decide(ledger.Confirm)
	case key.Matches(msg, k.Resend):
		return m.decide(ledger.Resend)
	case key.Matches(msg, k.Discard):
		return m.decide(ledger.Discard)
	case key.Matches(msg, k.Pager):
		return m.pager()
	case m.open && key.Matches(msg, k.Item):
		by := 1
		if key.Matches(msg, k.Left) {
			by = -1
		}
		m.table.Move(rows{m}, by)
		return m.list.Look(m.table.Index(), m.env.Local())
	case key.Matches(msg, k.Focus), key.Matches(msg, k.Open):
		m.open = !m.open && len(m.shown) > 0
		return nil
	case m.open:
		screen.ScrollText(k, msg, &m.text)
		return nil
	case key.Matches(msg, k.Mark):
		if it, ok := m.Selected(); ok && it.Gone == "" {
			m.marks.toggle(it)
		}
		m.table.Move(rows{m}, 1)
		return m.list.Look(m.table.Index(), m.env.Local())
	case key.Matches(msg, k.MarkAll):
		return m.markAll()
	case key.Matches(msg, k.Unmark):
		m.marks.clear()
		return nil
	case key.Matches(msg, k.Kind):
		m.nextKind()
		return nil
	case key.Matches(msg, k.Reason):
		m.nextReason()
		return nil
	case key.Matches(msg, k.OnlyRun):
		m.onlyRun()
		return nil
	}
	cmd, _ := screen.Scroll(k, msg, &m.table, rows{m}, m.list, m.env.Local())
	return cmd
}

// Command carries out "kind", "reason" and "run", which narrow the queue, and "confirm", "resend" and "discard", which
// decide what is selected.
func (m *Model) Command(name, arg string) (tea.Cmd, bool) {
	by := m.by
	switch name {
	case "kind":
		by.kind = arg
	case "reason":
		by.reason = arg
	case "run":
		by.run = arg
	case "confirm":
		return m.decide(ledger.Confirm), true
	case "resend":
		return m.decide(ledger.Resend), true
	case "discard":
		return m.decide(ledger.Discard), true
	default:
		return nil, false
	}
	m.narrow(by)
	return nil, true
}

func (m *Model) pager() tea.Cmd {
	v := m.evidence.Value
	if it, ok := m.Selected(); !ok || v.Effect.Key != it.Key {
		return m.env.Tell(toast.Info, text.Loading)
	}
	return m.env.Pager(v.document())
}
