package batch_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestP1_ExactlyTheLimit of effects, across partitions and workers; the rest stays pending and can be resumed.
func TestP1_ExactlyTheLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(200)...)
	id := b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 200), Limits: batch.Limits{Effects: 10}})
	b.wantState(b.run(id), batch.Partial)
	if n := b.provider.Totals().Deliveries; n != 10 {
		t.Fatalf("%d deliveries, want 10", n)
	}
	if _, err := b.store().Resume(context.Background(), id, &batch.Limits{}); err != nil {
		t.Fatal(err)
	}
	b.wantState(b.run(id), batch.Done)
	b.wantDelivered(1, upTo(200)...)
}

// TestP1_PauseStopsWithinTheCallsInFlight and resuming delivers the rest once.
func TestP1_PauseStopsWithinTheCallsInFlight(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{Delay: 20 * time.Millisecond}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second})
	b.config.Concurrency = 1
	b.engine.PollEvery = 20 * time.Millisecond // a pooler swallows the notification
	b.archive(upTo(100)...)
	id := b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 100), Partitions: 1})
	store := b.store()
	var atPause atomic.Int64
	var once sync.Once
	b.provider.OnRequest(func(string) {
		if b.provider.Totals().Requests == 5 {
			once.Do(func() {
				go func() {
					if _, err := store.Pause(context.Background(), id); err != nil {
						t.Error(err)
					}
					atPause.Store(b.provider.Totals().Requests)
				}()
			})
		}
	})
	b.wantState(b.run(id), batch.Paused)
	// The notification travels while a call is in flight; one more may have begun.
	if n := b.provider.Totals().Requests; n > atPause.Load()+3 {
		t.Errorf("%d requests when paused, %d at the end", atPause.Load(), n)
	}
	if _, err := store.Resume(context.Background(), id, nil); err != nil {
		t.Fatal(err)
	}
	b.wantState(b.run(id), batch.Done)
	b.wantDelivered(1, upTo(100)...)
}

// TestP1_FailingProviderOpensTheBreaker: no storm, and the run ends partial.
func TestP1_FailingProviderOpensTheBreaker(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.BreakerAfter, b.config.BreakerWait, b.config.Concurrency = 5, time.Hour, 1
	b.engine.GiveUpAfter = time.Second
	b.archive(upTo(1000)...)
	b.provider.SetRules(faultprovider.Rule{Fault: faultprovider.ActThenFail, Share: 1})
	b.wantState(b.replay(batch.Apply, 1000), batch.Partial)
	if n := b.provider.Totals().Requests; n > 10 {
		t.Errorf("%d requests after 5 failures in a row", n)
	}
}
