package action

import (
	"strconv"
	"strings"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// parseRequest reads the form. It returns what it understood even if there is a problem, so that the preview of
// the window follows the typing.
func parseRequest(e *screen.Env, v form.Values) (batch.Request, string) {
	q := batch.Request{ID: v["id"], Handler: v["handler"], Mode: batch.Mode(v["mode"])}
	problem := ""
	wrong := func(m text.M, args ...any) {
		if problem == "" {
			problem = e.S(m, args...)
		}
	}
	number := func(name string, label text.M, least, most int64) int64 {
		if v[name] == "" {
			return 0
		}
		n, err := parseNumber(v[name])
		if err != nil || n < least || n > most {
			wrong(text.QueueBadNumber, e.S(label), e.Int(least), e.Int(most))
		}
		return n
	}
	q.Scope.Types, q.Scope.Orders = list(v["types"]), list(v["orders"])
	q.Limits.Effects = number("limit", text.QueueLimit, 1, mostEffects)
	q.Partitions = int(number("partitions", text.QueuePartitions, 1, 4096))
	q.Priority = int(number("priority", text.QueuePriority, 1, 4))

	if v["from"] != "" || v["to"] != "" {
		loc, err := time.LoadLocation(v["zone"])
		if v["zone"] == "" || v["zone"] == "Local" || err != nil {
			wrong(text.QueueBadZone, text.Clean(v["zone"]))
			return q, problem
		}
		q.Scope.Zone = v["zone"]
		from, day, ok := instant(v["from"], loc)
		if !ok {
			wrong(text.QueueBadTime, text.Clean(v["from"]))
			return q, problem
		}
		to := from.AddDate(0, 0, 1)
		if v["to"] != "" {
			if to, _, ok = instant(v["to"], loc); !ok {
				wrong(text.QueueBadTime, text.Clean(v["to"]))
				return q, problem
			}
		} else if !day {
			wrong(text.QueueNeedsEnd)
			return q, problem
		}
		if !from.Before(to) {
			wrong(text.QueueEmptyWindow)
			return q, problem
		}
		q.Scope.From, q.Scope.To = &from, &to
	}
	if v["positions"] != "" {
		a, b, _ := strings.Cut(v["positions"], ":")
		first, err1 := strconv.ParseInt(strings.TrimSpace(a), 10, 64)
		last, err2 := strconv.ParseInt(strings.TrimSpace(b), 10, 64)
		if err1 != nil || err2 != nil || first > last {
			wrong(text.QueueBadPositions)
			return q, problem
		}
		q.Scope.FirstPos, q.Scope.LastPos = &first, &last
	}
	if q.Scope.From == nil && q.Scope.FirstPos == nil {
		wrong(text.QueueNoScope)
	}
	return q, problem
}

// parseNumber reads a whole number, with or without thousands separators.
func parseNumber(s string) (int64, error) {
	return strconv.ParseInt(strings.NewReplacer(".", "", ",", "", " ", "").Replace(s), 10, 64)
}

// instant reads a time as people write it; day is true if it named a day only.
func instant(s string, loc *time.Location) (t time.Time, day, ok bool) {
	for _, layout := range []string{"2006-01-02", "02/01/2006"} {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return t, true, true
		}
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
		"02/01/2006 15:04", "02/01/2006 15:04:05",
	} {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return t, false, true
		}
	}
	return time.Time{}, false, false
}

func list(s string) []string {
	var out []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
