package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"reprise.dev/reprise/batch/faultprovider"
)

// result is what a run did and found.
type result struct {
	Policy     string           `json:"policy,omitempty"`
	Control    bool             `json:"control,omitempty"`
	Seed       uint64           `json:"seed"`
	Chaos      time.Duration    `json:"chaos_ns"`
	Quiet      time.Duration    `json:"quiet_ns"` // until everything had come to its end
	Slowest    time.Duration    `json:"slowest_recovery_ns"`
	Counts     map[string]int64 `json:"counts"`
	Duplicates int64            `json:"duplicates"` // keys that were delivered again though nobody decided so
	Violations []violation      `json:"violations,omitempty"`
}

func (r result) name() string {
	if r.Control {
		return "control"
	}
	return r.Policy
}

// untried lists the faults that did not happen: who finds nothing must have looked at everything.
func (r result) untried() (missing []string) {
	all := []string{killed, frozen, terminated, dbFast, dbAtOnce, dbKilled, dbCrashed, backends}
	for _, t := range toxics {
		all = append(all, cuts+t.name)
	}
	for _, mood := range moods {
		for _, rule := range mood {
			if name := faults + string(rule.Fault); rule.Fault != faultprovider.OK && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	for _, what := range all {
		if r.Counts[what] == 0 {
			missing = append(missing, what)
		}
	}
	return missing
}

// tally counts what happens, by name.
type tally struct {
	mu sync.Mutex
	n  map[string]int64
}

func (t *tally) add(what string, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what] += n
}

// What is counted, in the order of the table.
const (
	killed     = "processes killed (-9)"
	frozen     = "processes frozen"
	terminated = "processes terminated"
	restarted  = "processes started again"
	dbFast     = "database stopped"
	dbAtOnce   = "database stopped at once"
	dbKilled   = "database killed (-9)"
	dbCrashed  = "database process killed (-9)"
	backends   = "sessions terminated"
	cuts       = "network: "  // and the fault
	faults     = "provider: " // and the fault
	archived   = "events archived"
	late       = "… behind others"
	applies    = "replays, apply"
	simulated  = "replays, simulation"
	commanded  = "replays paused or cancelled"
	decisions  = "decisions of a reviewer"
	requests   = "requests at the provider"
	deliveries = "effects delivered"
	again      = "… again, by decision"
	lateAnswer = "late answers, ignored"
	swept      = "abandoned, swept to review"
	left       = "left to a person"
	abandoned  = "commands that failed"
)

var order = []string{
	killed, frozen, terminated, restarted, dbFast, dbAtOnce, dbKilled, dbCrashed, backends, cuts, faults, archived, late,
	applies, simulated, commanded, decisions, abandoned, requests, deliveries, again, lateAnswer, swept, left,
}

// printTable prints one column for each run.
func printTable(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(name string, cell func(result) string) {
		fmt.Fprint(t, name, "\t")
		for _, r := range results {
			fmt.Fprint(t, cell(r), "\t")
		}
		fmt.Fprintln(t)
	}
	line("", result.name)
	line("seed", func(r result) string { return fmt.Sprint(r.Seed) })
	line("chaos", func(r result) string { return r.Chaos.Round(time.Second).String() })
	line("then quiet after", func(r result) string { return r.Quiet.Round(100 * time.Millisecond).String() })
	line("slowest recovery", func(r result) string { return r.Slowest.Round(10 * time.Millisecond).String() })
	for _, name := range names(results) {
		line(name, func(r result) string { return fmt.Sprint(r.Counts[name]) })
	}
	line("delivered twice (ours)", func(r result) string { return fmt.Sprint(r.Duplicates) })
	line("promises broken", func(r result) string {
		if r.Control {
			return "-"
		}
		return fmt.Sprint(len(r.Violations))
	})
	return t.Flush()
}

// names lists what any of the runs counted, in the table's order; kinds of faults by their names.
func names(results []result) []string {
	var all []string
	for _, prefix := range order {
		seen := map[string]bool{}
		var some []string
		for _, r := range results {
			for name := range r.Counts {
				exact := name == prefix
				if !seen[name] && (exact || strings.HasSuffix(prefix, ": ") && strings.HasPrefix(name, prefix)) {
					seen[name] = true
					some = append(some, name)
				}
			}
		}
		all = append(all, sorted(some)...)
	}
	return all
}
