package replays

import (
	"maps"
	"slices"
	"strings"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/screen/action"
	"reprise.dev/reprise/tui/text"
)

// Len is the number of replays in memory.
func (m *Model) Len() int { return len(m.list.Rows()) }

// ID of a row is the replay's; see [table.Source].
type rows struct{ *Model }

func (r rows) ID(i int) string { return r.list.Rows()[i].ID }

// Row draws one replay.
func (m *Model) Row(i int) table.Row {
	e, r := m.env, m.list.Rows()[i]
	t := e.Theme
	symbol, word, style := e.StateOf(r.State)
	events := text.None
	if r.Events != nil {
		events = e.Int(*r.Events)
	}
	idStyle := t.Text
	if r.State == batch.Running {
		idStyle = t.Bold
	}
	mode := t.Muted
	if r.Mode == batch.Apply {
		mode = t.Text
	}
	return table.Row{Cells: []table.Cell{
		{Text: symbol + " " + word, Style: style},
		{Text: r.ID, Style: idStyle},
		{Text: e.Mode(r.Mode), Style: mode},
		{Text: e.Scope(r.Scope), Style: t.Muted},
		{Text: events, Style: t.Text},
		{Text: m.share(r), Style: style},
		{Text: r.RequestedBy, Style: t.Muted},
		{Text: e.Ago(r.CreatedAt), Style: t.Muted},
	}}
}

// share is how much of a replay is done.
func (m *Model) share(r batch.Replay) string {
	if p, ok := m.bars.Value[r.ID]; ok && r.Events != nil {
		switch p.Stage {
		case batch.Projecting:
			return "1/3 " + m.env.Share(p.StageDone, p.StageAll)
		case batch.Writing:
			return "2/3 " + m.env.Share(p.StageDone, p.StageAll)
		case batch.Working:
		}
		return m.env.Percent(min(p.Settled, *r.Events), *r.Events)
	}
	if short(r) {
		read, known := m.ended[endedKey(r)]
		if !known {
			return text.None
		}
		return m.env.Percent(min(read, *r.Events), *r.Events)
	}
	if s := r.Summary; s != nil && s.Events > 0 {
		return m.env.Percent(s.Read-s.Poison, s.Events)
	}
	if r.State == batch.Done && r.Events != nil && *r.Events == 0 {
		return text.None
	}
	if r.State == batch.Done {
		return "100 %"
	}
	return text.None
}

// View draws the list, with the selected replay's particulars below or, on a wide screen, at its right.
func (m *Model) View(w, h int) layout.Block {
	e := m.env
	if w >= 150 {
		side := min(w/3, 76)
		left := m.listBlock(w-side-2, h)
		right := layout.Fit(m.detail(side), side, h)
		return layout.Beside("  ", left, right)
	}
	if h < 16 {
		return m.listBlock(w, h)
	}
	below := m.detail(w)
	room := min(len(below), max(h/2, h-m.Len()-2)) // a short list leaves its room
	out := m.listBlock(w, h-room)
	if len(below) > room && room > 0 {
		below[room-1] = e.Theme.Muted.Render("…")
	}
	return append(out, layout.Fit(below, w, room)...)
}

func (m *Model) listBlock(w, h int) layout.Block {
	e := m.env
	title := e.S(text.ReplaysTitle)
	if m.filter != "" {
		title += " /" + text.Clean(m.filter)
	}
	out := layout.Block{e.Section(title, screen.Place(e, m.table.Index(), m.Len(), m.total.Value, m.list), w)}
	if !m.list.Loaded() {
		return layout.Fit(append(out, "", "  "+e.Theme.Muted.Render(e.S(text.Loading))), w, h)
	}
	m.table.Empty = e.Nothing(text.ReplaysEmpty, m.filter != "")
	return append(out, m.table.View(rows{m}, w, h-1, true)...)
}

func (m *Model) detail(w int) layout.Block {
	e := m.env
	r, ok := m.Selected()
	if !ok {
		return nil
	}
	t := e.Theme
	out := layout.Block{e.Section(text.Clean(r.ID), "", w)}
	f := e.Facts()
	if r.Waiting != "" {
		f.Add(text.LabelWaiting, text.CleanLine(e.Remark(r.Waiting)), t.Info)
	}
	if r.Error != "" {
		f.Add(text.LabelError, text.CleanLine(e.Remark(r.Error)), t.Bad)
	}
	if r.Holder != "" {
		held := text.Clean(r.Holder)
		if r.HolderSince != nil {
			held += ", " + e.S(text.Since, e.Time(*r.HolderSince))
		}
		f.Add(text.LabelHolder, held, t.Warn)
	}
	f.Add(text.LabelScope, e.Scope(r.Scope)).Add(text.LabelUTC, e.ScopeUTC(r.Scope))
	for _, kind := range slices.Sorted(maps.Keys(r.Rules)) {
		f.Add(text.LabelEffect, text.Clean(kind)+": "+action.Rule(e, r.Rules[kind]))
	}
	by := text.Clean(r.RequestedBy) + ", " + e.Time(r.CreatedAt)
	f.Add(text.LabelRequestedBy, by)
	if r.ApprovedBy != "" {
		f.Add(text.LabelApprovedBy, text.Clean(r.ApprovedBy))
	}
	f.Add(text.LabelSimulation, text.Clean(r.Simulation))
	f.Add(text.LabelCut, m.cut(r))
	if r.StartedAt != nil {
		f.Add(text.LabelStarted, e.Time(*r.StartedAt))
	}
	if r.FinishedAt != nil {
		took := e.Time(*r.FinishedAt)
		if r.StartedAt != nil {
			took += " (" + e.Duration(r.FinishedAt.Sub(*r.StartedAt)) + ")"
		}
		f.Add(text.LabelFinished, took)
	}
	if r.CodeVersion != "" {
		f.Add(text.LabelVersion, text.Clean(r.CodeVersion), t.Muted)
	}
	out = append(out, f.Block(w)...)
	if r.Summary != nil {
		out = append(out, screen.Account(e, r, w)...)
	}
	for _, warning := range e.Warnings(r.ID) {
		out = append(out, t.Warn.Render(text.Truncate(t.Warning+" "+warning, w)))
	}
	return out
}

// cut says how the run is cut and bounded.
func (m *Model) cut(r batch.Replay) string {
	e := m.env
	parts := []string{e.N(text.CountPartitions, int64(r.Partitions)), e.S(text.CountPriority, r.Priority)}
	if r.Limits.Effects > 0 {
		parts = append(parts, e.N(text.LimitEffects, r.Limits.Effects))
	}
	return strings.Join(parts, " "+e.Theme.Dot+" ")
}
