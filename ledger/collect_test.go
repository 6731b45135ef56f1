package ledger

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// part is a request that records with whom it was handed over.
type part struct {
	key  string
	err  error
	done chan struct{}
}

func (p *part) effectKey() string      { return p.key }
func (p *part) patient(time.Time) bool { return true }
func (p *part) finish(err error)       { p.err = err; close(p.done) }

func newPart(key string) *part { return &part{key: key, done: make(chan struct{})} }

func TestACollectorHandsOverWhatArrivedMeanwhile(t *testing.T) {
	t.Parallel()
	var groups [][]string
	gate := make(chan struct{})
	c := newCollector(3, 1, func(group []*part) {
		<-gate
		keys := []string{}
		for _, p := range group {
			keys = append(keys, p.key)
			p.finish(nil)
		}
		groups = append(groups, keys)
	})
	first := newPart("a")
	if err := c.add(first); err != nil {
		t.Fatal(err)
	}
	for !c.idle() { // the first is under way
		time.Sleep(time.Millisecond)
	}
	rest := []*part{newPart("b"), newPart("b"), newPart("gone"), newPart("c"), newPart("d"), newPart("e")}
	for _, p := range rest {
		if err := c.add(p); err != nil {
			t.Fatal(err)
		}
	}
	if !c.withdraw(rest[2]) || c.withdraw(rest[2]) || c.withdraw(first) {
		t.Error("withdrawn is what waits, once")
	}
	close(gate)
	c.close()
	want := [][]string{{"a"}, {"b", "c", "d"}, {"b", "e"}}
	if !slices.EqualFunc(groups, want, slices.Equal) {
		t.Errorf("groups %v, want %v", groups, want)
	}
	if err := c.add(newPart("f")); !errors.Is(err, ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

// idle reports whether nothing waits.
func (c *collector[R]) idle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue) == 0
}

func TestACollectorLosesNobody(t *testing.T) {
	t.Parallel()
	c := newCollector(16, 3, func(group []*part) {
		for _, p := range group {
			p.finish(nil)
		}
	})
	var callers sync.WaitGroup
	for i := range 2000 {
		callers.Go(func() {
			p := newPart(fmt.Sprint(i % 50))
			if err := c.add(p); err != nil {
				t.Error(err)
				return
			}
			<-p.done
		})
	}
	callers.Wait()
	c.close()
}
