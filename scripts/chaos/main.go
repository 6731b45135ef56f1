// Command chaos runs the real program under random faults and audits it afterwards. A live consumer, two runners and
// replays work on a database of their own while processes are killed and frozen, the database is stopped, the network
// is cut and the provider fails. Then all is well again, everything comes to its end, and the truth is what the
// provider counted. The same chaos over an applier without a ledger is the control: unless it delivers
// something twice, the run proves nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"reprise.dev/reprise/ledger"
)

// plan is what a run is to do.
type plan struct {
	Policy   ledger.OnFailure // of the effects; none in the control
	Control  bool             // the applier without a ledger
	Seed     uint64
	Chaos    time.Duration // how long things go wrong
	Patience time.Duration // how long replays may take to end by themselves afterwards; 0: they are carried on at once
	Events   int           // of the archive
	Binary   string        // the program
}

func main() {
	if task := os.Getenv(naiveVariable); task != "" {
		exit(naive(task))
	}
	long := flag.Duration("for", 5*time.Minute, "how long things go wrong, for each policy")
	seed := flag.Uint64("seed", 0, "what happens and to whom (default: random)")
	events := flag.Int("events", 0, "events of the archive (default: 100 for each second)")
	policy := flag.String("policy", "", "manter, at a provider that does not deduplicate, or liberar, at one that does (default: both)")
	control := flag.Bool("control", false, "only the control: an applier without a ledger")
	asJSON := flag.Bool("json", false, "print the table as JSON")
	binary := flag.String("reprise", "bin/reprise", "the program")
	flag.Parse()
	if *seed == 0 {
		*seed = rand.Uint64N(1_000_000) + 1
	}
	if *events == 0 {
		*events = max(1000, int(long.Seconds()*100))
	}
	path, err := filepath.Abs(*binary)
	if err != nil {
		exit(err)
	}
	base := plan{Seed: *seed, Chaos: *long, Patience: 5 * time.Minute, Events: *events, Binary: path}
	plans, err := plansFor(base, *policy, *control)
	if err != nil {
		exit(err)
	}
	fmt.Fprintf(os.Stderr, "seed %d\n", *seed)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var results []result
	for _, p := range plans {
		r, err := run(ctx, p, os.Stderr)
		if err != nil {
			exit(fmt.Errorf("seed %d: %w", p.Seed, err))
		}
		results = append(results, r)
	}
	if *asJSON {
		err = json.NewEncoder(os.Stdout).Encode(results)
	} else {
		err = printTable(os.Stdout, results)
	}
	exit(errors.Join(err, verdict(results)))
}

// plansFor is one run for each policy, and a shorter control.
func plansFor(base plan, policy string, control bool) ([]plan, error) {
	var plans []plan
	switch on := ledger.OnFailure(policy); {
	case control:
	case policy == "":
		for _, on := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
			p := base
			p.Policy = on
			plans = append(plans, p)
		}
	case on == ledger.Keep || on == ledger.Release:
		base.Policy = on
		plans = append(plans, base)
	default:
		return nil, fmt.Errorf("policy %q: manter or liberar", policy)
	}
	c := base
	c.Policy, c.Control = "", true
	if !control {
		c.Chaos = min(base.Chaos, max(10*time.Second, base.Chaos/8))
	}
	return append(plans, c), nil
}

// longEnough is how long a run takes to meet every fault, but for very bad luck.
const longEnough = 10 * time.Minute

// verdict is an error unless every promise held, a long run met every fault, and the control broke a promise.
func verdict(results []result) error {
	var errs []error
	for _, r := range results {
		for _, v := range r.Violations {
			errs = append(errs, fmt.Errorf("%s, seed %d: %w", r.name(), r.Seed, v))
		}
		if r.Control && r.Duplicates == 0 {
			errs = append(errs, fmt.Errorf("the control delivered nothing twice: this run proves nothing (seed %d); run it for longer", r.Seed))
		}
		if !r.Control && r.Chaos >= longEnough {
			for _, what := range r.untried() {
				errs = append(errs, fmt.Errorf("%s, seed %d: %s: never happened", r.name(), r.Seed, what))
			}
		}
	}
	return errors.Join(errs...)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
	os.Exit(0)
}
