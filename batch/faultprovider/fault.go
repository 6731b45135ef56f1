package faultprovider

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is how the provider treats a request.
type Fault string

// The faults. Those that act count a delivery, unless the provider deduplicates and knows the key.
const (
	OK          Fault = "ok"
	Refuse      Fault = "refuse"        // 422, before acting
	Unavailable Fault = "unavailable"   // 503, before acting
	Drop        Fault = "drop"          // resets the connection, before acting
	Hang        Fault = "hang"          // never answers, before acting
	ActThenFail Fault = "act-then-fail" // acts, then 500
	ActThenHang Fault = "act-then-hang" // acts, then never answers
	ActThenDrop Fault = "act-then-drop" // acts, then resets the connection
	Empty       Fault = "empty"         // acts, then 200 with an empty body
	Conflict    Fault = "conflict"      // deduplicates, but 409 if the key was acted on with another body
)

// Faults lists them all.
var Faults = []Fault{OK, Refuse, Unavailable, Drop, Hang, ActThenFail, ActThenHang, ActThenDrop, Empty, Conflict}

// delay is the name on the command line of a rule that only slows down: delay=2s.
const delay = "delay="

func (f Fault) acts() bool {
	return f == OK || f == ActThenFail || f == ActThenHang || f == ActThenDrop || f == Empty
}

// answer is what a provider that stores answers remembers of the request: nothing if it neither acted nor answered.
func (f Fault) answer() Fault {
	switch f {
	case Drop, Hang:
		return ""
	case ActThenDrop, ActThenHang:
		return OK
	}
	return f
}

// status of an answer that is an error, else 0.
func (f Fault) status() int {
	switch f {
	case Refuse:
		return http.StatusUnprocessableEntity
	case Unavailable:
		return http.StatusServiceUnavailable
	case ActThenFail:
		return http.StatusInternalServerError
	case Conflict:
		return http.StatusConflict
	}
	return 0
}

// Rule says which requests a fault befalls: those that meet all conditions that are set.
type Rule struct {
	Fault Fault         `json:"fault"`
	Share float64       `json:"share,omitempty"` // of requests, by a hash of seed, key and attempt: reproducible; 0: all
	Every int           `json:"every,omitempty"` // every so-many-th request
	Match string        `json:"match,omitempty"` // only keys that contain this
	Times int           `json:"times,omitempty"` // only the first so many requests of a key
	Delay time.Duration `json:"delay,omitempty"` // before answering, beside the provider's own; nanoseconds in JSON
}

// ParseRule reads NAME[:SHARE[:MATCH]], e.g. act-then-hang:0.01, refuse:1:ev-17 or delay=2s:0.1.
func ParseRule(text string) (Rule, error) {
	name, rest, _ := strings.Cut(text, ":")
	share, match, _ := strings.Cut(rest, ":")
	r := Rule{Fault: Fault(name), Match: match}
	if wait, ok := strings.CutPrefix(name, delay); ok {
		d, err := time.ParseDuration(wait)
		if err != nil || d <= 0 {
			return r, fmt.Errorf("fault %q: a duration, as in delay=2s", name)
		}
		r.Fault, r.Delay = OK, d
	}
	if share != "" {
		n, err := strconv.ParseFloat(share, 64)
		if err != nil || n == 0 {
			return r, fmt.Errorf("share %q of fault %s: a number above 0, at most 1", share, name)
		}
		r.Share = n
	}
	return r, r.check()
}

func (r Rule) check() error {
	switch {
	case !slices.Contains(Faults, r.Fault):
		return fmt.Errorf("fault %q: use one of %v or delay=DURATION", r.Fault, Faults)
	case !(r.Share >= 0 && r.Share <= 1): // also not a number
		return fmt.Errorf("share %v of fault %s: a number above 0, at most 1", r.Share, r.Fault)
	case r.Every < 0 || r.Times < 0 || r.Delay < 0:
		return fmt.Errorf("fault %s: every, times and delay are not negative", r.Fault)
	}
	return nil
}
