package provider

import (
	"fmt"
	"strings"
	"time"
)

// hours is the daily time in which calls are made, from an instant until before another, on the clock of a zone.
// Until before from: over midnight. The zero value is always.
type hours struct {
	text        string
	from, until time.Duration // since midnight
	zone        *time.Location
}

// parseHours reads "08:00-20:00"; "" is always.
func parseHours(text string, zone *time.Location) (hours, error) {
	if text == "" {
		return hours{}, nil
	}
	if zone == nil {
		zone = time.UTC
	}
	a, b, _ := strings.Cut(text, "-")
	from, err1 := timeOfDay(a)
	until, err2 := timeOfDay(b)
	if err1 != nil || err2 != nil || from == until || from == 24*time.Hour {
		return hours{}, fmt.Errorf("hours %q: write them like 08:00-20:00", text)
	}
	return hours{text, from, until, zone}, nil
}

func timeOfDay(s string) (time.Duration, error) {
	s = strings.TrimSpace(s)
	if s == "24:00" {
		return 24 * time.Hour, nil
	}
	t, err := time.Parse("15:04", s)
	if err != nil {
		return 0, err
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}

// open reports whether calls may be made, and if not, when they may again. It goes by what the clock on the
// wall shows, also on a day that has an hour more or less.
func (h hours) open(now time.Time) (bool, time.Time) {
	if h.text == "" {
		return true, time.Time{}
	}
	now = now.In(h.zone)
	clock := sinceMidnight(now)
	if h.from < h.until && clock >= h.from && clock < h.until || h.from > h.until && (clock >= h.from || clock < h.until) {
		return true, time.Time{}
	}
	opening := h.opening(now, 0)
	if !opening.After(now) {
		opening = h.opening(now, 1)
	}
	return false, opening
}

// opening is when the hours begin on the day that is some days after now's.
func (h hours) opening(now time.Time, days int) time.Time {
	t := time.Date(now.Year(), now.Month(), now.Day()+days, int(h.from/time.Hour), int(h.from%time.Hour/time.Minute), 0, 0, h.zone)
	if early := h.from - sinceMidnight(t); early > 0 { // that time is skipped on this day: Date goes back, we go on
		t = t.Add(early)
	}
	return t
}

func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute +
		time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
}
