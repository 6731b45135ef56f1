package action

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// Queuer looks at requests and queues them.
type Queuer interface {
	Preview(ctx context.Context, q batch.Request) (batch.Preview, error)
	Queue(ctx context.Context, q batch.Request) (batch.Replay, error)
	// Handlers are the names of what can project events.
	Handlers() []string
}

// Queue asks what to replay; nothing is queued before its preview was seen.
func Queue(e *screen.Env, q Queuer) tea.Cmd {
	zone := e.Zone.String()
	if _, err := time.LoadLocation(zone); err != nil || zone == "Local" { // it has no name that others understand
		zone = ""
	}
	day := e.S(text.QueueDayHint)
	return e.Form(form.Spec{
		Title: e.S(text.QueueTitle),
		Body: func(v form.Values, w int) layout.Block {
			body := e.Paragraph(e.S(text.QueueWhat), e.Theme.Muted, w)
			return append(body, windowLine(e, v, w))
		},
		Fields: []form.Field{
			{Name: "mode", Label: e.S(text.QueueMode), Value: string(batch.Simulate), Options: []form.Option{
				{Value: string(batch.Simulate), Label: e.S(text.ModeSimulate)}, {Value: string(batch.Apply), Label: e.S(text.ModeApply)}}},
			{Name: "from", Label: e.S(text.QueueFrom), Hint: day},
			{Name: "to", Label: e.S(text.QueueTo), Hint: e.S(text.QueueToHint)},
			{Name: "zone", Label: e.S(text.QueueZone), Value: zone, Hint: "America/Sao_Paulo"},
			{Name: "positions", Label: e.S(text.QueuePositions), Hint: e.S(text.QueuePositionsHint)},
			handlerField(e, q.Handlers()),
			{Name: "types", Label: e.S(text.QueueTypes), Hint: e.S(text.QueueAllHint)},
			{Name: "orders", Label: e.S(text.QueueOrders), Hint: e.S(text.QueueAllHint)},
			{Name: "limit", Label: e.S(text.QueueLimit), Hint: e.S(text.QueueNoLimit)},
			{Name: "partitions", Label: e.S(text.QueuePartitions), Hint: e.Int(batch.DefaultPartitions)},
			{Name: "priority", Label: e.S(text.QueuePriority), Value: "2", Options: []form.Option{{Value: "1", Label: "1"}, {Value: "2", Label: "2"}, {Value: "3", Label: "3"}, {Value: "4", Label: "4"}}},
			{Name: "id", Label: e.S(text.QueueID), Hint: e.S(text.QueueIDHint)},
		},
		Submit: e.S(text.QueuePreview),
		Stay:   true,
		Do: func(v form.Values) (func() (tea.Msg, error), string) {
			request, problem := parseRequest(e, v)
			if problem != "" {
				return nil, problem
			}
			return func() (tea.Msg, error) {
				ctx, cancel := context.WithTimeout(e.Ctx, screen.Long)
				defer cancel()
				p, err := q.Preview(ctx, request)
				if err != nil {
					return nil, err
				}
				return screen.Show{Modal: preview(e, q, p)}, nil
			}, ""
		},
	})
}

// handlerField chooses who projects the events. Where there is one handler there is nothing to choose.
func handlerField(e *screen.Env, names []string) form.Field {
	f := form.Field{Name: "handler", Label: e.S(text.QueueHandler)}
	if len(names) > 1 {
		f.Options = append(f.Options, form.Option{Label: e.S(text.QueueHandlerByType)})
	}
	for _, name := range names {
		f.Options = append(f.Options, form.Option{Value: name, Label: text.Clean(name)})
	}
	return f
}

// windowLine says, while it is typed, which instants a window means.
func windowLine(e *screen.Env, v form.Values, w int) string {
	request, problem := parseRequest(e, v)
	switch utc := e.ScopeUTC(request.Scope); {
	case utc != "":
		return e.Theme.Info.Render(text.Truncate("UTC  "+utc, w))
	case v["from"] != "" || v["positions"] != "":
		return e.Theme.Muted.Render(text.Truncate(problem, w))
	}
	return ""
}

// preview shows what a request would take. An apply is queued only when its id is typed.
func preview(e *screen.Env, q Queuer, p batch.Preview) *form.Form {
	request := p.Request
	spec := form.Spec{
		Title:  e.S(text.PreviewTitle, e.Mode(request.Mode), text.Clean(request.ID)),
		Body:   func(_ form.Values, w int) layout.Block { return previewBody(e, p, w) },
		Submit: e.S(text.QueueButton),
		Do: func(form.Values) (func() (tea.Msg, error), string) {
			return func() (tea.Msg, error) {
				ctx, cancel := context.WithTimeout(e.Ctx, screen.Quick)
				defer cancel()
				made, err := q.Queue(ctx, request)
				if err != nil {
					return nil, err
				}
				return screen.Changed{
					Toast: screen.Toast{Kind: toast.Good, Text: e.S(text.QueueDone, text.Clean(made.ID))},
					Then:  screen.Go{Screen: screen.Progress, Replay: made.ID},
				}, nil
			}, ""
		},
	}
	if request.Mode == batch.Apply {
		spec.Danger = true
		spec.Fields = []form.Field{signature(e, request.ID)}
	}
	return form.New(spec, e.Theme, e.Printer, e.Keys)
}

func previewBody(e *screen.Env, p batch.Preview, w int) layout.Block {
	warnings := previewWarnings(e, p, w)
	f := e.Facts().Add(text.QueueHandler, text.Clean(p.Request.Handler)).Add(text.LabelScope, e.Scope(p.Request.Scope))
	if p.UTCFrom != nil && p.UTCTo != nil {
		f.Add(text.LabelUTC, e.UTC(*p.UTCFrom)+" "+e.Theme.Right+" "+e.UTC(*p.UTCTo))
	}
	style := e.Theme.Bold
	if p.Events == 0 {
		style = e.Theme.Warn
	}
	f.Add(text.LabelEvents, e.S(text.PreviewEvents, e.Int(p.Events), e.Int(p.Orders)), style)
	if p.Events > 0 {
		f.Add(text.LabelPositions, e.Int(p.First)+" "+e.Theme.Right+" "+e.Int(p.Last))
		f.Add(text.LabelFirst, e.TimeOr(p.FirstAt)).Add(text.LabelLast, e.TimeOr(p.LastAt))
	}
	f.Add(text.LabelCut, e.N(text.CountPartitions, int64(p.Request.Partitions))+" "+e.Theme.Dot+" "+e.S(text.CountPriority, p.Request.Priority))
	if p.Request.Limits.Effects > 0 {
		f.Add(text.LabelLimit, e.N(text.LimitEffects, p.Request.Limits.Effects))
	}
	body := append(warnings, f.Block(w)...)
	body = append(body, "", e.Section(e.S(text.SectionStake), "", w))
	for _, k := range p.Kinds {
		line := e.S(text.PreviewKind, e.Int(k.Wanted), e.Int(k.Registered), e.Int(k.Uncertain))
		body = append(body, e.Theme.Bold.Render(text.Truncate(text.Clean(k.Kind), w)))
		body = append(body, e.Indented(line, e.Theme.Text, w)...)
		body = append(body, e.Indented(Rule(e, k.Rule), e.Theme.Muted, w)...)
	}
	if p.Request.Mode == batch.Simulate {
		body = append(body, e.Paragraph(e.S(text.PreviewSimulates), e.Theme.Good, w)...)
	}
	return body
}

// previewWarnings come first: what does not fit is at the end.
func previewWarnings(e *screen.Env, p batch.Preview, w int) layout.Block {
	var lines []string
	if len(p.Overlaps) > 0 {
		ids := make([]string, len(p.Overlaps))
		for i, id := range p.Overlaps {
			ids[i] = text.Clean(id)
		}
		lines = append(lines, e.S(text.PreviewOverlaps, strings.Join(ids, ", ")))
	}
	for _, warning := range p.Warnings {
		lines = append(lines, text.CleanLine(e.Remark(warning)))
	}
	var out layout.Block
	for _, line := range lines {
		out = append(out, e.Paragraph(e.Theme.Warning+" "+line, e.Theme.Warn, w)...)
	}
	if len(out) > 0 {
		out = append(out, "")
	}
	return out
}
