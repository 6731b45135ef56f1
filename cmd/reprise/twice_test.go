package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"reprise.dev/reprise/ledger"
)

// TestP1_TheSameReplayStartedThreeTimes: in two terminals at once, and by the scheduler's pass. One works it; the others
// say who does and since when, under an exit code of their own.
func TestP1_TheSameReplayStartedThreeTimes(t *testing.T) {
	t.Parallel()
	const events = 40
	s := newSite(t, ledger.Keep, "")
	s.configure(`timeout = "1s"`, `timeout = "1m"`, `sweep_age = "3s"`, `sweep_age = "2m"`)
	s.archive(events)
	s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "4")
	started, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s.provider.OnRequest(func(string) {
		once.Do(func() { close(started) })
		<-goOn
	})
	ends := make(chan result, 2)
	for range cap(ends) {
		go func() { ends <- s.run("replay", "run", "a") }()
	}
	<-started
	second := <-ends // the first works as long as its calls hang
	scheduled := s.run("run", "--once")
	close(goOn)
	first := <-ends
	if first.code != exitDone {
		t.Errorf("the first: exit %d\n%s%s", first.code, first.out, first.errout)
	}
	if second.code != exitRefused || !strings.Contains(second.errout, "held by ") || !strings.Contains(second.errout, " since 20") {
		t.Errorf("the second: exit %d\n%s%s", second.code, second.out, second.errout)
	}
	if scheduled.code != exitPartial || !strings.Contains(scheduled.out, "held by ") {
		t.Errorf("the scheduled pass: exit %d\n%s%s", scheduled.code, scheduled.out, scheduled.errout)
	}
	for i := 1; i <= events; i++ {
		if n := s.provider.Delivered(effectKey(i)); n != 1 {
			t.Errorf("%s was delivered %d times", effectKey(i), n)
		}
	}
}
