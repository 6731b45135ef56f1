package action

import (
	"strings"
	"testing"
	"time"

	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

func TestParseRequest(t *testing.T) {
	e := &screen.Env{Printer: text.NewPrinter(text.English, time.UTC)}
	for name, c := range map[string]struct {
		values   form.Values
		from, to string
		problem  string
	}{
		"a day":                  {form.Values{"from": "2026-10-14", "zone": "America/Sao_Paulo"}, "2026-10-14T03:00:00Z", "2026-10-15T03:00:00Z", ""},
		"a day, Brazilian":       {form.Values{"from": "14/10/2026", "zone": "America/Sao_Paulo"}, "2026-10-14T03:00:00Z", "2026-10-15T03:00:00Z", ""},
		"a day of 23 hours":      {form.Values{"from": "2026-03-08", "zone": "America/New_York"}, "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z", ""},
		"a day of 25 hours":      {form.Values{"from": "2026-11-01", "zone": "America/New_York"}, "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z", ""},
		"an instant with offset": {form.Values{"from": "2026-10-14T00:00:00-03:00", "to": "2026-10-14 12:00", "zone": "UTC"}, "2026-10-14T03:00:00Z", "2026-10-14T12:00:00Z", ""},
		"no end":                 {form.Values{"from": "2026-10-14 09:00", "zone": "UTC"}, "", "", "needs its end"},
		"backwards":              {form.Values{"from": "2026-10-14", "to": "2026-10-14", "zone": "UTC"}, "", "", "is empty"},
		"no zone":                {form.Values{"from": "2026-10-14"}, "", "", "no time zone"},
		"the machine's zone":     {form.Values{"from": "2026-10-14", "zone": "Local"}, "", "", "no time zone"},
		"no date":                {form.Values{"from": "yesterday", "zone": "UTC"}, "", "", "not a time"},
		"nothing":                {form.Values{}, "", "", "Say what to replay"},
		"positions":              {form.Values{"positions": "10:20"}, "", "", ""},
		"positions backwards":    {form.Values{"positions": "20:10"}, "", "", "first:last"},
		"positions of one":       {form.Values{"positions": "20"}, "", "", "first:last"},
		"too many partitions":    {form.Values{"positions": "1:2", "partitions": "5000"}, "", "", "partitions"},
		"a negative limit":       {form.Values{"positions": "1:2", "limit": "-1"}, "", "", "effects"},
	} {
		t.Run(name, func(t *testing.T) {
			q, problem := parseRequest(e, c.values)
			if c.problem == "" && problem != "" || !strings.Contains(problem, c.problem) {
				t.Fatalf("%q, want %q", problem, c.problem)
			}
			if c.from != "" && (e.UTC(*q.Scope.From) != c.from || e.UTC(*q.Scope.To) != c.to) {
				t.Fatalf("%s to %s", e.UTC(*q.Scope.From), e.UTC(*q.Scope.To))
			}
		})
	}
	q, problem := parseRequest(e, form.Values{"positions": " 1 : 2 ", "types": "a, b,,", "limit": "1.000", "priority": "3", "mode": "aplicar", "id": "x"})
	if problem != "" || *q.Scope.LastPos != 2 || len(q.Scope.Types) != 2 || q.Limits.Effects != 1000 || q.Priority != 3 || q.Mode != "aplicar" || q.ID != "x" {
		t.Fatalf("%+v %s", q, problem)
	}
}
