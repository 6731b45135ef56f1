package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"reprise.dev/reprise/ledger"
)

// TestAPoolThatIsTooSmallIsRefused, wherever it is set; with the smallest one that is accepted everything gets done.
func TestAPoolThatIsTooSmallIsRefused(t *testing.T) {
	t.Parallel()
	const events = 60
	s := newSite(t, ledger.Keep, "")
	s.archive(events)
	s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "4")
	url := s.url
	for _, workers := range []int{4, 1} {
		s.configure("[run]", fmt.Sprintf("[run]\nworkers = %d", workers))
		for _, size := range []int{1, workers, workers + 7} {
			s.url = fmt.Sprintf("%s&pool_max_conns=%d", url, size)
			r := s.want(exitUsage, "replay", "run", "a")
			for _, value := range []string{fmt.Sprintf("pool_max_conns = %d", size), fmt.Sprintf("run.workers = %d", workers), fmt.Sprintf("at least %d", workers+8)} {
				if !strings.Contains(r.errout, value) {
					t.Errorf("%q is not named: %s", value, r.errout)
				}
			}
		}
		s.configure(fmt.Sprintf("[run]\nworkers = %d", workers), "[run]")
	}
	s.configure("[run]", "[run]\nworkers = 1")
	s.url = url + "&pool_max_conns=9"
	var most atomic.Int64
	s.provider.OnRequest(func(string) {
		most.Store(max(most.Load(), int64(s.int(`select count(*) from pg_stat_activity where datname = current_database() and application_name = 'reprise'`))))
	})
	s.want(exitDone, "replay", "run", "a")
	s.want(exitDone, "run", "--once")
	if n := most.Load(); n > 9 {
		t.Errorf("%d connections", n)
	}
	s.wantPromises(ledger.Keep, events)
}
