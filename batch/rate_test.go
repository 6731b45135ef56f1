package batch_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
)

// TestRateIsMetAsTheProviderCountsIt, over several slices and with answers that ask for a repetition: what came
// between the first and the last arrival, against the rate that is configured.
func TestRateIsMetAsTheProviderCountsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const perSecond, events = 60.0, 360
	b.config.Rate, b.config.NotSentStatuses = perSecond, []int{503}
	b.engine.Workers, b.engine.Slice = 4, 20*time.Second
	b.archive(upTo(events)...)
	b.provider.SetRules(faultprovider.Rule{Fault: faultprovider.Unavailable, Share: 0.1, Times: 2})
	var mu sync.Mutex
	var at []time.Time
	b.provider.OnRequest(func(string) {
		mu.Lock()
		defer mu.Unlock()
		at = append(at, time.Now())
	})
	b.wantState(b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, events), Partitions: 4})), batch.Done)
	b.wantDelivered(1, upTo(events)...)

	// At the end only repetitions are left, which wait for other reasons than the rate. This machine holds some arrivals
	// up, and never makes one come early: at the beginning and at the end the earliest, against the turn that it had, show the
	// rate that was kept.
	const few = 40
	n := len(at) - 20
	earliest := func(turns []time.Time, first int) (seconds float64) {
		seconds = math.Inf(1)
		for i, t := range turns {
			seconds = min(seconds, t.Sub(at[0]).Seconds()-float64(first+i)/perSecond)
		}
		return seconds
	}
	turns := float64(n - few)
	got := turns / (turns/perSecond + earliest(at[n-few:n], n-few) - earliest(at[:few], 0))
	var longest time.Duration
	for i := 1; i < n; i++ {
		longest = max(longest, at[i].Sub(at[i-1]))
	}
	t.Logf("%d requests counted, %.2f a second of %g, longest pause %s", n, got, perSecond, longest)
	if got > 1.02*perSecond {
		t.Errorf("the provider saw %.2f requests a second, %g are allowed", got, perSecond)
	}
	if keptUp := longest < 100*time.Millisecond; keptUp && got < 0.98*perSecond {
		t.Errorf("the provider saw %.2f requests a second, want %g", got, perSecond)
	}
}
