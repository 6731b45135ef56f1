package review

import (
	"cmp"
	"slices"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

const (
	sureFrom = 20 // from so many rows on, their number is typed
	perStep  = 20 // decisions between two looks at the keyboard
)

// bulk is a decision on many rows that is being carried out.
type bulk struct {
	verdict      ledger.Verdict
	note         string
	force        bool
	todo         []mark
	total        int
	done, others int
	refused      int
	lastErr      string
	stopped      bool
}

// bulkStep is what one step did.
type bulkStep struct {
	done    []string
	others  int
	refused int
	err     error // the last one that was not somebody else's decision
}

// decideMany is the form for the marked rows: first the summary, then the decision.
func (m *Model) decideMany(v ledger.Verdict) tea.Cmd {
	e, w := m.env, words[v]
	all := m.marks.all()
	n := len(all)
	spec := form.Spec{
		Title: e.N(w.titleMany, int64(n)),
		Body: func(_ form.Values, width int) layout.Block {
			body := append(m.breakdown(all, width), "")
			body = append(body, e.Paragraph(e.S(w.whatMany), e.Theme.Text, width)...)
			if waiting, last := until(all, e.Now()); waiting > 0 {
				body = append(body, "")
				body = append(body, e.Paragraph(e.Theme.Warning+" "+e.N(text.BulkQuarantine, waiting, e.Duration(last.Sub(e.Now()))), e.Theme.Warn, width)...)
			}
			return body
		},
		Fields: []form.Field{noteField(e)},
		Submit: e.S(w.button),
		Danger: true,
		Do: func(values form.Values) (func() (tea.Msg, error), string) {
			b := &bulk{verdict: v, note: values["note"], force: values["force"] == "yes", todo: all, total: n}
			return func() (tea.Msg, error) { return screen.Changed{Then: startBulk{b}}, nil }, ""
		},
	}
	if waiting, _ := until(all, e.Now()); waiting > 0 {
		spec.Fields = append(spec.Fields, forceField(e))
	}
	if n >= sureFrom {
		spec.Fields = append(spec.Fields, form.Field{Name: "sure", Label: e.S(text.BulkType, n), Check: func(s string) string {
			if s != strconv.Itoa(n) {
				return e.S(text.BulkMismatch, n)
			}
			return ""
		}})
	}
	return e.Form(spec)
}

// startBulk sets a decision on many rows going.
type startBulk struct{ bulk *bulk }

// breakdown counts the marked rows by kind and reason.
func (m *Model) breakdown(all []mark, w int) layout.Block {
	type group struct{ kind, reason string }
	counts := map[group]int64{}
	for _, mk := range all {
		counts[group{mk.Kind, mk.Reason}]++
	}
	groups := make([]group, 0, len(counts))
	for g := range counts {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.kind, b.kind), cmp.Compare(a.reason, b.reason))
	})
	const most = 6
	wide := text.Width(m.env.Int(int64(len(all))))
	var out layout.Block
	for i, g := range groups {
		if i == most {
			rest := int64(0)
			for _, g := range groups[i:] {
				rest += counts[g]
			}
			out = append(out, m.env.Theme.Muted.Render(text.PadLeft(m.env.Int(rest), wide)+"  …"))
			break
		}
		t := m.env.Theme
		out = append(out, text.Truncate(t.Bold.Render(text.PadLeft(m.env.Int(counts[g]), wide))+"  "+
			t.Text.Render(text.Clean(g.kind))+"  "+t.Warn.Render(text.Clean(g.reason))+t.Muted.Render(m.reason(g.reason)), w))
	}
	return out
}

// step decides the next few rows.
func (m *Model) step() tea.Cmd {
	b := m.bulk
	chunk := b.todo[:min(perStep, len(b.todo))]
	for _, mk := range chunk {
		m.begin(mk.Key)
	}
	verdict, note, force, now := b.verdict, b.note, b.force, m.env.Now
	return func() tea.Msg {
		var out bulkStep
		for _, mk := range chunk {
			d := ledger.Decision{Key: mk.Key, Verdict: verdict, Note: note, Seen: mk.Version, Force: force && mk.Until.After(now()), Origin: m.origin}
			other, err := m.record(d)
			switch {
			case err != nil:
				out.refused++
				out.err = err
			case other != "":
				out.others++
				out.done = append(out.done, mk.Key)
			default:
				out.done = append(out.done, mk.Key)
			}
			if m.env.Ctx.Err() != nil {
				break
			}
		}
		return out
	}
}

// bulkStep takes the outcome of a step and goes on, unless it was told to stop or nothing works any more.
func (m *Model) bulkStep(msg bulkStep) tea.Cmd {
	b := m.bulk
	if b == nil {
		return nil
	}
	n := min(perStep, len(b.todo))
	b.todo = b.todo[n:]
	b.done += len(msg.done) - msg.others
	b.others += msg.others
	b.refused += msg.refused
	if msg.err != nil {
		b.lastErr = text.CleanLine(m.env.Remark(msg.err.Error()))
	}
	left := m.leave(msg.done)
	if len(b.todo) > 0 && !b.stopped && msg.refused < n {
		return tea.Batch(left, m.step())
	}
	m.bulk = nil
	return tea.Batch(left, m.ask(), m.report(b))
}

// report says how it ended. What was not decided stays marked.
func (m *Model) report(b *bulk) tea.Cmd {
	e := m.env
	line := e.N(text.BulkDone, int64(b.done))
	kind := toast.Good
	if b.others > 0 {
		line += "; " + e.N(text.BulkOthers, int64(b.others))
		kind = toast.Warn
	}
	if b.refused > 0 {
		line += "; " + e.N(text.BulkRefused, int64(b.refused)) + ": " + b.lastErr
		kind = toast.Bad
	}
	if len(b.todo) > 0 {
		line += "; " + e.N(text.BulkLeft, int64(len(b.todo)))
		kind = toast.Warn
	}
	return screen.Send(screen.Toast{Kind: kind, Text: line})
}
