package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

// TestP1_P8_NetworkFaults: whatever the network between program and database does in the middle of an apply, and
// however long it takes to heal, the provider counts what each policy promises.
func TestP1_P8_NetworkFaults(t *testing.T) {
	t.Parallel()
	const events = 80
	for _, fault := range networkFaults {
		for _, policy := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
			t.Run(fmt.Sprintf("%s/%s", fault.name, policy), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, policy, "")
				p := s.throughProxy()
				s.archive(events)
				s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "4")
				healed := s.atRequest(25, func() { fault.on(p) }, func() { time.Sleep(2 * time.Second); fault.off(p) })
				s.run("replay", "run", "a")
				<-healed
				s.wantSettledBehindCheckpoints()
				s.quiet("a")
				s.wantPromises(policy, events)
			})
		}
	}
}

// atRequest does something at the provider's n-th request, before it is answered, and the rest beside it; the channel
// is closed when that is done.
func (s *site) atRequest(n int64, first, then func()) <-chan struct{} {
	done := make(chan struct{})
	var requests atomic.Int64
	s.provider.OnRequest(func(string) {
		time.Sleep(10 * time.Millisecond)
		if requests.Add(1) == n {
			first()
			go func() {
				defer close(done)
				then()
			}()
		}
	})
	return done
}

// TestBlackHoleEndsTheSweep: nothing waits for ever for a database that swallows everything, from the start or
// in the middle, and says so.
func TestBlackHoleEndsTheSweep(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		when func(s *site, hole func())
	}{
		{"from the start", func(_ *site, hole func()) { hole() }},
		{"in the middle", func(s *site, hole func()) {
			var once sync.Once
			s.provider.OnRequest(func(string) { once.Do(hole) })
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, ledger.Release, "")
			p := s.throughProxy()
			s.archive(10)
			s.exec(`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, atualizado_em)
				select 'ev-' || g || ':' || $1, 'ev-' || g, $1, 'reservado', 'ao-vivo', now() - interval '10 minutes' from generate_series(1, 10) g`, notify)
			tc.when(s, func() { p.add("timeout", `"timeout": 0`, "upstream", "downstream") })
			r := s.run("sweep") // killed if it does not end
			if r.code != exitError || !strings.HasPrefix(lastLine(r.errout), "reprise: ") {
				t.Errorf("exit %d: %s%s", r.code, r.out, r.errout)
			}
			p.heal()
			s.settle()
			for i := 1; i <= 10; i++ {
				if n := s.provider.Delivered(effectKey(i)); n != 1 {
					t.Errorf("%s was delivered %d times", effectKey(i), n)
				}
			}
		})
	}
}

// settle lets what was abandoned come to its end where there is no replay.
func (s *site) settle() {
	s.t.Helper()
	for range 2 {
		s.age()
		if r := s.run("run", "--once"); r.code != exitDone && r.code != exitPartial {
			s.t.Fatalf("run --once: exit %d\n%s%s", r.code, r.out, r.errout)
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
