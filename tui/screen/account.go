package screen

import (
	"math/big"
	"strings"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// Counters says in words where the events that were read went. Together the parts make the whole.
func (e *Env) Counters(c batch.Counters, simulation bool, w int) layout.Block {
	t := e.Theme
	written := text.CountWritten
	if simulation {
		written = text.CountWouldWrite
	}
	type part struct {
		n      int64
		label  text.M
		style  theme.Style
		always bool
	}
	parts := []part{
		{c.Read, text.CountRead, t.Bold, true},
		{c.Written, written, t.Good, true},
		{c.Unchanged, text.CountUnchanged, t.Text, true},
		{c.Newer, text.CountNewer, t.Text, false},
		{c.Passed, text.CountPassed, t.Muted, false},
		{c.Poison, text.M{}, t.Bad, false},
		{c.OtherMode, text.CountOtherMode, t.Warn, false},
	}
	var out layout.Block
	line, used := "", 0
	for _, p := range parts {
		if p.n == 0 && !p.always {
			continue
		}
		piece := e.Int(p.n) + " " + e.S(p.label)
		if p.label == (text.M{}) {
			piece = e.N(text.CountPoison, p.n)
		}
		size := text.Width(piece)
		if used > 0 && used+3+size > w {
			out = append(out, line)
			line, used = "", 0
		}
		if used > 0 {
			line += t.Faint.Render(" " + t.Dot + " ")
			used += 3
		}
		style := p.style
		if p.n == 0 {
			style = t.Muted
		}
		line += style.Render(piece)
		used += size
	}
	return append(out, line)
}

// Account is the final account of a run.
func Account(e *Env, r batch.Replay, w int) layout.Block {
	s, t := r.Summary, e.Theme
	out := layout.Block{e.Section(e.S(text.SectionAccount), e.S(text.AccountEvents, e.Int(s.Events)), w)}
	out = append(out, e.Counters(s.Counters, r.Mode == batch.Simulate, w)...)
	var more []string
	if s.Orders > 0 {
		more = append(more, e.S(text.AccountOrders, e.Int(s.Orders), e.Int(s.Changed)))
	}
	if s.Late > 0 {
		more = append(more, e.N(text.AccountLate, s.Late))
	}
	if s.GapCount > 0 {
		more = append(more, e.N(text.AccountGaps, s.GapCount)+e.gaps(s.Gaps))
	}
	if len(more) > 0 {
		out = append(out, e.Paragraph(strings.Join(more, " "+t.Dot+" "), t.Muted, w)...)
	}
	if len(s.Effects) > 0 {
		out = append(out, e.Effects(s.Effects, r.Mode == batch.Simulate, w)...)
	}
	for _, missing := range s.Missing {
		out = append(out, e.Paragraph(t.Warning+" "+text.CleanLine(e.Remark(missing)), t.Warn, w)...)
	}
	return out
}

// gaps lists the first few.
func (e *Env) gaps(gaps []batch.Gap) string {
	const most = 3
	var parts []string
	for i, g := range gaps {
		if i == most {
			parts = append(parts, "…")
			break
		}
		if g.First == g.Last {
			parts = append(parts, e.Int(g.First))
		} else {
			parts = append(parts, e.Int(g.First)+"–"+e.Int(g.Last))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// Difference is b - a of whole numbers that may exceed 64 bits, or "" if one is not a number.
func Difference(a, b string) string {
	x, ok1 := new(big.Int).SetString(a, 10)
	y, ok2 := new(big.Int).SetString(b, 10)
	if !ok1 || !ok2 {
		return ""
	}
	return y.Sub(y, x).String()
}
