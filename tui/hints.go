package tui

import (
	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/component/modal"
	"reprise.dev/reprise/tui/component/pager"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// hintLine names as many keys as fit in w columns, the most useful first.
func hintLine(e *screen.Env, bindings []key.Binding, w int) string {
	line, used := "", 0
	for _, b := range bindings {
		h := b.Help()
		size := text.Width(h.Key) + text.Width(h.Desc) + 3
		if used+size > w {
			break
		}
		line += " " + e.Theme.Key.Render(h.Key) + " " + e.Theme.Muted.Render(h.Desc) + " "
		used += size
	}
	return line
}

// help is the list of all keys, made from the bindings themselves.
type help struct {
	env    *screen.Env
	groups []group
	text   pager.Pager
}

type group struct {
	title    text.M
	bindings []key.Binding
	commands bool
}

func newHelp(e *screen.Env, s screen.Screen) *help {
	return &help{env: e, groups: []group{
		{title: text.HelpHere, bindings: s.Keys()},
		{title: text.HelpEverywhere, bindings: e.Keys.Everywhere()},
		{title: text.HelpMoving, bindings: e.Keys.Moving()},
		{title: text.HelpCommands, commands: true},
	}}
}

// Update scrolls or closes.
func (h *help) Update(msg tea.Msg) (done bool, cmd tea.Cmd) {
	k, ok := msg.(tea.KeyMsg)
	if !ok {
		return false, nil
	}
	if screen.ScrollText(h.env.Keys, k, &h.text) {
		return false, nil
	}
	return key.Matches(k, h.env.Keys.Dismiss, h.env.Keys.Help, h.env.Keys.Quit, h.env.Keys.Open), nil
}

// Keys are those that scroll and close.
func (h *help) Keys() []key.Binding {
	k := h.env.Keys
	return []key.Binding{k.Dismiss, k.Up, k.Down, k.PageDown}
}

// View lists the groups, side by side if there is room.
func (h *help) View(w, hgt int) layout.Block {
	e := h.env
	w = min(w, 112)
	inner := w - 4
	var lines layout.Block
	if w >= 90 {
		const narrow = 32
		wide := inner - narrow - 4
		left := append(h.group(h.groups[0], narrow), append(layout.Block{""}, h.group(h.groups[2], narrow)...)...)
		right := append(h.group(h.groups[1], wide), append(layout.Block{""}, h.group(h.groups[3], wide)...)...)
		n := max(len(left), len(right))
		lines = layout.Beside("   ", layout.Fit(left, narrow, n), layout.Fit(right, wide, n))
	} else {
		for i, g := range h.groups {
			if i > 0 {
				lines = append(lines, "")
			}
			lines = append(lines, h.group(g, inner-1)...)
		}
	}
	lines = append(lines, "", e.Theme.Muted.Render(text.Truncate(e.S(text.HelpQuit), inner)))
	room := max(min(len(lines), hgt-2), 1)
	return modal.Box(e.Theme, e.S(text.HelpTitle), h.text.View(e.Theme, "help", lines, inner, room), w)
}

func (h *help) group(g group, w int) layout.Block {
	e := h.env
	out := layout.Block{e.Theme.Title.Render(text.Truncate(e.S(g.title), w))}
	line := func(name, what string, room int) {
		out = append(out, e.Theme.Key.Render(text.Pad(name, room))+" "+e.Theme.Text.Render(text.Truncate(what, max(w-room-1, 0))))
	}
	for _, b := range g.bindings {
		line(b.Help().Key, b.Help().Desc, 10)
	}
	if g.commands {
		for _, c := range commands {
			line(c.usage, e.S(c.help), 28)
		}
	}
	return out
}
