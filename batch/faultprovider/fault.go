package faultprovider

import (
	"fmt"
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
	Conflict    Fault = "conflict"      // 409 if the key was used with another body, else ok
)

// Faults lists them all.
var Faults = []Fault{OK, Refuse, Unavailable, Drop, Hang, ActThenFail, ActThenHang, ActThenDrop, Empty, Conflict}

func (f Fault) acts() bool {
	return f == OK || f == ActThenFail || f == ActThenHang || f == ActThenDrop || f == Empty
}

// Rule says which requests a fault befalls.
type Rule struct {
	Fault Fault         `json:"fault"`
	Share float64       `json:"share,omitempty"` // of requests, by a hash of seed, key and attempt: reproducible
	Every int           `json:"every,omitempty"` // every so-many-th request
	Match string        `json:"match,omitempty"` // only keys that contain this
	Times int           `json:"times,omitempty"` // only the first so many requests of a key
	Delay time.Duration `json:"delay,omitempty"` // before answering
}

// ParseRule reads NAME[:SHARE[:MATCH]], e.g. act-then-hang:0.01 or refuse:1:ev-17.
func ParseRule(text string) (Rule, error) {
	name, rest, _ := strings.Cut(text, ":")
	share, match, _ := strings.Cut(rest, ":")
	r := Rule{Fault: Fault(name), Share: 1, Match: match}
	if !slices.Contains(Faults, r.Fault) {
		return r, fmt.Errorf("fault %q: use one of %v", name, Faults)
	}
	if share != "" {
		n, err := strconv.ParseFloat(share, 64)
		if err != nil || n < 0 || n > 1 {
			return r, fmt.Errorf("share %q of fault %s: a number from 0 to 1", share, name)
		}
		r.Share = n
	}
	return r, nil
}
