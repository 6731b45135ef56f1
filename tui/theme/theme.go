// Package theme is how the dashboard looks: one palette for dark and for light backgrounds, one set of symbols,
// and the styles made of them. Nothing is told by colour alone: every state has a symbol and a word.
package theme

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Mode is the kind of background, or what stands in for colour.
type Mode string

// The modes.
const (
	Auto  Mode = "auto"  // ask the terminal
	Dark  Mode = "dark"  // for dark backgrounds
	Light Mode = "light" // for light backgrounds
	Mono  Mode = "mono"  // bold and reverse only
	Plain Mode = "plain" // no attributes and no characters but ASCII for drawing
)

// Theme is a set of styles and symbols.
type Theme struct {
	Text, Muted, Faint, Bold Style
	Accent, Title            Style // interactive, headings
	Good, Warn, Bad, Info    Style
	Key                      Style // of a key in a hint
	Header, HeaderMuted      Style // the top line
	Tab, TabActive           Style
	Selected                 Style // background of the selected row
	SelectedIdle             Style // the same when the keyboard is elsewhere
	Marked                   Style
	Banner                   Style // something is wrong
	Input, Caret             Style
	Button, ButtonFocused    Style
	Symbols
}

type palette struct{ text, muted, faint, accent, title, good, warn, bad, info, bar, barText, barMuted, selected, idle, field lipgloss.TerminalColor }

func pick(dark, light string) lipgloss.TerminalColor {
	return lipgloss.AdaptiveColor{Dark: dark, Light: light}
}

var colours = palette{
	text:     pick("#d7dae0", "#24292f"),
	muted:    pick("#8b93a3", "#5d6673"),
	faint:    pick("#474e5d", "#c3c9d2"),
	accent:   pick("#8aa9ff", "#2f5bd0"),
	title:    pick("#c7b6ff", "#6a3fc4"),
	good:     pick("#7fcf8f", "#1c7f37"),
	warn:     pick("#e8bd66", "#8f5f00"),
	bad:      pick("#f0788a", "#c0263d"),
	info:     pick("#6fc7d3", "#0b7285"),
	bar:      pick("#262b3b", "#e3e7f1"),
	barText:  pick("#eef0f6", "#1b2030"),
	barMuted: pick("#9aa3b8", "#56607a"),
	selected: pick("#2f3b61", "#cfdcff"),
	idle:     pick("#262b36", "#e9ecf2"),
	field:    pick("#1f2430", "#eef1f6"),
}

// New makes a theme for a terminal. Auto asks the terminal for its background, unless it is one that is known
// to answer late or not at all.
func New(out io.Writer, mode Mode) *Theme {
	term := os.Getenv("TERM")
	if mode == "" {
		mode = Auto
	}
	if mode == Auto && os.Getenv("NO_COLOR") != "" {
		mode = Mono
	}
	if term == "dumb" || term == "" {
		mode = Plain
	}
	r := lipgloss.NewRenderer(out)
	profile := termenv.NewOutput(out).ColorProfile()
	if mode != Plain && profile == termenv.Ascii { // a terminal without colours still has bold and reverse
		mode = Mono
	}
	switch mode {
	case Plain:
		profile = termenv.Ascii
	case Mono:
		profile = termenv.ANSI
	case Dark, Light:
		r.SetHasDarkBackground(mode == Dark)
	}
	t := build(r, profile, mode)
	if !utf8Locale() {
		t.Symbols = asciiSymbols
	}
	return t
}

// Fixed makes a theme that depends on nothing around it, for tests and pictures.
func Fixed(mode Mode) *Theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetHasDarkBackground(mode != Light)
	profile := termenv.TrueColor
	switch mode {
	case Plain:
		profile = termenv.Ascii
	case Mono:
		profile = termenv.ANSI
	}
	return build(r, profile, mode)
}

func build(r *lipgloss.Renderer, profile termenv.Profile, mode Mode) *Theme {
	r.SetColorProfile(profile)
	c := colours
	if mode == Mono || mode == Plain {
		none := lipgloss.NoColor{}
		c = palette{none, none, none, none, none, none, none, none, none, none, none, none, none, none, none}
	}
	s := func(fg lipgloss.TerminalColor) lipgloss.Style { return r.NewStyle().Foreground(fg) }
	t := &Theme{
		Text: newStyle(s(c.text)), Muted: newStyle(s(c.muted)), Faint: newStyle(s(c.faint)), Bold: newStyle(s(c.text).Bold(true)),
		Accent: newStyle(s(c.accent)), Title: newStyle(s(c.title).Bold(true)),
		Good: newStyle(s(c.good)), Warn: newStyle(s(c.warn)), Bad: newStyle(s(c.bad).Bold(true)), Info: newStyle(s(c.info)),
		Key:    newStyle(s(c.accent).Bold(true)),
		Header: newStyle(s(c.barText).Background(c.bar)), HeaderMuted: newStyle(s(c.barMuted).Background(c.bar)),
		Tab: newStyle(s(c.muted)), TabActive: newStyle(s(c.barText).Background(c.selected).Bold(true)),
		Selected: newStyle(r.NewStyle().Background(c.selected)), SelectedIdle: newStyle(r.NewStyle().Background(c.idle)),
		Marked: newStyle(s(c.warn).Bold(true)), Banner: newStyle(s(c.bad).Bold(true)),
		Input: newStyle(s(c.text).Background(c.field)), Caret: newStyle(r.NewStyle().Reverse(true)), Button: newStyle(s(c.text).Background(c.field)),
		ButtonFocused: newStyle(s(c.barText).Background(c.selected).Bold(true)),
		Symbols:       unicodeSymbols,
	}
	if mode == Plain {
		t.Symbols = asciiSymbols
	}
	if mode == Mono {
		reverse := newStyle(r.NewStyle().Reverse(true))
		t.Header, t.HeaderMuted, t.Selected, t.ButtonFocused, t.Banner = reverse, reverse, reverse, reverse, reverse
		t.SelectedIdle = newStyle(r.NewStyle().Underline(true))
		t.Faint = newStyle(r.NewStyle().Faint(true))
		t.TabActive = newStyle(r.NewStyle().Bold(true).Underline(true))
	}
	return t
}

// utf8Locale reports whether the terminal can be expected to draw more than ASCII. No locale at all is taken
// for a modern terminal.
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := os.Getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
