package screen

import (
	"maps"
	"slices"
	"strings"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

type outcome struct {
	label  text.M
	symbol string
	style  theme.Style
	count  func(batch.EffectCounters) int64
	always bool // shown even if there is none
}

func (e *Env) outcomes(simulation bool) []outcome {
	t := e.Theme
	applied := text.EffectApplied
	if simulation {
		applied = text.EffectWouldApply
	}
	return []outcome{
		{applied, t.Done, t.Good, func(c batch.EffectCounters) int64 { return c.Applied }, true},
		{text.EffectRegistered, t.Dot, t.Text, func(c batch.EffectCounters) int64 { return c.Registered }, true},
		{text.EffectUncertain, t.Warning, t.Warn, func(c batch.EffectCounters) int64 { return c.Uncertain }, true},
		{text.EffectRefused, t.Failed, t.Bad, func(c batch.EffectCounters) int64 { return c.Refused }, false},
		{text.EffectPending, t.Queued, t.Info, func(c batch.EffectCounters) int64 { return c.Pending }, false},
		{text.EffectSuppressed, t.Cancelled, t.Muted, func(c batch.EffectCounters) int64 { return c.Suppressed }, false},
		{text.EffectSuperseded, t.Dot, t.Muted, func(c batch.EffectCounters) int64 { return c.Superseded }, false},
		{text.EffectDiffers, t.Partial, t.Warn, func(c batch.EffectCounters) int64 { return c.Differs }, false},
	}
}

// Effects lays out what became of effects, a kind a line: as a table if there is room, otherwise in words.
func (e *Env) Effects(effects map[string]batch.EffectCounters, simulation bool, w int) layout.Block {
	kinds := slices.Sorted(maps.Keys(effects))
	if len(kinds) == 0 {
		return layout.Block{e.Theme.Muted.Render(text.Truncate(e.S(text.EffectsNone), w))}
	}
	var columns []outcome
	for _, o := range e.outcomes(simulation) {
		shown := o.always
		for _, kind := range kinds {
			shown = shown || o.count(effects[kind]) != 0
		}
		if shown {
			columns = append(columns, o)
		}
	}
	names := 0
	for _, kind := range kinds {
		names = max(names, text.Width(text.Clean(kind)))
	}
	names = min(names, 32)
	need := names
	widths := make([]int, len(columns))
	for i, o := range columns {
		widths[i] = text.Width(e.S(o.label)) + 2
		for _, kind := range kinds {
			widths[i] = max(widths[i], text.Width(e.Int(o.count(effects[kind]))))
		}
		need += widths[i] + 3
	}
	if need > w {
		return e.effectsInWords(effects, kinds, columns, names, w)
	}
	var head strings.Builder
	head.WriteString(strings.Repeat(" ", names))
	for i, o := range columns {
		head.WriteString("   " + text.PadLeft(o.symbol+" "+e.S(o.label), widths[i]))
	}
	out := layout.Block{e.Theme.Muted.Render(head.String())}
	for _, kind := range kinds {
		line := e.Theme.Text.Render(text.Pad(text.Clean(kind), names))
		for i, o := range columns {
			n := o.count(effects[kind])
			style := o.style
			if n == 0 {
				style = e.Theme.Faint
			}
			line += "   " + style.Render(text.PadLeft(e.Int(n), widths[i]))
		}
		out = append(out, line)
	}
	return out
}

func (e *Env) effectsInWords(effects map[string]batch.EffectCounters, kinds []string, columns []outcome, names, w int) layout.Block {
	names = min(names, w/3)
	var out layout.Block
	for _, kind := range kinds {
		lead := e.Theme.Bold.Render(text.Pad(text.Clean(kind), names)) + " "
		line, used := "", 0
		room := max(w-names-1, 8)
		for _, o := range columns {
			n := o.count(effects[kind])
			if n == 0 {
				continue
			}
			piece := o.symbol + " " + e.Int(n) + " " + e.S(o.label)
			size := text.Width(piece)
			if used > 0 && used+2+size > room {
				out = append(out, text.Pad(lead+line, w))
				lead, line, used = strings.Repeat(" ", names+1), "", 0
			}
			if used > 0 {
				line += "  "
				used += 2
			}
			line += o.style.Render(piece)
			used += size
		}
		if used == 0 {
			line = e.Theme.Muted.Render(text.None)
		}
		out = append(out, text.Pad(lead+line, w))
	}
	return out
}
