package review

import (
	"strconv"
	"strings"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/component/chart"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// rows are the effects as a table shows them.
type rows struct{ *Model }

func (r rows) Len() int        { return len(r.shown) }
func (r rows) ID(i int) string { return r.shown[i].Key }

func (r rows) Row(i int) table.Row {
	e, it := r.env, r.shown[i]
	t := e.Theme
	if it.Gone != "" {
		return table.Row{
			Mark: t.Done, Cells: []table.Cell{{Text: it.EventID, Style: t.Muted}, {}},
			Note: &table.Cell{Text: it.Gone, Style: t.Warn},
		}
	}
	mark := ""
	if r.marks.has(it.Key) {
		mark = t.Mark
	}
	ready, style := t.Done, t.Good
	if left := it.Until.Sub(e.Now()); left > 0 {
		ready, style = e.Duration(left), t.Warn
	}
	return table.Row{Mark: mark, Cells: []table.Cell{
		{Text: it.EventID, Style: t.Text},
		{Text: it.Kind, Style: t.Text},
		{Text: it.Reason, Style: t.Warn},
		{Text: strconv.Itoa(it.Attempts), Style: t.Muted},
		{Text: ready, Style: style},
		{Text: it.Execution, Style: t.Muted},
		{Text: e.Ago(it.Since), Style: t.Muted},
	}}
}

// View draws the queue, and the detail beside it or in its place.
func (m *Model) View(w, h int) layout.Block {
	m.width = w
	if m.wide() {
		list := min(max(w*9/20, 64), 92)
		return layout.Beside("  ", m.queueBlock(list, h, !m.open), m.detailBlock(w-list-2, h, m.open))
	}
	if m.open {
		return m.detailBlock(w, h, true)
	}
	return m.queueBlock(w, h, true)
}

func (m *Model) queueBlock(w, h int, focused bool) layout.Block {
	e := m.env
	title := e.S(text.ReviewTitle) + m.by.words()
	counts := m.narrowed()
	remark := screen.Place(e, m.table.Index(), len(m.shown), batch.Count{Rows: counts.total}, m.list)
	if n := m.marks.len(); n > 0 {
		remark = e.N(text.MarkedCount, int64(n)) + "  " + remark
	}
	out := layout.Block{e.FocusedSection(title, remark, w, focused && m.wide())}
	out = append(out, m.tally(counts, w)...)
	if b := m.bulk; b != nil {
		done := int64(b.total - len(b.todo))
		label := " " + e.S(text.BulkProgress, e.Int(done), e.Int(int64(b.total)))
		out = append(out, chart.Bar(e.Theme, done, int64(b.total), max(w-text.Width(label), 4), e.Theme.Accent)+e.Theme.Bold.Render(label))
	}
	if !m.list.Loaded() {
		return layout.Fit(append(out, "", "  "+e.Theme.Muted.Render(e.S(text.Loading))), w, h)
	}
	m.table.Empty = e.Nothing(text.ReviewEmpty, !m.by.none())
	return layout.Fit(append(out, m.table.View(rows{m}, w, max(h-len(out), 2), focused)...), w, h)
}

// tally is what the filters show.
type tally struct {
	total    int64
	reasons  []string
	byReason map[string]int64
	oldest   time.Time
}

// narrowed counts what the filters show.
func (m *Model) narrowed() tally {
	n := tally{byReason: map[string]int64{}}
	if !m.counts.Loaded {
		return n
	}
	for _, c := range m.counts.Value {
		if m.by.kind != "" && c.Kind != m.by.kind || m.by.reason != "" && c.Reason != m.by.reason {
			continue
		}
		n.total += c.Effects
		if n.byReason[c.Reason] == 0 {
			n.reasons = append(n.reasons, c.Reason)
		}
		n.byReason[c.Reason] += c.Effects
		if n.oldest.IsZero() || c.Oldest.Before(n.oldest) {
			n.oldest = c.Oldest
		}
	}
	return n
}

// tally says how many effects the filters show, by reason.
func (m *Model) tally(n tally, w int) layout.Block {
	e := m.env
	t := e.Theme
	if n.total == 0 {
		return nil
	}
	parts := make([]string, len(n.reasons))
	for i, reason := range n.reasons {
		parts[i] = e.Int(n.byReason[reason]) + " " + text.Clean(reason)
	}
	line := t.Bold.Render(e.N(text.ReviewCount, n.total)) + t.Muted.Render("  "+strings.Join(parts, " "+t.Dot+" "))
	return layout.Block{layout.Ends(line, t.Muted.Render("  "+e.S(text.ReviewOldest, e.Ago(n.oldest))), w)}
}

func (m *Model) detailBlock(w, h int, focused bool) layout.Block {
	e := m.env
	it, ok := m.Selected()
	if !ok {
		return layout.Fit(layout.Block{e.FocusedSection(e.S(text.SectionEvidence), "", w, focused)}, w, h)
	}
	out := layout.Block{e.FocusedSection(screen.Quote(it.Key), "", w, focused)}
	lines := m.detail(it, w-1)
	return layout.Fit(append(out, m.text.View(e.Theme, it.Key, lines, w, max(h-1, 1))...), w, h)
}

// detail is all that is known of an effect, most telling first.
func (m *Model) detail(it item, w int) layout.Block {
	e := m.env
	t := e.Theme
	var out layout.Block
	if it.Gone != "" {
		out = append(out, e.Paragraph(t.Done+" "+it.Gone, t.Warn, w)...)
	}
	for _, warning := range e.Warnings(it.EventID) {
		out = append(out, e.Paragraph(t.Warning+" "+warning, t.Warn, w)...)
	}
	v := m.evidence.Value
	known := v.Effect.Key == it.Key
	row := it.UncertainEffect
	deadline := it.Until
	if known && v.Found {
		row, deadline = v.Effect, v.Until
	}
	f := e.Facts().
		Add(text.ColReason, text.Clean(row.Reason)+m.reason(row.Reason), t.Warn).
		Add(text.LabelSince, e.Time(row.Since)+" ("+e.Ago(row.Since)+")").
		Add(text.LabelAttempts, strconv.Itoa(row.Attempts)).
		Add(text.ColRun, text.Clean(row.Execution)).
		Add(text.LabelPolicy, m.policy(row.OnFailure))
	if left := deadline.Sub(e.Now()); left > 0 {
		f.Add(text.LabelQuarantine, e.S(text.QuarantineLeft, e.Duration(left)), t.Warn)
	} else if it.Gone == "" {
		f.Add(text.LabelQuarantine, t.Done+" "+e.S(text.QuarantineOver), t.Good)
	}
	if row.NextLookUp != nil {
		f.Add(text.LabelNextLookUp, e.Time(*row.NextLookUp)+" ("+e.N(text.LookUpsMade, int64(row.LookUps))+")")
	} else if row.LookUps > 0 {
		f.Add(text.LabelNextLookUp, e.N(text.LookUpsMade, int64(row.LookUps)))
	}
	out = append(out, f.Block(w)...)
	if !known {
		return append(out, "", t.Muted.Render(e.S(text.Loading)))
	}
	return append(out, m.proof(v, w)...)
}

// proof is what was to be sent, what happened, and the event behind it.
func (m *Model) proof(v evidence, w int) layout.Block {
	e := m.env
	t := e.Theme
	var out layout.Block
	if v.Found { // what was settled meanwhile is not read any more: nothing is said of what is not known
		out = append(out, "", e.Section(e.S(text.SectionContent), e.Bytes(len(v.Effect.Content)), w))
		out = append(out, e.JSON(v.Effect.Content, w)...)
	}

	if answers := v.lookUps(); len(answers) > 0 {
		out = append(out, "", e.Section(e.S(text.SectionLookUps), "", w))
		out = append(out, m.occurrences(answers, w)...)
	}
	out = append(out, "", e.Section(e.S(text.SectionOccurrences), "", w))
	happened := v.happened()
	if len(happened) == 0 {
		out = append(out, t.Muted.Render(e.S(text.OccurrencesNone)))
	}
	out = append(out, m.occurrences(happened, w)...)
	if len(v.Decisions) > 0 {
		out = append(out, "", e.Section(e.S(text.SectionDecisions), "", w))
		for _, d := range v.Decisions {
			line := t.Muted.Render(e.Time(d.At)+"  ") + t.Bold.Render(e.Verdict(d.Verdict)) + t.Text.Render("  "+text.Clean(d.Reviewer))
			if d.Forced {
				line += t.Bad.Render("  " + e.S(text.DecisionForced))
			}
			out = append(out, text.Truncate(line, w))
			out = append(out, e.Indented(text.CleanLine(excerpt(d.Note)), t.Text, w)...)
			out = append(out, e.Indented(text.CleanLine(excerpt(d.Origin)), t.Muted, w)...)
		}
	}

	out = append(out, "", e.Section(e.S(text.SectionEvent), e.Bytes(len(v.Event.Payload)), w))
	if v.NoEvent {
		return append(out, t.Warn.Render(text.Truncate(t.Warning+" "+e.S(text.EventMissing), w)))
	}
	out = append(out, e.Facts().
		Add(text.ColEvent, screen.Quote(v.Event.ID)).
		Add(text.ColType, text.Clean(v.Event.Type)).
		Add(text.ColOrder, screen.Quote(v.Event.OrderID)+", "+e.S(text.VersionOf, e.Int(v.Event.Version))).
		Add(text.ColOccurred, e.Time(v.Event.OccurredAt)).
		Add(text.ColPosition, e.Int(v.Event.Position)).Block(w)...)
	for _, warning := range e.Warnings(v.Event.OrderID) {
		out = append(out, e.Paragraph(t.Warning+" "+warning, t.Warn, w)...)
	}
	return append(out, e.JSON(v.Event.Payload, w)...)
}

func (m *Model) occurrences(list []ledger.Occurrence, w int) layout.Block {
	e, t := m.env, m.env.Theme
	var out layout.Block
	for _, o := range list {
		out = append(out, text.Truncate(t.Muted.Render(e.Time(o.At)+"  ")+t.Warn.Render(m.occurrence(o.Kind))+t.Muted.Render("  "+text.Clean(o.Execution)), w))
		out = append(out, e.Indented(text.CleanLine(excerpt(m.happened(o.Text))), t.Text, w)...)
		if len(o.Answer) > 0 {
			for _, line := range e.JSON(o.Answer, w-2) {
				out = append(out, "  "+line)
			}
		}
	}
	return out
}

func excerpt(s string) string {
	if len(s) > text.Excerpt {
		return s[:text.Excerpt] + "…"
	}
	return s
}
