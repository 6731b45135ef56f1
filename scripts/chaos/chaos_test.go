package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain is the naive applier where the control starts it.
func TestMain(m *testing.M) {
	if task := os.Getenv(naiveVariable); task != "" {
		exit(naive(task))
	}
	os.Exit(m.Run())
}

// TestChaos is the short form: both policies, and the control that shows that a run without a ledger fails.
func TestChaos(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "reprise")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/reprise").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	plans, err := plansFor(plan{Seed: 14, Chaos: 6 * time.Second, Events: 1500, Binary: binary}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		p.Chaos = 6 * time.Second
		t.Run(result{Policy: string(p.Policy), Control: p.Control}.name(), func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			r, err := run(t.Context(), p, &log)
			if err != nil {
				t.Fatalf("%v\n%s", err, &log)
			}
			if err := verdict([]result{r}); err != nil {
				t.Errorf("%v\n%s", err, &log)
			}
			// Who finds nothing must have looked at something.
			for what, n := range map[string]int64{killed: r.Counts[killed] + r.Counts[frozen], deliveries: r.Counts[deliveries], backends: r.Counts[backends]} {
				if n == 0 {
					t.Errorf("no %s", what)
				}
			}
			t.Log(fmt.Sprintln(r.Counts))
		})
	}
}

// TestALongRunMeetsEveryFault: what never happened in a long run proves nothing.
func TestALongRunMeetsEveryFault(t *testing.T) {
	r := result{Policy: "manter", Chaos: longEnough, Counts: map[string]int64{}}
	all := r.untried()
	for _, what := range all {
		r.Counts[what] = 1
	}
	if err := verdict([]result{r}); err != nil {
		t.Errorf("everything happened: %v", err)
	}
	for _, what := range all {
		r.Counts[what] = 0
		if err := verdict([]result{r}); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s did not happen: %v", what, err)
		}
		r.Counts[what] = 1
	}
	r.Chaos, r.Counts = longEnough-1, nil
	if err := verdict([]result{r}); err != nil {
		t.Errorf("a short run: %v", err)
	}
	if want := 8 + len(toxics) + 8; len(all) != want {
		t.Errorf("%d kinds of faults, want %d: %q", len(all), want, all)
	}
}
