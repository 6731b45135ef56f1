package schedule

import (
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// rows are the slots as a table shows them.
type rows struct{ *Model }

func (r rows) Len() int { return len(r.list.Rows()) }

func (r rows) ID(i int) string {
	f := r.list.Rows()[i]
	return f.Task + " " + f.Slot.UTC().Format(time.RFC3339Nano)
}

func (r rows) Row(i int) table.Row {
	e, f := r.env, r.list.Rows()[i]
	t := e.Theme
	symbol, word, style := r.state(f.State)
	took := text.None
	if f.FinishedAt != nil {
		took = e.Duration(f.FinishedAt.Sub(f.ClaimedAt))
	}
	late, lateStyle := text.None, t.Muted
	if behind := f.ClaimedAt.Sub(f.Slot); behind >= time.Minute {
		late, lateStyle = e.Duration(behind), t.Warn
	}
	return table.Row{Cells: []table.Cell{
		{Text: e.Short(f.Slot), Style: t.Text},
		{Text: f.Task, Style: t.Bold},
		{Text: symbol + " " + word, Style: style},
		{Text: took, Style: t.Text},
		{Text: late, Style: lateStyle},
		{Text: f.Host, Style: t.Muted},
		{Text: e.Remark(f.Detail), Style: t.Muted},
	}}
}

func (m *Model) state(s string) (symbol, word string, style theme.Style) {
	t, e := m.env.Theme, m.env
	switch s {
	case "executando":
		return t.Running, e.S(text.StateRunning), t.Accent
	case "concluido":
		return t.Done, e.S(text.StateDone), t.Good
	case "falhou":
		return t.Failed, e.S(text.StateFailed), t.Bad
	case "perdido":
		return t.Cancelled, e.S(text.StateMissed), t.Warn
	}
	return t.Dot, text.Clean(s), t.Muted
}

// View draws what comes next, who is there to do it, and what was.
func (m *Model) View(w, h int) layout.Block {
	var top layout.Block
	if w >= 110 {
		half := (w - 2) / 2
		next, hosts := m.nextBlock(half), m.hostBlock(w-half-2)
		n := max(len(next), len(hosts))
		top = layout.Beside("  ", layout.Fit(next, half, n), layout.Fit(hosts, w-half-2, n))
	} else {
		top = append(m.nextBlock(w), m.hostBlock(w)...)
	}
	if most := max(h-6, h/2); len(top) > most {
		top = top[:max(most, 0)]
	}
	out := append(layout.Fit(top, w, len(top)), m.env.Section(m.env.S(text.SectionFirings), screen.Place(m.env, m.table.Index(), rows{m}.Len(), m.total.Value, m.list), w))
	if !m.list.Loaded() {
		return layout.Fit(append(out, "", "  "+m.env.Theme.Muted.Render(m.env.S(text.Loading))), w, h)
	}
	f, ok := m.selected()
	below := layout.Block(nil)
	if ok && f.Detail != "" && h >= 16 {
		below = append(layout.Block{m.env.Section(text.Clean(f.Task)+"  "+m.env.Time(f.Slot), text.Clean(f.Host), w)}, m.env.Paragraph(text.CleanLine(m.env.Remark(f.Detail)), m.env.Theme.Text, w)...)
		below = below[:min(len(below), 5)]
	}
	out = append(out, m.table.View(rows{m}, w, max(h-len(out)-len(below), 2), true)...)
	return layout.Fit(append(out, below...), w, h)
}

func (m *Model) selected() (batch.Firing, bool) {
	if i := m.table.Index(); i < len(m.list.Rows()) {
		return m.list.Rows()[i], true
	}
	return batch.Firing{}, false
}

func (m *Model) nextBlock(w int) layout.Block {
	e := m.env
	t := e.Theme
	out := layout.Block{e.Section(e.S(text.SectionNext), "", w)}
	if len(m.next.Value) == 0 {
		return append(out, t.Muted.Render(text.Truncate(e.S(text.NextNone), w)))
	}
	names := 0
	for _, n := range m.next.Value {
		names = max(names, min(text.Width(text.Clean(n.Task)), 24))
	}
	for _, n := range m.next.Value {
		left := n.Next.Sub(e.Now())
		in := e.S(text.NextIn, e.Age(left))
		if left < time.Minute {
			in = e.S(text.NextIn, e.Duration(left))
		}
		line := t.Bold.Render(text.Pad(text.Clean(n.Task), names)) + "  " + t.Text.Render(e.Minute(n.Next)) + t.Accent.Render("  "+in)
		spec := text.Truncate(text.Clean(n.Spec), max(w-text.Width(line)-2, 0))
		out = append(out, layout.Ends(line, t.Muted.Render(spec), w))
	}
	return out
}

func (m *Model) hostBlock(w int) layout.Block {
	e := m.env
	t := e.Theme
	out := layout.Block{e.Section(e.S(text.SectionHosts), "", w)}
	if len(m.hosts.Value) == 0 {
		if !m.hosts.Loaded {
			return append(out, t.Muted.Render(e.S(text.Loading)))
		}
		return append(out, t.Warn.Render(text.Truncate(t.Warning+" "+e.S(text.NoHosts), w)))
	}
	names := screen.HostNames(m.hosts.Value, w/3)
	for _, h := range m.hosts.Value {
		symbol, style, state := t.Running, t.Good, t.Muted.Render(e.S(text.HostUp, e.Ago(h.StartedAt)))
		if silence := e.Now().Sub(h.SeenAt); silence > screen.HostSilent {
			symbol, style, state = t.Failed, t.Bad, t.Bad.Render(e.S(text.HostSilent, e.Age(silence)))
		}
		line := style.Render(symbol) + " " + t.Text.Render(text.Pad(screen.HostName(h), names)) + "  " + state
		out = append(out, e.HostLine(line, h, w))
	}
	return out
}
