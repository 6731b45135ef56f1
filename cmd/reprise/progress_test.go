package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

// TestP8_ProgressCountsEachEventOnce: ten events, four workers, and the program is killed among its requests. Ten were
// processed in the end, however often some were begun, and no progress ever showed more than there is.
func TestP8_ProgressCountsEachEventOnce(t *testing.T) {
	t.Parallel()
	const events = 10
	for _, policy := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
		for _, at := range []int{1, 4, 9} {
			t.Run(fmt.Sprintf("%s/%d", policy, at), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, policy, "")
				s.configure("[run]\n", "[run]\nworkers = 4\n")
				s.archive(events)
				s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "4")
				watched := s.watchProgress("a", events)
				var mu sync.Mutex
				requests := 0
				reached, killed := make(chan struct{}), make(chan struct{})
				s.provider.OnRequest(func(string) {
					mu.Lock()
					requests++
					n := requests
					mu.Unlock()
					watched()
					if n == at {
						close(reached)
					}
					if n >= at {
						<-killed // nobody reads the answer
					}
				})
				p := s.background("replay", "run", "a")
				<-reached
				p.signal(syscall.SIGKILL)
				p.wait(15 * time.Second)
				close(killed)
				watched()
				s.quiet("a")
				watched()
				again := s.background("replay", "run", "a") // what is uncertain is looked at once more
				for running := true; running; watched() {
					select {
					case <-again.ended:
						running = false
					case <-time.After(time.Millisecond):
					}
				}
				s.wantPromises(policy, events)
				r := decode[struct{ Replay batch.Replay }](t, s.want(exitDone, "replay", "show", "a", "--json").out).Replay
				if r.Summary == nil || r.Summary.Read != events || r.Summary.Events != events || !r.Summary.Balanced() {
					t.Errorf("the account: %+v", r.Summary)
				}
			})
		}
	}
}

// watchProgress gives a look at the progress of a replay of so many events, from any goroutine.
func (s *site) watchProgress(id string, events int64) func() {
	s.t.Helper()
	store, err := batch.NewStore(s.pool, batch.StoreOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	var mu sync.Mutex
	settledBefore := map[int]int64{}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		p, err := store.Progress(context.Background(), id)
		if err != nil {
			s.t.Errorf("progress: %v", err)
			return
		}
		if p.Total.Read > events || p.StageDone > p.StageAll || p.StageAll > events && p.Stage != batch.Writing {
			s.t.Errorf("progress beyond what there is: %d of %d in stage %s, %d events", p.StageDone, p.StageAll, p.Stage, p.Total.Read)
		}
		settled := int64(0)
		for _, c := range p.Total.Effects {
			settled += c.Applied + c.Registered + c.Uncertain + c.Pending
		}
		if settled > events {
			s.t.Errorf("%d effects settled of %d: %+v", settled, events, p.Total.Effects)
		}
		for _, part := range p.Partitions {
			if part.Counters.Read > part.Events || part.Projection.Read > part.Events {
				s.t.Errorf("partition %d: %d projected and %d settled of %d", part.Index, part.Projection.Read, part.Counters.Read, part.Events)
			}
			if part.Settled < settledBefore[part.Index] || part.Settled > part.Events {
				s.t.Errorf("partition %d: %d of %d events settled, after %d", part.Index, part.Settled, part.Events, settledBefore[part.Index])
			}
			if settledBefore[part.Index] = part.Settled; p.Replay.State == batch.Partial { // another pass begins anew
				delete(settledBefore, part.Index)
			}
		}
	}
}
