package action

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// CanRevert reports whether a replay is an apply that stands still.
func CanRevert(r batch.Replay) bool {
	switch r.State {
	case batch.Done, batch.Partial, batch.Failed, batch.Cancelled, batch.Paused, "": // "": not known; the database decides
		return r.Mode != batch.Simulate
	case batch.Running, batch.Queued:
	}
	return false
}

// Revert asks for a replay's id before it undoes the state that the replay wrote. What others wrote since stays, and
// effects cannot be undone: the dialog says both.
func Revert(e *screen.Env, c Controller, r batch.Replay) tea.Cmd {
	id := text.Clean(r.ID)
	if !CanRevert(r) {
		_, word, _ := e.StateOf(r.State)
		if r.Mode == batch.Simulate {
			return e.Tell(toast.Warn, text.RevertSimulation, id)
		}
		return e.Tell(toast.Warn, text.ActionNotNow, id, word)
	}
	return e.Form(form.Spec{
		Title: e.S(text.RevertTitle, id),
		Body: func(_ form.Values, w int) layout.Block {
			body := e.Paragraph(e.S(text.RevertWhat), e.Theme.Text, w)
			if s := r.Summary; s != nil {
				body = append(body, "")
				body = append(body, e.Facts().
					Add(text.LabelChanges, e.S(text.AccountOrders, e.Int(s.Orders), e.Int(s.Changed))).Block(w)...)
				body = append(body, e.Effects(s.Effects, false, w)...)
			}
			return body
		},
		Fields: []form.Field{signature(e, r.ID)},
		Submit: e.S(text.RevertButton),
		Danger: true,
		Do: func(form.Values) (func() (tea.Msg, error), string) {
			return func() (tea.Msg, error) {
				ctx, cancel := context.WithTimeout(e.Ctx, 10*screen.Long)
				defer cancel()
				reverted, left, err := c.Revert(ctx, r.ID)
				if err != nil {
					return nil, err
				}
				return screen.Changed{Toast: screen.Toast{Kind: toast.Good, Text: e.S(text.RevertDone, e.Int(reverted), id, e.Int(left))}}, nil
			}, ""
		},
	})
}

// signature is the field in which an id is typed before something that matters is done.
func signature(e *screen.Env, id string) form.Field {
	return form.Field{
		Name: "id", Label: e.S(text.ApproveType, text.Clean(id)),
		Check: func(v string) string {
			if v != id {
				return e.S(text.ApproveMismatch, text.Clean(id))
			}
			return ""
		},
	}
}
