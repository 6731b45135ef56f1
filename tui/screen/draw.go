package screen

import (
	"strings"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// Section is a rule with a title at its left and a remark at its right.
func (e *Env) Section(title, remark string, w int) string { return e.section(title, remark, w, false) }

// FocusedSection is a Section that has the keyboard.
func (e *Env) FocusedSection(title, remark string, w int, focused bool) string {
	return e.section(title, remark, w, focused)
}

func (e *Env) section(title, remark string, w int, focused bool) string {
	t := e.Theme
	title = text.Truncate(title, max(w-4, 0))
	style := t.Title
	rule := t.Faint
	if focused {
		rule = t.Accent
	}
	room := w - text.Width(title) - 4
	if remark != "" {
		remark = text.Truncate(remark, max(room-3, 0))
	}
	line := rule.Render(t.Rule+" ") + style.Render(title) + " "
	if remark == "" {
		return text.Pad(line+rule.Render(strings.Repeat(t.Rule, max(room+1, 0))), w)
	}
	fill := max(room-text.Width(remark)-2, 0)
	return text.Pad(line+rule.Render(strings.Repeat(t.Rule, fill))+" "+t.Muted.Render(remark)+" "+rule.Render(t.Rule), w)
}

// Facts are labelled values, one below the other, with the labels in one column.
type Facts struct {
	env  *Env
	rows []fact
}

type fact struct {
	label, value string
	style        theme.Style
}

// Facts starts an empty list.
func (e *Env) Facts() *Facts { return &Facts{env: e} }

// Add appends a value, which is clean or styled by style alone; an empty one is left out.
func (f *Facts) Add(label text.M, value string, style ...theme.Style) *Facts {
	if value == "" {
		return f
	}
	s := f.env.Theme.Text
	if len(style) > 0 {
		s = style[0]
	}
	name := f.env.S(label)
	if name != "UTC" { // titles of columns serve as labels too
		name = strings.ToLower(name)
	}
	f.rows = append(f.rows, fact{name, value, s})
	return f
}

// Block lays the facts out in w columns; long values go on in further lines.
func (f *Facts) Block(w int) layout.Block {
	labels := 0
	for _, r := range f.rows {
		labels = max(labels, text.Width(r.label))
	}
	labels = min(labels, w/3)
	var out layout.Block
	for _, r := range f.rows {
		label := text.Pad(r.label, labels)
		for _, line := range text.WrapWords(r.value, max(w-labels-2, 4)) {
			out = append(out, text.Pad(f.env.Theme.Muted.Render(label)+"  "+r.style.Render(line), w))
			label = strings.Repeat(" ", labels)
		}
	}
	return out
}

// Paragraph is clean text in lines of w columns.
func (e *Env) Paragraph(s string, style theme.Style, w int) layout.Block {
	var out layout.Block
	for _, line := range text.WrapWords(s, w) {
		out = append(out, style.Render(line))
	}
	return out
}

// Indented is a Paragraph with all its lines moved to the right.
func (e *Env) Indented(s string, style theme.Style, w int) layout.Block {
	out := e.Paragraph(s, style, w-2)
	for i, line := range out {
		out[i] = "  " + line
	}
	return out
}

// StateOf is how a replay's state looks: symbol, word and style.
func (e *Env) StateOf(s batch.State) (symbol, word string, style theme.Style) {
	t := e.Theme
	switch s {
	case batch.Queued:
		return t.Queued, e.S(text.StateQueued), t.Info
	case batch.Running:
		return t.Running, e.S(text.StateRunning), t.Accent
	case batch.Paused:
		return t.Paused, e.S(text.StatePaused), t.Warn
	case batch.Done:
		return t.Done, e.S(text.StateDone), t.Good
	case batch.Partial:
		return t.Partial, e.S(text.StatePartial), t.Warn
	case batch.Failed:
		return t.Failed, e.S(text.StateFailed), t.Bad
	case batch.Cancelled:
		return t.Cancelled, e.S(text.StateCancelled), t.Muted
	}
	return t.Dot, text.Clean(string(s)), t.Muted
}

// Mode is what a replay does.
func (e *Env) Mode(m batch.Mode) string {
	switch m {
	case batch.Simulate:
		return e.S(text.ModeSimulate)
	case batch.Apply:
		return e.S(text.ModeApply)
	}
	return text.Clean(string(m))
}

// Verdict is what a person decided, as it was done.
func (e *Env) Verdict(v ledger.Verdict) string {
	switch v {
	case ledger.Confirm:
		return e.S(text.VerdictConfirmed)
	case ledger.Resend:
		return e.S(text.VerdictResent)
	case ledger.Discard:
		return e.S(text.VerdictDiscarded)
	}
	return text.Clean(string(v))
}

// Scope says in one line what a replay takes.
func (e *Env) Scope(s batch.Scope) string {
	var parts []string
	if s.From != nil && s.To != nil {
		zone := e.Printer
		if loc, err := time.LoadLocation(s.Zone); s.Zone != "" && err == nil {
			zone = text.NewPrinter(e.Language, loc)
		}
		parts = append(parts, e.window(zone, *s.From, *s.To))
	}
	if s.FirstPos != nil && s.LastPos != nil {
		parts = append(parts, e.S(text.ScopePositions, e.Int(*s.FirstPos), e.Int(*s.LastPos)))
	}
	if n := len(s.Orders); n > 0 {
		parts = append(parts, e.N(text.ScopeOrders, int64(n)))
	}
	if len(s.Types) > 0 {
		parts = append(parts, text.Clean(strings.Join(s.Types, ", ")))
	}
	if len(parts) == 0 {
		return text.None
	}
	return strings.Join(parts, " "+e.Theme.Dot+" ")
}

// window writes a window of time; one that is a whole day is said as a day.
func (e *Env) window(zone *text.Printer, from, to time.Time) string {
	day := from.In(zone.Zone)
	if h, m, s := day.Clock(); h+m+s == 0 && day.AddDate(0, 0, 1).Equal(to) {
		return e.S(text.ScopeDay, zone.Day(from))
	}
	return zone.Minute(from) + " " + e.Theme.Right + " " + zone.Minute(to)
}

// ScopeUTC is the scope's window as UTC instants, or "".
func (e *Env) ScopeUTC(s batch.Scope) string {
	if s.From == nil || s.To == nil {
		return ""
	}
	return e.UTC(*s.From) + " " + e.Theme.Right + " " + e.UTC(*s.To)
}

// Ago is how long ago something was, by the database's clock.
func (e *Env) Ago(t time.Time) string { return e.Age(e.Now().Sub(t)) }

// HostSilent is when a process that reports every five seconds is taken for lost.
const HostSilent = 20 * time.Second

// Warnings says what about identifiers may deceive the eye, one line each.
func (e *Env) Warnings(ids ...string) []string {
	var all text.Suspicion
	for _, id := range ids {
		s := text.Inspect(id)
		all.Hidden = all.Hidden || s.Hidden
		all.Mixed = all.Mixed || s.Mixed
		all.Spaced = all.Spaced || s.Spaced
	}
	var out []string
	if all.Hidden {
		out = append(out, e.S(text.WarnHidden))
	}
	if all.Mixed {
		out = append(out, e.S(text.WarnMixed))
	}
	if all.Spaced {
		out = append(out, e.S(text.WarnSpaced))
	}
	return out
}

// Quote shows an identifier so that its ends are seen.
func Quote(s string) string { return `"` + text.Clean(s) + `"` }

// JSON lays out the beginning of a value from data; its size is said if that is not all.
func (e *Env) JSON(raw []byte, w int) layout.Block {
	t := e.Theme
	if len(raw) == 0 {
		return layout.Block{t.Muted.Render(text.None)}
	}
	lines, cut := text.JSON(raw, text.Excerpt)
	var out layout.Block
	for _, line := range lines {
		for _, piece := range text.Wrap(line, w) {
			out = append(out, e.paintJSON(piece))
		}
	}
	if cut {
		out = append(out, e.Paragraph(e.S(text.JSONCut, e.Bytes(text.Excerpt), e.Bytes(len(raw)), e.Keys.Pager.Help().Key), t.Warn, w)...)
	}
	return out
}

// paintJSON sets names apart from values.
func (e *Env) paintJSON(line string) string {
	trimmed := strings.TrimLeft(line, " ")
	if !strings.HasPrefix(trimmed, `"`) {
		return e.Theme.Text.Render(line)
	}
	end := strings.Index(trimmed, `": `)
	if end < 0 {
		return e.Theme.Text.Render(line)
	}
	indent := line[:len(line)-len(trimmed)]
	return indent + e.Theme.Info.Render(trimmed[:end+1]) + e.Theme.Muted.Render(":") + e.Theme.Text.Render(trimmed[end+2:])
}
