package keys

import (
	"reflect"
	"testing"

	"github.com/charmbracelet/bubbles/key"

	"reprise.dev/reprise/tui/text"
)

func TestEveryKeyHasHelpInBothLanguages(t *testing.T) {
	for _, l := range []text.Language{text.English, text.Portuguese} {
		v := reflect.ValueOf(*New(text.NewPrinter(l, nil)))
		for i := range v.NumField() {
			b := v.Field(i).Interface().(key.Binding)
			if len(b.Keys()) == 0 || b.Help().Key == "" || b.Help().Desc == "" {
				t.Errorf("%s: %+v", v.Type().Field(i).Name, b.Help())
			}
		}
	}
}

// Keys that work at the same time must not share a key.
func TestNoKeyMeansTwoThingsInOnePlace(t *testing.T) {
	m := New(text.NewPrinter(text.English, nil))
	list := []key.Binding{m.Up, m.Down, m.PageUp, m.PageDown, m.Top, m.Bottom}
	for name, own := range map[string][]key.Binding{
		"replays":  {m.Open, m.New, m.Pause, m.Resume, m.Cancel, m.Approve, m.Revert, m.ToProgress, m.ToDiff, m.ToFailures},
		"progress": {m.View, m.Left, m.Right, m.Pause, m.Resume, m.Cancel, m.Approve, m.Revert, m.ToDiff, m.ToFailures},
		"diff":     {m.History, m.Sort, m.Reverse, m.Show, m.Told, m.Export, m.Approve},
		"review":   {m.Open, m.Focus, m.Confirm, m.Resend, m.Discard, m.Mark, m.MarkAll, m.Unmark, m.Kind, m.Item, m.Pager},
		"schedule": {m.RunNow},
		"failures": {m.Open, m.Focus, m.Pager},
	} {
		seen := map[string]string{}
		for _, b := range append(append(m.Everywhere(), list...), own...) {
			for _, k := range b.Keys() {
				if other, ok := seen[k]; ok {
					t.Errorf("%s: %q is %s and %s", name, k, other, b.Help().Desc)
				}
				seen[k] = b.Help().Desc
			}
		}
	}
}
