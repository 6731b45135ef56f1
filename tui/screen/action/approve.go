package action

import (
	"context"
	"maps"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// Approver turns a simulation into an apply.
type Approver interface {
	// ApprovePreview says what approving sets going; newID "" leaves the name of the apply to the program.
	ApprovePreview(ctx context.Context, id, newID string) (batch.ApprovalPreview, error)
	Approve(ctx context.Context, id, newID string) (batch.Replay, error)
}

// Approve looks at what approving a simulation would set going, and asks for the new run's id as the signature.
// newID names the new run; "": the program does.
func Approve(e *screen.Env, a Approver, r batch.Replay, newID string) tea.Cmd {
	id := text.Clean(r.ID)
	if r.Mode == batch.Apply {
		return e.Tell(toast.Warn, text.ApproveNotSimulation, id)
	}
	if r.State != "" && r.State != batch.Done && r.State != batch.Partial {
		_, word, _ := e.StateOf(r.State)
		return e.Tell(toast.Warn, text.ActionNotNow, id, word)
	}
	return tea.Batch(
		e.Tell(toast.Info, text.ApproveLooking, id),
		e.Call(screen.Long, func(ctx context.Context) (tea.Msg, error) {
			p, err := a.ApprovePreview(ctx, r.ID, newID)
			if err != nil {
				return nil, err
			}
			return screen.Show{Modal: approval(e, a, r.ID, p)}, nil
		}))
}

func approval(e *screen.Env, a Approver, id string, p batch.ApprovalPreview) *form.Form {
	newID := p.NewID
	return form.New(form.Spec{
		Title:  e.S(text.ApproveTitle, text.Clean(id)),
		Body:   func(_ form.Values, w int) layout.Block { return approvalBody(e, p, w) },
		Fields: []form.Field{signature(e, newID)},
		Submit: e.S(text.ApproveButton),
		Danger: true,
		Do: func(form.Values) (func() (tea.Msg, error), string) {
			return func() (tea.Msg, error) {
				ctx, cancel := context.WithTimeout(e.Ctx, screen.Quick)
				defer cancel()
				made, err := a.Approve(ctx, id, newID)
				if err != nil {
					return nil, err
				}
				return screen.Changed{
					Toast: screen.Toast{Kind: toast.Good, Text: e.S(text.ApproveDone, text.Clean(made.ID))},
					Then:  screen.Go{Screen: screen.Progress, Replay: made.ID},
				}, nil
			}, ""
		},
	}, e.Theme, e.Printer, e.Keys)
}

// approvalBody says first what goes out, to whom and when: on a small screen the rest is a page away.
func approvalBody(e *screen.Env, p batch.ApprovalPreview, w int) layout.Block {
	s := p.Simulation
	body := e.Paragraph(e.S(text.ApproveWhat, text.Clean(p.NewID)), e.Theme.Text, w)
	for _, d := range p.Drift {
		body = append(body, e.Paragraph(e.Theme.Warning+" "+text.CleanLine(e.Remark(d)), e.Theme.Warn, w)...)
	}
	body = append(body, e.Section(e.S(text.SectionEffects), "", w))
	body = append(body, e.Effects(p.Effects, true, w)...)
	body = append(body, rules(e, p.Rules, w)...)
	when := e.S(text.ApproveAtOnce)
	if p.Hours != "" {
		when = e.S(text.ApproveHours, text.Clean(p.Hours))
	}
	f := e.Facts().
		Add(text.LabelSending, when)
	if s.Limits.Effects > 0 {
		f.Add(text.LabelLimit, e.N(text.LimitEffects, s.Limits.Effects))
	}
	f.Add(text.LabelChanges, e.S(text.ApproveTotals, e.Int(p.Totals.Changed), e.BigMoney(p.Totals.ChangedBefore), e.BigMoney(p.Totals.ChangedAfter), e.Int(p.Totals.New), e.BigMoney(p.Totals.NewAfter))).
		Add(text.LabelScope, e.Scope(s.Scope)).
		Add(text.LabelUTC, e.ScopeUTC(s.Scope)).
		Add(text.LabelRequestedBy, text.Clean(p.RequestedBy))
	return append(append(body, ""), f.Block(w)...)
}

// rules says, per kind of effect, what will be done with it and to whom it goes.
func rules(e *screen.Env, all map[string]batch.Rule, w int) layout.Block {
	var out layout.Block
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		out = append(out, e.Paragraph(text.Clean(kind)+": "+Rule(e, all[kind]), e.Theme.Muted, w)...)
	}
	return out
}

// Rule says in a few words what is done with a kind of effect.
func Rule(e *screen.Env, r batch.Rule) string {
	if r.Mode == batch.ModeSuppress {
		return e.S(text.RuleSuppress)
	}
	after := text.Clean(string(r.OnFailure))
	switch r.OnFailure {
	case ledger.Release:
		after = e.S(text.RuleRelease)
	case ledger.Keep:
		after = e.S(text.RuleKeep)
	case ledger.LookUp:
		after = e.S(text.RuleLookUp)
	}
	when := ""
	if r.When == batch.WhenWritten {
		when = e.S(text.RuleWhenWritten)
	}
	if r.Provider == "" {
		return e.S(text.RuleApply) + when + "; " + after
	}
	return e.S(text.RuleApplyTo, text.Clean(r.Provider)) + when + "; " + after
}
