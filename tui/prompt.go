package tui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/component/input"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// prompt is the line at the bottom: a filter that works while it is typed, or a command.
type prompt struct {
	command bool
	line    input.Line
	before  string // filter to go back to
	turn    int    // of the typing
	tab     int    // how often completion was asked for
	stem    string // what was typed before it was
	past    int    // commands back in the history
}

func newCommandPrompt() *prompt { return &prompt{command: true, line: input.New("")} }

// filterDue says that typing paused: the list is narrowed.
type filterDue struct {
	prompt *prompt
	turn   int
}

// pause in the typing after which a filter is tried.
const pause = 200 * time.Millisecond

func (a *app) openFilter() tea.Cmd {
	f, ok := a.screen().(screen.Filterer)
	if !ok {
		return a.env.Tell(toast.Info, text.NothingToFilter)
	}
	a.prompt = &prompt{line: input.New(f.Filter()), before: f.Filter()}
	return nil
}

func (a *app) promptKey(msg tea.KeyMsg) tea.Cmd {
	p := a.prompt
	switch msg.Type {
	case tea.KeyEsc:
		a.prompt = nil
		if !p.command {
			return a.setFilter(p.before)
		}
		return nil
	case tea.KeyEnter:
		a.prompt = nil
		if p.command {
			return a.run(p.line.Value())
		}
		return a.setFilter(p.line.Value())
	case tea.KeyTab:
		if p.command {
			p.complete(a.completions)
		}
		return nil
	case tea.KeyUp, tea.KeyDown:
		if p.command {
			p.recall(a.typed, msg.Type == tea.KeyUp)
		}
		return nil
	}
	if !p.line.Update(msg) {
		if msg.Type == tea.KeyBackspace && p.line.Value() == "" {
			a.prompt = nil
		}
		return nil
	}
	p.tab = 0
	if p.command {
		return nil
	}
	p.turn++
	return a.env.After(pause, filterDue{p, p.turn})
}

func (a *app) filter(msg filterDue) tea.Cmd {
	if a.prompt != msg.prompt || msg.prompt.turn != msg.turn {
		return nil
	}
	return a.setFilter(msg.prompt.line.Value())
}

func (a *app) setFilter(s string) tea.Cmd {
	f, ok := a.screen().(screen.Filterer)
	if !ok || f.Filter() == s {
		return nil
	}
	return f.SetFilter(s)
}

// complete replaces what was typed by the next thing that begins so.
func (p *prompt) complete(options func(line string) []string) {
	if p.tab == 0 {
		p.stem = p.line.Value()
	}
	all := options(p.stem)
	if len(all) == 0 {
		return
	}
	p.line.Set(all[p.tab%len(all)])
	p.tab++
}

// recall goes through the commands of before.
func (p *prompt) recall(typed []string, older bool) {
	if older {
		p.past = min(p.past+1, len(typed))
	} else {
		p.past = max(p.past-1, 0)
	}
	if p.past == 0 {
		p.line.Set("")
		return
	}
	p.line.Set(typed[len(typed)-p.past])
}

func (p *prompt) view(e *screen.Env, w int) string {
	lead, hint := "/", text.PromptFilter
	if p.command {
		lead, hint = ":", text.PromptCommand
	}
	tail := e.Theme.Muted.Render("  " + e.S(hint) + " ")
	room := w - text.Width(lead) - 1 - text.Width(tail)
	if room < 20 {
		tail, room = "", w-text.Width(lead)-1
	}
	return layout.Ends(e.Theme.Key.Render(lead)+" "+p.line.View(e.Theme, room, true, ""), tail, w)
}

// completions are the command lines that begin with a line.
func (a *app) completions(line string) []string {
	name, arg, hasArg := strings.Cut(line, " ")
	var out []string
	if !hasArg {
		for _, c := range commands {
			for _, n := range c.names {
				if strings.HasPrefix(n, name) {
					out = append(out, n)
				}
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	for _, option := range a.arguments(name) {
		if strings.HasPrefix(option, arg) {
			out = append(out, name+" "+option)
		}
	}
	return out
}
