package main

import (
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

// gate holds every call at the provider until it is opened, and counts those that it holds.
type gate struct {
	mu   sync.Mutex
	held int
	shut chan struct{}
	once sync.Once
}

// atTheGate makes the provider hold every call, for longer than any test takes.
func (s *site) atTheGate() *gate {
	s.t.Helper()
	s.configure(`sweep_age = "3s"`, `sweep_age = "3m"`, `timeout = "1s"`, `timeout = "2m"`)
	g := &gate{shut: make(chan struct{})}
	s.provider.OnRequest(func(string) {
		g.mu.Lock()
		g.held++
		g.mu.Unlock()
		<-g.shut
		g.mu.Lock()
		g.held--
		g.mu.Unlock()
	})
	s.t.Cleanup(g.open)
	return g
}

func (g *gate) holds() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

func (g *gate) open() { g.once.Do(func() { close(g.shut) }) }

// daemon is a runner that the test ends.
func (s *site) daemon() *exec.Cmd {
	s.t.Helper()
	cmd, _, _ := s.start("run")
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func (s *site) partitionsOf(cmd *exec.Cmd) int {
	return s.int(`select count(*) from reprocessamento_checkpoint where ocupada_ate > clock_timestamp() and dono like '%:' || $1::int || ':%'`, cmd.Process.Pid)
}

// TestAnAddedHostSpeedsUpARunningReplay: while the first has as many calls in flight as it may have, the second brings
// as many again, on partitions of its own.
func TestAnAddedHostSpeedsUpARunningReplay(t *testing.T) {
	t.Parallel()
	const events, concurrency = 200, 8
	s := newSite(t, ledger.Keep, "")
	g := s.atTheGate()
	s.archive(events)
	s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "8")
	first := s.daemon()
	s.waitUntil("the first host is at its limit", func() bool { return g.holds() == concurrency })
	second := s.daemon()
	s.waitUntil("the second host is at its limit too", func() bool { return g.holds() == 2*concurrency })
	if a, b := s.partitionsOf(first), s.partitionsOf(second); a == 0 || b == 0 {
		t.Errorf("the hosts have %d and %d partitions", a, b)
	}
	g.open()
	s.waitUntil("the replay ends", func() bool { return s.int(`select count(*) from reprocessamento where estado = 'concluido'`) == 1 })
	s.wantPromises(ledger.Keep, events)
}

// TestP1_P8_PartitionsOfALostHostAreTaken by those that are left, whether it was killed or asked to end; what is in
// doubt after a kill is at most what was in flight, and after an orderly end nothing is.
func TestP1_P8_PartitionsOfALostHostAreTaken(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits until claims run out")
	}
	const events, concurrency = 200, 8
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, ledger.Keep, "[[schedule]]\nname = \"sweep\"\nspec = \"@every 1s\"\ntask = \"sweep\"\n")
			g := s.atTheGate()
			s.configure(`timeout = "2m"`, `timeout = "10s"`, `sweep_age = "3m"`, `sweep_age = "12s"`)
			s.archive(events)
			s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "8")
			lost, left := s.daemon(), s.daemon()
			s.waitUntil("both hosts are at their limit", func() bool {
				return g.holds() == 2*concurrency && s.partitionsOf(lost) > 0 && s.partitionsOf(left) > 0
			})
			if err := lost.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if sig == syscall.SIGKILL {
				_ = lost.Wait()
			}
			g.open()
			if sig == syscall.SIGTERM {
				if err := lost.Wait(); err != nil {
					t.Errorf("an orderly end: %v", err)
				}
				if n := s.partitionsOf(lost); n != 0 {
					t.Errorf("it left with %d partitions", n)
				}
			}
			for deadline := time.Now().Add(2 * time.Minute); s.int(`select count(*) from reprocessamento where estado in ('concluido', 'parcial')`) == 0; time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the replay does not end")
				}
			}
			inDoubt := s.int(`select count(*) from efeito_aplicado where estado <> 'concluido'`)
			if most := map[syscall.Signal]int{syscall.SIGTERM: 0, syscall.SIGKILL: concurrency}[sig]; inDoubt > most {
				t.Errorf("%d effects are in doubt, want at most %d", inDoubt, most)
			}
			s.wantPromises(ledger.Keep, events)
		})
	}
}
