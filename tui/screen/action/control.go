// Package action is what a person can do to a replay, from whichever screen: each action says first what it
// will set going, and does it only then.
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

// Controller stops and starts replays.
type Controller interface {
	Pause(ctx context.Context, id string) error
	// Resume carries on, under other limits if any are given.
	Resume(ctx context.Context, id string, limits *batch.Limits) error
	Cancel(ctx context.Context, id string) error
	// Revert undoes the state that an apply wrote and nobody overwrote since.
	Revert(ctx context.Context, id string) (reverted, left int64, err error)
}

// Which actions a state allows. A state that is not known ("") allows all: the database decides.
func canPause(s batch.State) bool { return s == "" || s == batch.Running || s == batch.Queued }
func canResume(s batch.State) bool {
	return s == "" || s == batch.Paused || s == batch.Partial || s == batch.Failed
}
func canCancel(s batch.State) bool {
	return s == "" || s == batch.Queued || s == batch.Running || s == batch.Paused
}

type verb struct {
	title, what, button, done text.M
	allowed                   func(batch.State) bool
	danger                    bool
	fields                    []form.Field
	run                       func(ctx context.Context, id string, v form.Values) error
}

func plain(run func(context.Context, string) error) func(context.Context, string, form.Values) error {
	return func(ctx context.Context, id string, _ form.Values) error { return run(ctx, id) }
}

// Pause asks whether to pause a replay.
func Pause(e *screen.Env, c Controller, r batch.Replay) tea.Cmd {
	return ask(e, r, verb{text.PauseTitle, text.PauseWhat, text.PauseButton, text.PauseDone, canPause, false, nil, plain(c.Pause)})
}

// Resume asks whether to resume a replay.
func Resume(e *screen.Env, c Controller, r batch.Replay) tea.Cmd {
	what := text.ResumeWhat
	if r.State == batch.Partial || r.State == batch.Failed {
		what = text.ResumeAgainWhat
	}
	v := verb{text.ResumeTitle, what, text.ResumeButton, text.ResumeDone, canResume, false, nil, func(ctx context.Context, id string, v form.Values) error {
		limits, _ := parseLimit(v["limit"])
		return c.Resume(ctx, id, limits)
	}}
	if r.Limits.Effects > 0 { // it may be what stopped it
		v.fields = []form.Field{{
			Name: "limit", Label: e.S(text.ResumeLimit), Hint: e.S(text.ResumeLimitHint, e.Int(r.Limits.Effects)),
			Check: func(s string) string {
				if _, ok := parseLimit(s); !ok {
					return e.S(text.QueueBadNumber, e.S(text.ResumeLimit), e.Int(0), e.Int(mostEffects))
				}
				return ""
			},
		}}
	}
	return ask(e, r, v)
}

// Cancel asks whether to cancel a replay.
func Cancel(e *screen.Env, c Controller, r batch.Replay) tea.Cmd {
	what := text.CancelApplyWhat
	if r.Mode == batch.Simulate {
		what = text.CancelSimulationWhat
	}
	return ask(e, r, verb{text.CancelTitle, what, text.CancelButton, text.CancelDone, canCancel, true, nil, plain(c.Cancel)})
}

func ask(e *screen.Env, r batch.Replay, v verb) tea.Cmd {
	id := text.Clean(r.ID)
	if !v.allowed(r.State) {
		_, word, _ := e.StateOf(r.State)
		return e.Tell(toast.Warn, text.ActionNotNow, id, word)
	}
	return e.Form(form.Spec{
		Title: e.S(v.title, id),
		Body: func(_ form.Values, w int) layout.Block {
			body := e.Paragraph(e.S(v.what), e.Theme.Text, w)
			if r.Holder != "" {
				body = append(body, "")
				body = append(body, e.Paragraph(e.S(text.ActionHeld, text.Clean(r.Holder)), e.Theme.Warn, w)...)
			}
			return body
		},
		Fields: v.fields,
		Submit: e.S(v.button),
		Danger: v.danger,
		Do: func(values form.Values) (func() (tea.Msg, error), string) {
			return func() (tea.Msg, error) {
				ctx, cancel := context.WithTimeout(e.Ctx, screen.Quick)
				defer cancel()
				if err := v.run(ctx, r.ID, values); err != nil {
					return nil, err
				}
				return screen.Changed{Toast: screen.Toast{Kind: toast.Good, Text: e.S(v.done, id)}}, nil
			}, ""
		},
	})
}

const mostEffects = 1 << 50

// parseLimit reads a new limit of effects; "" keeps the one there is, 0 is none.
func parseLimit(s string) (*batch.Limits, bool) {
	if s == "" {
		return nil, true
	}
	n, err := parseNumber(s)
	if err != nil || n < 0 || n > mostEffects {
		return nil, false
	}
	return &batch.Limits{Effects: n}, true
}
