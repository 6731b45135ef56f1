package batch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// rivals is a bench for several replays that one runner works, each over its own events, at a provider of its own or
// at the same. A replay's calls are answered only once its gate is open.
type rivals struct {
	*bench
	events int64 // of each replay

	mu      sync.Mutex
	replays []*rival
}

type rival struct {
	id          string
	first, last int64 // positions
	gate        chan struct{}
	open        func()
	requests    int64
}

const calls = 4 // at the same time, at each provider

func newRivals(t *testing.T, events int64) *rivals {
	t.Helper()
	b := newBenchWith(t, faultprovider.Options{}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Minute})
	b.ledger.SweepAge = 2 * time.Minute
	b.config.Concurrency = calls
	b.engine.Workers = 2
	r := &rivals{bench: b, events: events}
	b.provider.OnRequest(func(key string) { <-r.arrived(key) })
	return r
}

// arrived counts a request, and returns the gate that it waits for.
func (r *rivals) arrived(key string) <-chan struct{} {
	var position int64
	_, _ = fmt.Sscanf(key, "ev-%d:", &position)
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.replays[(position-1)/r.events]
	one.requests++
	return one.gate
}

func (r *rivals) requestsOf(one *rival) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return one.requests
}

// compete queues one more replay, at provider p or q.
func (r *rivals) compete(provider string, priority, partitions int) *rival {
	r.t.Helper()
	r.mu.Lock()
	n := int64(len(r.replays))
	one := &rival{id: fmt.Sprintf("r-%d", n+1), first: n*r.events + 1, last: (n + 1) * r.events, gate: make(chan struct{})}
	one.open = sync.OnceFunc(func() { close(one.gate) })
	r.replays = append(r.replays, one)
	r.mu.Unlock()
	r.t.Cleanup(one.open) // before the provider ends, which waits for its requests

	rule := r.rules[notify]
	rule.Provider = provider
	r.rules = map[string]batch.Rule{notify: rule}
	for p := one.first; p <= one.last; p++ {
		r.archive(p)
	}
	r.queueWith(batch.Request{ID: one.id, Mode: batch.Apply, Scope: positions(one.first, one.last), Priority: priority, Partitions: partitions})
	return one
}

// work starts a runner, which ends with the test, after every gate was opened.
func (r *rivals) work() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	host := r.hostOf(map[string]batch.Provider{"p": r.client(r.config), "q": r.client(r.config)})
	go func() { ended <- host.RunDaemon(ctx, nil) }()
	r.t.Cleanup(func() {
		cancel()
		for _, one := range r.replays {
			one.open()
		}
		if err := <-ended; err != nil {
			r.t.Error(err)
		}
	})
}

func (r *rivals) isDone(one *rival) {
	r.t.Helper()
	r.until(`select estado = 'concluido' from reprocessamento where id = $1`, one.id)
}

// isCalling: as many of its effects as the provider takes are in flight.
func (r *rivals) isCalling(one *rival) {
	r.t.Helper()
	r.until(`select count(*) = $2 from efeito_aplicado where execucao_id = $1 and estado = 'reservado'`, one.id, calls)
}

func (r *rivals) wantAllDelivered() {
	r.t.Helper()
	for p := int64(1); p <= int64(len(r.replays))*r.events; p++ {
		r.wantDelivered(1, p)
	}
}

// TestReplaysGoSideBySide: neither of two replays gets beyond its half before the other got to it.
func TestReplaysGoSideBySide(t *testing.T) {
	t.Parallel()
	r := newRivals(t, 200)
	one, other := r.compete("p", 0, 8), r.compete("q", 0, 8)
	r.provider.OnRequest(func(key string) {
		gate := r.arrived(key)
		a, b := r.requestsOf(one), r.requestsOf(other)
		if a >= r.events/2 {
			other.open()
		}
		if b >= r.events/2 {
			one.open()
		}
		if max(a, b) > r.events/2 {
			<-gate
		}
	})
	r.work()
	r.isDone(one)
	r.isDone(other)
	r.wantAllDelivered()
}

// TestReplaysShareAProvider whose rate is less than each could use, however many partitions each has.
func TestReplaysShareAProvider(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 4, 64} {
		t.Run(fmt.Sprintf("%d partitions beside 4", partitions), func(t *testing.T) {
			t.Parallel()
			r := newRivals(t, 500)
			r.config.Rate = 250
			one, other := r.compete("p", 0, partitions), r.compete("p", 0, 4)
			const stretch = 200 // requests, from the first of the later one on
			var mu sync.Mutex
			var since, until [2]int64
			r.provider.OnRequest(func(key string) {
				<-r.arrived(key)
				mu.Lock()
				defer mu.Unlock()
				now := [2]int64{r.requestsOf(one), r.requestsOf(other)}
				if min(now[0], now[1]) <= 1 {
					since = now
				}
				if now[0]+now[1] <= since[0]+since[1]+stretch {
					until = now
				}
			})
			r.work()
			for _, x := range []*rival{one, other} { // before the first answer of any
				r.until(`
					select exists (select from river.river_job where args->>'execucao' = $1 and args->>'etapa' = $2 and state = 'running')`, x.id, batch.Working)
			}
			one.open()
			other.open()
			r.isDone(one)
			r.isDone(other)
			r.wantAllDelivered()
			if a, b := until[0]-since[0], until[1]-since[1]; min(a, b) < stretch/5 {
				t.Errorf("of %d requests in a row, the replays made %d and %d", stretch, a, b)
			}
		})
	}
}

// TestASlowProviderStopsItsOwnReplayOnly: every worker that the runner has for one replay waits for answers.
func TestASlowProviderStopsItsOwnReplayOnly(t *testing.T) {
	t.Parallel()
	r := newRivals(t, 40)
	slow, other := r.compete("p", 0, 8), r.compete("q", 0, 8)
	r.work()
	r.isCalling(slow)
	other.open()
	r.isDone(other)
	if n := r.requestsOf(slow); n != calls {
		t.Errorf("the slow provider has %d requests to answer, want %d", n, calls)
	}
	slow.open()
	r.isDone(slow)
	r.wantAllDelivered()
}

// TestAnUrgentReplayGoesFirst, at once: it waits for no call of the one that is being worked, and that one begins no
// other call until the urgent one is done.
func TestAnUrgentReplayGoesFirst(t *testing.T) {
	t.Parallel()
	r := newRivals(t, 40)
	r.engine.Slice = time.Minute
	ordinary := r.compete("p", 0, 8)
	r.work()
	r.isCalling(ordinary)
	urgent := r.compete("q", 1, 8)
	r.isCalling(urgent)

	ordinary.open()
	r.until(`select bool_and(dono is null) from reprocessamento_checkpoint where execucao_id = $1`, ordinary.id)
	if n := r.requestsOf(ordinary); n != calls {
		t.Errorf("the ordinary replay made %d calls, want the %d that were in flight", n, calls)
	}
	urgent.open()
	r.isDone(urgent)
	r.isDone(ordinary)
	r.wantAllDelivered()
}
