package screen

import (
	"context"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/pager"
	"reprise.dev/reprise/tui/component/table"
	"reprise.dev/reprise/tui/feed"
	"reprise.dev/reprise/tui/keys"
	"reprise.dev/reprise/tui/text"
)

// Window is a list of which only a part is in memory; see [paged.List].
type Window interface {
	Look(i int, now time.Time) tea.Cmd
	Top(now time.Time) tea.Cmd
	Bottom(now time.Time) tea.Cmd
	AtStart() bool
	AtEnd() bool
	Moving() bool
}

// Scroll moves a table's selection if the key is one that does, and lets the list behind it follow.
func Scroll(k *keys.Map, msg tea.KeyMsg, t *table.Table, s table.Source, w Window, now time.Time) (cmd tea.Cmd, moved bool) {
	switch {
	case key.Matches(msg, k.Up):
		t.Move(s, -1)
	case key.Matches(msg, k.Down):
		t.Move(s, 1)
	case key.Matches(msg, k.PageUp):
		t.Move(s, -t.Height())
	case key.Matches(msg, k.PageDown):
		t.Move(s, t.Height())
	case key.Matches(msg, k.Top):
		t.To(s, 0)
		if cmd = w.Top(now); cmd != nil {
			t.Jump(table.First)
		}
		return cmd, true
	case key.Matches(msg, k.Bottom):
		t.To(s, s.Len()-1)
		if cmd = w.Bottom(now); cmd != nil {
			t.Jump(table.Last)
			return cmd, true
		}
		return w.Look(t.Index(), now), true
	default:
		return nil, false
	}
	return w.Look(t.Index(), now), true
}

// ScrollText scrolls a text if the key is one that does.
func ScrollText(k *keys.Map, msg tea.KeyMsg, p *pager.Pager) bool {
	switch {
	case key.Matches(msg, k.Up):
		p.Move(-1)
	case key.Matches(msg, k.Down):
		p.Move(1)
	case key.Matches(msg, k.PageUp):
		p.Move(-p.Page())
	case key.Matches(msg, k.PageDown):
		p.Move(p.Page())
	case key.Matches(msg, k.Top):
		p.Top()
	case key.Matches(msg, k.Bottom):
		p.Bottom()
	default:
		return false
	}
	return true
}

// Nothing is what an empty list says: which one it is, or that the filter leaves nothing of it.
func (e *Env) Nothing(m text.M, filtered bool) string {
	if filtered {
		m = text.NothingMatches
	}
	return e.S(m)
}

// Total is how many rows a list has, read seldom: it costs more than a page.
func Total(ctx context.Context, count func(context.Context) (batch.Count, error)) *feed.Feed[batch.Count] {
	return feed.New(ctx, count).Every(30 * time.Second)
}

// Place says where in a list the selection is, and how many rows there are in all; total is 0 where that is not known.
// A number is said only of what is known: a list of which a part is in memory has no row numbers.
func Place(e *Env, index, n int, total batch.Count, w Window) string {
	all := e.Int(max(total.Rows, int64(n)))
	if total.More || total.Rows == 0 {
		all += "+"
	}
	switch {
	case w.Moving():
		return e.S(text.Loading)
	case n == 0:
		return ""
	case w.AtStart() && w.AtEnd():
		return e.Int(int64(index+1)) + "/" + e.Int(int64(n))
	case w.AtStart():
		return e.Int(int64(index+1)) + "/" + all
	case total.Rows > 0:
		return e.S(text.PlaceMoreOf, all)
	}
	return e.S(text.PlaceMore)
}
