package main

import (
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"reprise.dev/reprise/ledger"
)

// needDatabase are the commands that do nothing without a database, each with arguments that are right.
var needDatabase = map[string]string{
	"reprise migrate": "", "reprise doctor": "", "reprise import": "", "reprise sweep": "", "reprise verify": "",
	"reprise history": "P-1", "reprise schedule list": "", "reprise schedule run": "sweep",
	"reprise run": "--once", "reprise live": "--from 0",
	"reprise replay queue": "--positions 1:10", "reprise replay list": "", "reprise replay show": "a", "reprise replay diff": "a",
	"reprise replay run": "a", "reprise replay pause": "a", "reprise replay resume": "a", "reprise replay cancel": "a",
	"reprise replay approve": "a", "reprise replay revert": "a --confirm a",
	"reprise review list": "", "reprise review show": "ev-1:notificar-vendedor",
	"reprise review decide": "ev-1:notificar-vendedor confirm --note x",
}

// needNone are those that work without one, and the dashboard, which waits for it.
var needNone = map[string]bool{
	"reprise": true, "reprise tui": true, "reprise up": true, "reprise down": true, "reprise config check": true,
	"reprise provider": true, "reprise provider counts": true, "reprise provider faults": true, "reprise provider delivered": true,
}

// TestABlackHoleEndsEveryCommand: a database that takes connections and says nothing is an error with advice, soon.
func TestABlackHoleEndsEveryCommand(t *testing.T) {
	t.Parallel()
	s := newSite(t, ledger.Keep, "[[schedule]]\nname = \"sweep\"\nspec = \"@hourly\"\ntask = \"sweep\"\n")
	file := s.day(3)
	s.throughProxy().add("timeout", `"timeout": 0`, "upstream", "downstream")
	atOnce := make(chan struct{}, 4)
	var all sync.WaitGroup
	for _, path := range runnable(newRoot()) {
		if needNone[path] {
			continue
		}
		args, ok := needDatabase[path]
		if !ok {
			t.Errorf("%s is not tried", path)
			continue
		}
		command := append(strings.Fields(path)[1:], strings.Fields(args)...)
		if path == "reprise import" {
			command = append(command, file)
		}
		all.Go(func() {
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			r := s.run(command...) // killed if it does not end
			said := r.errout
			if path == "reprise doctor" {
				said = r.out
			}
			if r.code != exitError || !strings.Contains(said, "does it answer at the host and port of the database URL?") {
				t.Errorf("%s: exit %d\n%s%s", path, r.code, r.out, r.errout)
			}
		})
	}
	all.Wait()
}

// runnable lists the paths of the commands that do something.
func runnable(c *cobra.Command) (paths []string) {
	if c.Runnable() {
		paths = append(paths, c.CommandPath())
	}
	for _, sub := range c.Commands() {
		paths = append(paths, runnable(sub)...)
	}
	return paths
}
