package batch_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestP8_HeldReplaySaysByWhom: the same replay started twice runs once.
func TestP8_HeldReplaySaysByWhom(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{Delay: 10 * time.Millisecond}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second})
	b.config.Concurrency = 2
	b.archive(upTo(200)...)
	id := b.queue(batch.Apply, 200)
	started := make(chan struct{})
	var once sync.Once
	b.provider.OnRequest(func(string) { once.Do(func() { close(started) }) })
	var first sync.WaitGroup
	first.Go(func() { b.wantState(b.run(id), batch.Done) })
	<-started
	_, err := b.host().RunReplay(context.Background(), id, nil)
	if !errors.Is(err, batch.ErrHeld) || !strings.Contains(err.Error(), "since") {
		t.Errorf("second start: %v", err)
	}
	first.Wait()
	b.wantDelivered(1, upTo(200)...)
}

// TestP8_OverlappingAppliesExcludeEachOther in the database; the second waits and says for whom.
func TestP8_OverlappingAppliesExcludeEachOther(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{Delay: 10 * time.Millisecond}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second})
	b.config.Concurrency = 2
	b.archive(upTo(100)...)
	first, second := b.queue(batch.Apply, 100), b.queue(batch.Apply, 50)
	started := make(chan struct{})
	var once sync.Once
	b.provider.OnRequest(func(string) { once.Do(func() { close(started) }) })
	var both sync.WaitGroup
	both.Go(func() { b.wantState(b.run(first), batch.Done) })
	<-started
	waited := false
	r, err := b.host().RunReplay(context.Background(), second, func(p batch.Progress) {
		waited = waited || strings.Contains(p.Replay.Waiting, first)
	})
	both.Wait()
	if err != nil {
		t.Fatal(err)
	}
	b.wantState(r, batch.Done)
	if !waited {
		t.Error("the second did not say for whom it waits")
	}
	if r.Summary.Effects[notify].Registered != 50 {
		t.Errorf("%+v", r.Summary)
	}
	b.wantDelivered(1, upTo(100)...)
}
