package tui

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/screen/action"
	"reprise.dev/reprise/tui/screen/replays"
	"reprise.dev/reprise/tui/text"
)

// command is what can be typed after a colon.
type command struct {
	names []string
	usage string
	help  text.M
}

var commands = []command{
	{[]string{"replays", "review", "schedule", "revisao", "agenda"}, "replays review schedule", text.CommandScreen},
	{[]string{"progress", "diff", "failures", "andamento", "diferencas", "falhas"}, "progress diff failures [ID]", text.CommandOf},
	{[]string{"new", "novo"}, "new", text.CommandNew},
	{[]string{"pause", "resume", "cancel", "pausar", "retomar", "cancelar"}, "pause resume cancel [ID]", text.CommandControl},
	{[]string{"approve", "aprovar"}, "approve [ID [NAME]]", text.CommandApprove},
	{[]string{"revert", "reverter"}, "revert [ID]", text.CommandRevert},
	{[]string{"now", "agora"}, "now [TASK]", text.CommandRunNow},
	{[]string{"export", "exportar"}, "export csv|json FILE", text.CommandExport},
	{[]string{"order", "pedido"}, "order ID", text.CommandOrder},
	{[]string{"kind", "reason", "run", "tipo", "motivo", "execucao"}, "kind reason run [VALUE]", text.CommandNarrow},
	{[]string{"confirm", "resend", "discard", "confirmar", "reenviar", "descartar"}, "confirm resend discard", text.CommandDecide},
	{[]string{"language", "idioma"}, "language en|pt", text.CommandLanguage},
	{[]string{"help", "ajuda"}, "help", text.KeyHelp},
	{[]string{"quit", "q", "sair"}, "quit", text.CommandQuit},
}

// canonical maps the Portuguese names to the ones that screens know.
var canonical = map[string]string{
	"revisao": "review", "agenda": "schedule", "andamento": "progress", "diferencas": "diff", "falhas": "failures",
	"novo": "new", "pausar": "pause", "retomar": "resume", "cancelar": "cancel", "aprovar": "approve", "reverter": "revert", "agora": "now", "exportar": "export",
	"pedido": "order", "tipo": "kind", "motivo": "reason", "execucao": "run", "confirmar": "confirm", "reenviar": "resend", "descartar": "discard",
	"idioma": "language", "ajuda": "help", "sair": "quit", "q": "quit",
}

var screenNames = map[string]screen.ID{
	"replays": screen.Replays, "progress": screen.Progress, "diff": screen.Diff,
	"review": screen.Review, "schedule": screen.Schedule, "failures": screen.Failures,
}

// run carries out a command line.
func (a *app) run(line string) tea.Cmd {
	name, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
	arg = strings.TrimSpace(arg)
	if name == "" {
		return nil
	}
	a.typed = append(a.typed, line)
	if len(a.typed) > 50 {
		a.typed = a.typed[1:]
	}
	if c, ok := canonical[name]; ok {
		name = c
	}
	if id, ok := screenNames[name]; ok {
		a.show(id, arg)
		return nil
	}
	switch name {
	case "quit":
		a.quitted = true
		return nil
	case "help":
		a.modals = append(a.modals, newHelp(a.env, a.screen()))
		return nil
	case "language":
		a.speak(a.env.Ctx, text.ParseLanguage(arg), a.env.Theme)
		return nil
	case "export", "order": // of the diff, from wherever one is
		a.show(screen.Diff, "")
	}
	if c, ok := a.screen().(screen.Commander); ok {
		if cmd, known := c.Command(name, arg); known {
			return cmd
		}
	}
	return a.control(name, arg)
}

// control carries out what can be done to a replay: the one that is named, or else the one that is looked at.
func (a *app) control(name, arg string) tea.Cmd {
	id, rest, _ := strings.Cut(arg, " ")
	switch name {
	case "new":
		return action.Queue(a.env, a.opts.Data)
	case "now":
		return action.RunNow(a.env, a.opts.Data, arg)
	case "pause", "resume", "cancel", "approve", "revert":
	default:
		return a.env.Tell(toast.Warn, text.UnknownCommand, text.Clean(name))
	}
	r := a.named(id)
	switch {
	case r.ID == "":
		return a.env.Tell(toast.Warn, text.NoReplayChosen)
	case name == "pause":
		return action.Pause(a.env, a.opts.Data, r)
	case name == "resume":
		return action.Resume(a.env, a.opts.Data, r)
	case name == "cancel":
		return action.Cancel(a.env, a.opts.Data, r)
	case name == "revert":
		return action.Revert(a.env, a.opts.Data, r)
	}
	return action.Approve(a.env, a.opts.Data, r, strings.TrimSpace(rest))
}

// named is the replay of an id, or the one that is looked at.
func (a *app) named(id string) batch.Replay {
	list, ok := a.screens[screen.Replays].(*replays.Model)
	if id == "" && ok && a.current == screen.Replays {
		r, _ := list.Selected()
		return r
	}
	id = cmp.Or(id, a.replay)
	if !ok {
		return batch.Replay{ID: id}
	}
	return list.Find(id)
}

// arguments are what can follow a command.
func (a *app) arguments(name string) []string {
	if c, ok := canonical[name]; ok {
		name = c
	}
	switch name {
	case "progress", "diff", "failures", "pause", "resume", "cancel", "approve", "revert", "run":
		list, ok := a.screens[screen.Replays].(*replays.Model)
		if !ok {
			return nil
		}
		return list.IDs()
	case "kind", "reason":
		var values []string
		for _, c := range a.waiting.Value {
			values = append(values, map[string]string{"kind": c.Kind, "reason": c.Reason}[name])
		}
		slices.Sort(values)
		return slices.Compact(values)
	case "now":
		var tasks []string
		for _, n := range a.opts.Data.NextFirings() {
			tasks = append(tasks, n.Task)
		}
		return tasks
	case "export":
		return []string{"csv ", "json "}
	case "language":
		return []string{"en", "pt"}
	}
	return nil
}
