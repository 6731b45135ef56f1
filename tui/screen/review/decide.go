package review

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// wording is how a decision is asked for, of one effect and of many.
type wording struct {
	title, what, button, done text.M
	titleMany                 text.Plural
	whatMany                  text.M
}

var words = map[ledger.Verdict]wording{
	ledger.Confirm: {text.ConfirmTitle, text.ConfirmWhat, text.ConfirmButton, text.ConfirmDone, text.ConfirmMany, text.ConfirmAll},
	ledger.Resend:  {text.ResendTitle, text.ResendWhat, text.ResendButton, text.ResendDone, text.ResendMany, text.ResendAll},
	ledger.Discard: {text.DiscardTitle, text.DiscardWhat, text.DiscardButton, text.DiscardDone, text.DiscardMany, text.DiscardAll},
}

// decide asks for a decision on what is marked, or else on the row that is shown.
func (m *Model) decide(v ledger.Verdict) tea.Cmd {
	if m.bulk != nil {
		return m.env.Tell(toast.Warn, text.BulkBusy)
	}
	if m.marks.len() > 0 {
		return m.decideMany(v)
	}
	it, ok := m.Selected()
	switch {
	case !ok:
		return nil
	case it.Gone != "":
		return screen.Send(screen.Toast{Kind: toast.Warn, Text: text.Clean(it.Key) + ": " + it.Gone})
	}
	mk := markOf(it)
	if ev := m.evidence.Value; ev.Found && ev.Effect.Key == it.Key { // what is on the screen in full
		mk.Version, mk.Until = ev.Effect.Version, ev.Until
	}
	return m.env.Form(m.decision(v, mk))
}

func noteField(e *screen.Env) form.Field {
	return form.Field{
		Name: "note", Label: e.S(text.DecideNote), Hint: e.S(text.DecideNoteHint),
		Check: func(s string) string {
			if s == "" {
				return e.S(text.DecideNoteMissing)
			}
			return ""
		},
	}
}

func forceField(e *screen.Env) form.Field {
	return form.Field{Name: "force", Label: e.S(text.DecideForce), Value: "no", Options: []form.Option{
		{Value: "no", Label: e.S(text.ForceNo)}, {Value: "yes", Label: e.S(text.ForceYes)}}}
}

// decision is the form for one row. What it decides is fixed here, whatever moves behind it.
func (m *Model) decision(v ledger.Verdict, mk mark) form.Spec {
	e, w := m.env, words[v]
	waiting := func() bool { return mk.Until.After(e.Now()) }
	spec := form.Spec{
		Title: e.S(w.title),
		Body: func(_ form.Values, width int) layout.Block {
			body := e.Facts().Add(text.LabelEffect, screen.Quote(mk.Key), e.Theme.Bold).Add(text.ColReason, text.Clean(mk.Reason)+m.reason(mk.Reason)).
				Add(text.LabelContent, m.content(mk.Key)).Block(width)
			for _, warning := range e.Warnings(mk.Key) {
				body = append(body, e.Paragraph(e.Theme.Warning+" "+warning, e.Theme.Warn, width)...)
			}
			body = append(body, "")
			body = append(body, e.Paragraph(e.S(w.what), e.Theme.Text, width)...)
			if waiting() {
				body = append(body, "")
				body = append(body, e.Paragraph(e.Theme.Warning+" "+e.S(text.DecideQuarantine, e.Duration(mk.Until.Sub(e.Now()))), e.Theme.Warn, width)...)
			}
			return body
		},
		Fields: []form.Field{noteField(e)},
		Submit: e.S(w.button),
		Do: func(values form.Values) (func() (tea.Msg, error), string) {
			force := values["force"] == "yes"
			if waiting() && !force {
				return nil, e.S(text.DecideQuarantineStill, e.Duration(mk.Until.Sub(e.Now())))
			}
			d := ledger.Decision{Key: mk.Key, Verdict: v, Note: values["note"], Seen: mk.Version, Force: force && waiting(), Origin: m.origin}
			m.begin(d.Key)
			return func() (tea.Msg, error) {
				other, err := m.record(d)
				if err != nil {
					return nil, err
				}
				if other != "" {
					return screen.Changed{Toast: screen.Toast{Kind: toast.Warn, Text: text.Clean(d.Key) + ": " + other}, Then: decided{others: []string{d.Key}}}, nil
				}
				return screen.Changed{Toast: screen.Toast{Kind: toast.Good, Text: e.S(w.done, text.Clean(d.Key))}, Then: decided{keys: []string{d.Key}}}, nil
			}, ""
		},
	}
	if waiting() {
		spec.Fields = append(spec.Fields, forceField(e))
	}
	return spec
}

// content is what was to be sent under a key, in a few lines; "" while it is not known.
func (m *Model) content(key string) string {
	const most = 240
	v := m.evidence.Value
	if v.Effect.Key != key {
		return ""
	}
	content := text.CleanLine(string(v.Effect.Content[:min(len(v.Effect.Content), most)]))
	if len(v.Effect.Content) > most {
		content += "… (" + m.env.Bytes(len(v.Effect.Content)) + ")"
	}
	return content
}

// record makes a decision. If that fails, the row is read again, because a lost answer may hide a decision that
// was recorded: other says how the row was settled instead; an error means that it still waits, or that nobody
// can say.
func (m *Model) record(d ledger.Decision) (other string, err error) {
	ctx, cancel := context.WithTimeout(m.env.Ctx, screen.Quick)
	defer cancel()
	_, err = m.source.Decide(ctx, d)
	if err == nil {
		return "", nil
	}
	again, stop := context.WithTimeout(m.env.Ctx, screen.Quick)
	defer stop()
	row, found, readErr := m.source.UncertainByKey(again, d.Key)
	if readErr != nil {
		return "", fmt.Errorf("%s: %w", m.env.S(text.DecideUnknown), err)
	}
	if found && row.Version.Equal(d.Seen) {
		return "", err
	}
	records, readErr := m.source.Decisions(again, d.Key)
	if readErr != nil {
		return "", fmt.Errorf("%s: %w", m.env.S(text.DecideUnknown), err)
	}
	e := m.env
	if len(records) > 0 && !records[len(records)-1].At.Before(d.Seen) {
		last := records[len(records)-1]
		if last.Verdict == d.Verdict && last.Note == d.Note && last.Origin == d.Origin {
			return "", nil // ours: only the answer was lost
		}
		return e.S(text.GoneDecided, e.Verdict(last.Verdict), text.Clean(last.Reviewer), e.Clock(last.At)), nil
	}
	if found {
		return e.S(text.GoneChanged), nil
	}
	return e.S(text.GoneSettled), nil
}

// until is the latest end of a quarantine among marks, and how many are in one.
func until(all []mark, now time.Time) (waiting int64, last time.Time) {
	for _, mk := range all {
		if mk.Until.After(now) {
			waiting++
			if mk.Until.After(last) {
				last = mk.Until
			}
		}
	}
	return waiting, last
}
