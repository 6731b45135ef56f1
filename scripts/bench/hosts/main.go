// Command hosts measures how several runners share one replay: how they add up, and what it costs when one of them is
// killed, terminated or added in the middle. Its provider takes a while for each call, and each runner may have only so many
// calls in flight, so that the runners add up even where all of them share the processors.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/scripts/bench/rig"
)

const (
	latency     = 50 * time.Millisecond
	concurrency = 16 // of each runner
	slice       = 5 * time.Second
	partitions  = 12
)

// result is one line of the table. What the provider counted is its own word.
type result struct {
	Hosts      int           `json:"hosts"`
	Signal     string        `json:"signal,omitempty"` // to one of them, in the middle
	Effects    int64         `json:"effects"`
	Took       time.Duration `json:"took_ns"` // from the provider's first request to its last
	Rate       float64       `json:"per_second"`
	Ratio      float64       `json:"ratio"`            // to one host
	Joined     float64       `json:"joined,omitempty"` // how much faster its last third was than its first, before another host came
	Keys       int64         `json:"keys"`
	Deliveries int64         `json:"deliveries"`
	Twice      int64         `json:"keys_delivered_twice"`
	Doubt      int64         `json:"in_doubt"`                  // effects that wait for a person
	Partitions int           `json:"partitions_lost"`           // that the host which got the signal had at that moment
	Idle       time.Duration `json:"longest_idle_ns,omitempty"` // from the signal until another host had the last of them
	Exit       time.Duration `json:"exit_ns,omitempty"`         // from the signal until the process had ended
}

func main() {
	events := flag.Int("events", 6_000, "effects of each replay")
	asJSON := flag.Bool("json", false, "print the table as JSON")
	binary := flag.String("reprise", "bin/reprise", "the program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results, err := measure(ctx, *binary, *events)
	rig.Report("hosts", *asJSON, results, func(w io.Writer) error { return print(w, results) }, err)
}

func measure(ctx context.Context, binary string, events int) ([]result, error) {
	r, err := rig.Start(ctx, binary)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	provider, err := faultprovider.Start(faultprovider.Options{Delay: latency})
	if err != nil {
		return nil, err
	}
	defer provider.Close()
	err = r.Configure(rig.Effects(provider.URL, concurrency, fmt.Sprintf(
		"[run]\nslice = %q\ngap_wait = \"1s\"\n[ledger]\nsweep_age = \"10s\"\nmargin = \"1s\"\n", slice)))
	if err != nil {
		return nil, err
	}
	var results []result
	for i, fleet := range []*fleet{
		{hosts: 1}, {hosts: 2}, {hosts: 3}, {hosts: 1, joins: true}, {hosts: 2, signal: syscall.SIGKILL}, {hosts: 3, signal: syscall.SIGKILL}, {hosts: 3, signal: syscall.SIGTERM},
	} {
		fleet.rig, fleet.provider = r, provider
		fleet.first, fleet.last = i*events+1, (i+1)*events
		got, err := fleet.run(ctx)
		if err != nil {
			return nil, fmt.Errorf("%d hosts: %w", fleet.hosts, err)
		}
		if got.Ratio = 1; i > 0 {
			got.Ratio = got.Rate / results[0].Rate
		}
		results = append(results, got)
		fmt.Fprintf(os.Stderr, "%d hosts %-8s %8.0f/s  idle %s\n", got.Hosts, got.Signal, got.Rate, got.Idle.Round(time.Millisecond))
	}
	return results, nil
}

func print(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "hosts\tin the middle\teffects\tseconds\tper second\tratio\tkeys\tdeliveries\ttwice\tin doubt\tspeeds up\tpartitions\tidle\tended in\t")
	for _, r := range results {
		signal, joined, lost, idle, exit := "", "", "", "", ""
		if r.Joined > 0 {
			signal, joined = "one joins", fmt.Sprintf("%.2f", r.Joined)
		}
		if r.Signal != "" {
			signal, lost, idle, exit = r.Signal, fmt.Sprint(r.Partitions), fmt.Sprintf("%.2f s", r.Idle.Seconds()), fmt.Sprintf("%.2f s", r.Exit.Seconds())
		}
		fmt.Fprintf(t, "%d\t%s\t%d\t%.2f\t%.0f\t%.2f\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t\n",
			r.Hosts, signal, r.Effects, r.Took.Seconds(), r.Rate, r.Ratio, r.Keys, r.Deliveries, r.Twice, r.Doubt, joined, lost, idle, exit)
	}
	return t.Flush()
}
