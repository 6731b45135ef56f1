package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

// TestP1_InterruptedAgainAndAgain with all partitions busy, and started again at once: it ends by itself under its own
// exit code, leaves no connection behind, and each effect happens once.
func TestP1_InterruptedAgainAndAgain(t *testing.T) {
	t.Parallel()
	const events, rounds, workers = 400, 8, 8
	s := newSite(t, ledger.Keep, "")
	s.configure("[run]", fmt.Sprintf("[run]\nworkers = %d", workers))
	s.archive(events)
	s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "32")
	connections := func() int {
		return s.int(`select count(*) from pg_stat_activity where datname = current_database() and application_name = 'reprise'`)
	}
	for round := range rounds {
		var requests atomic.Int64
		var once sync.Once
		busy := make(chan struct{})
		s.provider.OnRequest(func(string) {
			if requests.Add(1) > int64(round)*2 {
				once.Do(func() { close(busy) })
			}
			time.Sleep(20 * time.Millisecond) // so that others are in flight
		})
		cmd, out, errout := s.start("replay", "run", "a")
		<-busy
		if n := connections(); n > 2*workers+10 {
			t.Errorf("round %d: %d connections", round, n)
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Fatalf("round %d: exit %d\n%s%s", round, code, out, errout)
		}
	}
	s.provider.OnRequest(nil)
	s.waitUntil("the server has no connection of an interrupted process", func() bool { return connections() == 0 })
	s.want(exitDone, "replay", "run", "a")
	s.wantPromises(ledger.Keep, events)
	if n := s.int(`select count(*) from efeito_aplicado where estado = 'concluido'`); n != events {
		t.Errorf("%d effects are done, want %d", n, events)
	}
}

// waitUntil waits for what comes about by itself.
func (s *site) waitUntil(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("it does not come about that %s", what)
		}
	}
}
