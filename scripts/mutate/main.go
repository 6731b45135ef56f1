// Command mutate takes away the conditions of the ledger's statements and triggers, one at a time, and runs the
// tests against each: at least one must fail. It prints which did, and fails if a condition is not missed.
//
//	go run ./scripts/mutate           until the first test fails for each
//	go run ./scripts/mutate -all      all tests for each (long)
//	go run ./scripts/mutate -only sweep
//
// The files of the checkout are not touched.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	all := flag.Bool("all", false, "run all tests against each mutant, not only until the first fails")
	only := flag.String("only", "", "only mutants whose name contains this")
	flag.Parse()
	survivors, err := run(*all, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if survivors > 0 {
		fmt.Fprintf(os.Stderr, "%d conditions are not missed by any test\n", survivors)
		os.Exit(1)
	}
}

func run(all bool, only string) (survivors int, err error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	for _, m := range mutants {
		if !strings.Contains(m.name, only) {
			continue
		}
		began := time.Now()
		caught, err := m.test(dir, all)
		if err != nil {
			return survivors, fmt.Errorf("%s: %w", m.name, err)
		}
		what := strings.Join(caught, ", ")
		if len(caught) == 0 {
			survivors++
			what = "SURVIVED"
		}
		fmt.Printf("%-75s %4.0fs  %s\n", m.name, time.Since(began).Seconds(), what)
	}
	return survivors, nil
}

// mutant is one change to one file, named from the ledger's directory.
type mutant struct{ name, file, old, new string }

// test returns the tests that fail.
func (m mutant) test(dir string, all bool) ([]string, error) {
	original, err := filepath.Abs(filepath.Join("ledger", m.file))
	if err != nil {
		return nil, err
	}
	source, err := os.ReadFile(original)
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(source), m.old); n != 1 {
		return nil, fmt.Errorf("%q occurs %d times in %s: bring the list of mutants up to date", m.old, n, m.file)
	}
	mutated, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(mutated, []byte(strings.Replace(string(source), m.old, m.new, 1)), 0o600); err != nil {
		return nil, err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return nil, err
	}
	// The model check searches a model, not these statements; the conformance test runs.
	const model = "TestModel_(TheProtocol|EveryGuard)"
	first := "./ledger"
	if m.file == triggers {
		first = "./schema"
	}
	if all {
		caught, err := goTest("./ledger", "-overlay", overlay, "-skip", model)
		if err != nil || m.file != triggers {
			return caught, err
		}
		also, err := goTest("./schema", "-overlay", overlay)
		return append(caught, also...), err
	}
	caught, err := goTest(first, "-failfast", "-overlay", overlay, "-run", likely[m.file])
	if err != nil || len(caught) > 0 {
		return caught, err
	}
	return goTest("./ledger", "-failfast", "-overlay", overlay, "-skip", model)
}

// likely are the tests that catch most of a file's mutants, for a first try.
var likely = map[string]string{
	"reserve.go":   "TestModel_Is|TestP1_WhatLook|TestP2|TestP1_APermission|TestP1_WhoStops|TestP1_ALost",
	"do.go":        "TestP1_NoCall|TestP1_ACall|TestP2_NoRetryUnder|TestP1_EveryOther",
	"errors.go":    "TestP1_EveryOther",
	"recordsql.go": "TestModel_Is|TestP5|TestP2_Attempts|TestP6_NoDecision|TestP1_ALost|TestLookUps",
	"sweep.go":     "TestP3|TestModel_Is|TestP6_AnAbandoned|TestOnlyWhatIsFree",
	"look.go":      "TestP1_WhatLook|TestLookTells",
	"decide.go":    "TestP6|TestP11|TestP12|TestModel_Is|TestP4",
	"chain.go":     "TestP12",
	"lookup.go":    "Look-?Up",
	"uncertain.go": "TestTheReviewQueue|TestP12_AnEffects",
	triggers:       "TheConsumer|TestP1|TestP4|TestP5|TestP12|TestReprise|TestEveryColumn",
}

// goTest returns the tests of a package that fail.
func goTest(pkg string, args ...string) ([]string, error) {
	args = append([]string{"test", "-json", "-timeout", "5m", pkg}, args...)
	if pkg == "./ledger" {
		args = append(args, "-rapid.nofailfile", "-rapid.shrinktime=0s")
	}
	var errors bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err == nil {
		return nil, nil
	}
	return failures(out, errors.String())
}

// failures reads the tests that failed from the output of "go test -json".
func failures(out []byte, stderr string) ([]string, error) {
	var failed []string
	timedOut := false
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var event struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("output of go test: %w: %s", err, lines.Text())
		}
		switch {
		case event.Action == "build-output" || event.Action == "build-fail":
			return nil, fmt.Errorf("the mutant does not compile: %s", event.Output)
		case event.Action == "fail" && event.Test != "" && !strings.Contains(event.Test, "/"):
			failed = append(failed, event.Test)
		case strings.Contains(event.Output, "panic: test timed out"):
			timedOut = true
		}
	}
	if timedOut {
		failed = append(failed, "(timed out)")
	}
	if len(failed) == 0 {
		return nil, fmt.Errorf("go test failed, and no test did: %s", stderr)
	}
	return failed, lines.Err()
}
