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

// Scheduler knows the schedules and runs one by hand.
type Scheduler interface {
	NextFirings() []batch.NextFiring
	// RunNow sets a task going; batch.ErrHeld says who has it at work already.
	RunNow(ctx context.Context, task string) (batch.Firing, error)
}

// RunNow asks which schedule's task to set going now; the given one is chosen at first.
func RunNow(e *screen.Env, s Scheduler, task string) tea.Cmd {
	field := form.Field{Name: "task", Label: e.S(text.RunNowTask), Value: task}
	for _, n := range s.NextFirings() {
		field.Options = append(field.Options, form.Option{Value: n.Task, Label: text.Clean(n.Task)})
	}
	if len(field.Options) == 0 {
		return e.Tell(toast.Info, text.NextNone)
	}
	return e.Form(form.Spec{
		Title:  e.S(text.RunNowTitle),
		Body:   func(_ form.Values, w int) layout.Block { return e.Paragraph(e.S(text.RunNowWhat), e.Theme.Text, w) },
		Fields: []form.Field{field},
		Submit: e.S(text.RunNowButton),
		Do: func(v form.Values) (func() (tea.Msg, error), string) {
			return func() (tea.Msg, error) {
				ctx, cancel := context.WithTimeout(e.Ctx, screen.Quick)
				defer cancel()
				f, err := s.RunNow(ctx, v["task"])
				if err != nil {
					return nil, err
				}
				said := e.S(text.RunNowDone, text.Clean(f.Task))
				if f.Detail != "" {
					said += " " + text.CleanLine(e.Remark(f.Detail))
				}
				return screen.Changed{Toast: screen.Toast{Kind: toast.Good, Text: said}}, nil
			}, ""
		},
	})
}
