package batch_test

import (
	"sync/atomic"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestEveryPlaceAtAProviderIsTaken by a single slice from its first chunk on: no call is answered before as many are in
// flight as the provider takes.
func TestEveryPlaceAtAProviderIsTaken(t *testing.T) {
	t.Parallel()
	const places = 32
	b := newBenchWith(t, faultprovider.Options{}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 20 * time.Second})
	b.ledger.SweepAge, b.engine.Slice = 40*time.Second, 30*time.Second
	b.config.Concurrency = places
	var here atomic.Int64
	all := make(chan struct{})
	b.provider.OnRequest(func(string) {
		if here.Add(1) == places {
			close(all)
		}
		<-all
	})
	b.archive(upTo(places)...)
	r := b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, places), Partitions: 1}))
	b.wantState(r, batch.Done)
	b.wantDelivered(1, upTo(places)...)
}

// TestChunksFollowTheWork: bigger while they are quick, smaller while they are slow, but neither too small to take every
// place at a provider nor heavier than memory should hold.
func TestChunksFollowTheWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.Chunk = 20_000
	e := b.host()
	for _, c := range []struct {
		n, bytes int
		took     time.Duration
		want     int
	}{
		{n: 256, bytes: 256 * 100, took: 100 * time.Millisecond, want: 8192},
		{n: 8192, bytes: 8192 * 100, took: 100 * time.Millisecond, want: 20_000},
		{n: 8192, bytes: 8192 * 100, took: time.Second, want: 8192},
		{n: 8192, bytes: 8192 * 100, took: 3 * time.Second, want: 4096},
		{n: 300, bytes: 300 * 100, took: time.Hour, want: 256},
		{n: 4, bytes: 400, took: time.Second, want: 256},
		{n: 256, bytes: 256 << 20, took: 100 * time.Millisecond, want: 15}, // a megabyte each
		{n: 1, bytes: 64 << 20, took: time.Second, want: 1},
		{n: 0, bytes: 0, took: time.Second, want: 256},
	} {
		if got := e.NextChunk(c.n, c.bytes, c.took); got != c.want {
			t.Errorf("after %d events of %d bytes in %s: %d, want %d", c.n, c.bytes, c.took, got, c.want)
		}
	}
}

// slowly is a handler that takes its time for each event.
type slowly struct {
	batch.Handler
	pause time.Duration
}

func (h slowly) Project(ev batch.Event) (batch.Projection, error) {
	time.Sleep(h.pause)
	return h.Handler.Project(ev)
}

// TestP9_ASliceThatEndsWithItsLastFullChunk: a partition whose last event fills a chunk just as its slice ends is at its end,
// and the replay goes on.
func TestP9_ASliceThatEndsWithItsLastFullChunk(t *testing.T) {
	t.Parallel()
	for _, mode := range []batch.Mode{batch.Simulate, batch.Apply} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.archive(upTo(12)...)
			b.handlers = batch.Handlers{"comissao": slowly{b.handlers["comissao"], 10 * time.Millisecond}}
			b.engine.Chunk, b.engine.Slice = 3, 20*time.Millisecond
			r := b.replay(mode, 12)
			if r.State != batch.Done || r.Summary.Read != 12 {
				t.Errorf("%s: %+v", r.State, r.Summary)
			}
			if n := b.provider.Totals().Deliveries; mode == batch.Apply && n != 12 {
				t.Errorf("%d deliveries, want 12", n)
			}
		})
	}
}
