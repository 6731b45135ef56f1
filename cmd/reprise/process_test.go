package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

// process is a program that the test started and ends.
type process struct {
	t           *testing.T
	cmd         *exec.Cmd
	out, errout *output
	ended       chan struct{}
}

func (s *site) background(args ...string) *process {
	s.t.Helper()
	p := &process{t: s.t, ended: make(chan struct{})}
	p.cmd, p.out, p.errout = s.start(args...)
	go func() {
		_ = p.cmd.Wait() // the exit code tells
		close(p.ended)
	}()
	s.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatalf("%v: %v\n%s%s", sig, err, p.out, p.errout)
	}
}

// wait gives the exit code of a program that ends within the limit.
func (p *process) wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		p.t.Fatalf("%s did not end within %s", strings.Join(p.cmd.Args[1:], " "), limit)
		return 0
	}
}

// slowly makes the provider take a while for each request, and tells when n have come.
func (s *site) slowly(each time.Duration, n int) <-chan struct{} {
	reached := make(chan struct{})
	var mu sync.Mutex
	requests := 0
	s.provider.OnRequest(func(string) {
		mu.Lock()
		if requests++; requests == n {
			close(reached)
		}
		mu.Unlock()
		time.Sleep(each)
	})
	return reached
}

func (s *site) queue(events int) {
	s.t.Helper()
	s.archive(events)
	s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "8")
}

func (s *site) state(id string) string {
	s.t.Helper()
	var state string
	if err := s.pool.QueryRow(context.Background(), `select estado from reprocessamento where id = $1`, id).Scan(&state); err != nil {
		s.t.Fatal(err)
	}
	return state
}

// TestP3_P8_TerminatedRunnerHandsOver: it ends quickly, in good order, with nothing in doubt, and another carries on.
func TestP3_P8_TerminatedRunnerHandsOver(t *testing.T) {
	t.Parallel()
	const events = 200
	for _, command := range [][]string{{"run"}, {"run", "--once"}, {"replay", "run", "a"}} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
			t.Run(strings.Join(command, " ")+"/"+sig.String(), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, ledger.Keep, "")
				s.queue(events)
				busy := s.slowly(20*time.Millisecond, 30)
				p := s.background(command...)
				<-busy
				p.signal(sig)
				code := p.wait(30 * time.Second)
				if code != exitInterrupted && code != exitDone {
					t.Errorf("exit %d\n%s%s", code, p.out, p.errout)
				}
				if n := s.int(`select count(*) from efeito_aplicado where estado <> 'concluido'`); n != 0 {
					t.Errorf("%d effects are in doubt after an orderly end", n)
				}
				if n := s.int(`select count(*) from reprocessamento_checkpoint where ocupada_ate is not null and not concluida`); n != 0 {
					t.Errorf("%d partitions are still held", n)
				}
				s.want(exitDone, "run", "--once")
				s.wantPromises(ledger.Keep, events)
				if got := s.state("a"); got != "concluido" {
					t.Errorf("the replay is %s", got)
				}
			})
		}
	}
}

// TestP1_P5_FrozenProcess: stopped beyond the age at which its reservations are abandoned, and continued. What
// it knows by then is late, and it is not its to write.
func TestP1_P5_FrozenProcess(t *testing.T) {
	t.Parallel()
	const events = 120
	for _, policy := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, policy, "")
			s.queue(events)
			busy := s.slowly(30*time.Millisecond, 40)
			frozen := s.background("replay", "run", "a")
			<-busy
			frozen.signal(syscall.SIGSTOP)
			time.Sleep(200 * time.Millisecond) // its calls end at the provider; nobody reads the answers
			s.age()
			if r := s.run("sweep"); r.code != exitDone {
				t.Fatalf("sweep: exit %d\n%s%s", r.code, r.out, r.errout)
			}
			if n := s.int(`select count(*) from efeito_aplicado where estado = 'reservado'`); n != 0 {
				t.Errorf("%d effects are still reserved after the sweep", n)
			}
			settled := s.int(`select count(*) from efeito_aplicado where estado = 'incerto' and $1 or estado = 'concluido' and not $1`, policy == ledger.Keep)
			frozen.signal(syscall.SIGCONT)
			frozen.wait(60 * time.Second)
			if policy == ledger.Keep {
				if n := s.int(`select count(*) from efeito_aplicado where estado = 'incerto'`); n < settled {
					t.Errorf("a late answer settled %d of %d uncertain effects by itself", settled-n, settled)
				}
			}
			s.quiet("a")
			s.wantPromises(policy, events)
		})
	}
}

// TestP8_SurvivorFinishes what a killed runner had taken, without a person.
func TestP8_SurvivorFinishes(t *testing.T) {
	t.Parallel()
	const events = 200
	for _, policy := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, policy, "[[schedule]]\nname = \"sweep\"\nspec = \"@every 1s\"\ntask = \"sweep\"\n")
			s.queue(events)
			busy := s.slowly(30*time.Millisecond, 40)
			runners := []*process{s.background("run"), s.background("run")}
			<-busy
			s.waitUntil("both runners are at work", func() bool {
				return s.int(`select count(distinct dono) from reprocessamento_checkpoint where ocupada_ate > clock_timestamp()`) == 2
			})
			runners[0].signal(syscall.SIGKILL)
			s.waitUntil("the replay ends", func() bool {
				switch s.state("a") {
				case "concluido", "parcial":
					return true
				}
				return false
			})
			runners[1].signal(syscall.SIGTERM)
			if code := runners[1].wait(15 * time.Second); code != exitDone && code != exitInterrupted {
				t.Errorf("exit %d\n%s", code, runners[1].errout)
			}
			s.quiet("a")
			s.wantPromises(policy, events)
		})
	}
}
