// Command dashboard measures the dashboard on a real terminal, with a long review queue in which rows come, change and
// go all the time: from a key to the frame that it leads to, memory, and processor time at work and at rest.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise.dev/reprise/scripts/bench/rig"
)

// result is what was measured.
type result struct {
	Rows     int           `json:"uncertain_rows"`
	Updates  float64       `json:"updates_per_second"` // that the database took
	Keys     int           `json:"keys"`
	Median   time.Duration `json:"key_to_frame_median_ns"`
	P95      time.Duration `json:"key_to_frame_p95_ns"`
	Worst    time.Duration `json:"key_to_frame_worst_ns"`
	PeakRSS  int64         `json:"peak_rss_bytes"`
	WorkCPU  float64       `json:"cpu_at_work"` // of one processor
	RestCPU  float64       `json:"cpu_at_rest"`
	RestTime time.Duration `json:"rest_ns"`
}

type options struct {
	rows, updates, keys int
	rest                time.Duration
	binary              string
}

func main() {
	var o options
	flag.IntVar(&o.rows, "rows", 100_000, "uncertain effects")
	flag.IntVar(&o.updates, "updates", 50, "changes of the queue per second")
	flag.IntVar(&o.keys, "keys", 400, "keys to press")
	flag.DurationVar(&o.rest, "rest", 30*time.Second, "how long to watch it do nothing")
	flag.StringVar(&o.binary, "reprise", "bin/reprise", "the program")
	asJSON := flag.Bool("json", false, "print the figures as JSON")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := measure(ctx, o)
	rig.Report("dashboard", *asJSON, r, r.print, err)
}

func (r result) print(w io.Writer) error {
	_, err := fmt.Fprintf(w, `%d uncertain effects, %.0f changes a second, %d keys
key to frame   median %s, p95 %s, worst %s
memory         %.1f MB at most
processor      %.1f %% of one at work, %.2f %% at rest (over %s)
`, r.Rows, r.Updates, r.Keys, r.Median.Round(100*time.Microsecond), r.P95.Round(100*time.Microsecond), r.Worst.Round(100*time.Microsecond),
		float64(r.PeakRSS)/1e6, 100*r.WorkCPU, 100*r.RestCPU, r.RestTime.Round(time.Second))
	return err
}

func measure(ctx context.Context, o options) (r result, err error) {
	bench, err := rig.Start(ctx, o.binary)
	if err != nil {
		return r, err
	}
	defer bench.Close()
	if err := fill(ctx, bench.Pool, o.rows); err != nil {
		return r, err
	}
	if err := bench.Configure(`zone = "America/Sao_Paulo"` + "\n" + `language = "en"` + "\n"); err != nil {
		return r, err
	}
	term, err := open(bench.Command(ctx, "tui"))
	if err != nil {
		return r, err
	}
	defer term.close()
	for _, step := range [][2]string{{"", "Queue and history"}, {"4", "ev-"}} {
		if err := term.press(step[0], step[1]); err != nil {
			return r, err
		}
	}

	r.Rows, r.Keys = o.rows, o.keys
	churning, calm := context.WithCancel(ctx)
	var group errgroup.Group
	var changes int
	began, used := time.Now(), term.cpu()
	group.Go(func() (err error) {
		changes, err = churn(churning, bench.Pool, o.updates)
		return err
	})
	times, err := term.walk(ctx, o.keys)
	worked := time.Since(began)
	r.WorkCPU = (term.cpu() - used).Seconds() / worked.Seconds()
	calm()
	if churned := group.Wait(); err == nil {
		err = churned
	}
	if err != nil {
		return r, err
	}
	r.Updates = float64(changes) / worked.Seconds()
	slices.Sort(times)
	r.Median, r.P95, r.Worst = times[len(times)/2], times[len(times)*95/100], times[len(times)-1]

	// Let it notice that all is quiet before it is watched.
	if err := wait(ctx, 15*time.Second); err != nil {
		return r, err
	}
	began, used = time.Now(), term.cpu()
	if err := wait(ctx, o.rest); err != nil {
		return r, err
	}
	r.RestTime = time.Since(began)
	r.RestCPU = (term.cpu() - used).Seconds() / r.RestTime.Seconds()
	r.PeakRSS = term.peakRSS()
	return r, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
