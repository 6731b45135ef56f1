package ledger

import (
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"reprise.dev/reprise/schema"
)

// request is one effect's part in a group commit.
type request interface {
	comparable
	effectKey() string
	// patient reports whether it is worth repeating a statement that failed for a passing reason.
	patient(now time.Time) bool
	finish(err error)
}

// collector is the group commit: it hands requests over in groups, each of whatever arrived while the previous
// ones were under way. So one effect alone waits for nobody, and many share a statement.
type collector[R request] struct {
	size, workers int
	flush         func([]R) // finishes each of them

	mu      sync.Mutex
	queue   []R
	running int
	closed  bool
	done    sync.WaitGroup
}

func newCollector[R request](size, workers int, flush func([]R)) *collector[R] {
	return &collector[R]{size: size, workers: workers, flush: flush}
}

func (c *collector[R]) add(r R) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	c.queue = append(c.queue, r)
	if c.running < c.workers {
		c.running++
		c.done.Add(1)
		go c.work()
	}
	return nil
}

// withdraw takes a request back unless it is under way already.
func (c *collector[R]) withdraw(r R) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.queue, r)
	if i < 0 {
		return false
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	return true
}

func (c *collector[R]) work() {
	defer c.done.Done()
	for {
		group := c.take()
		if len(group) == 0 {
			return
		}
		c.flush(group)
	}
}

// take removes the next group from the queue. A statement can touch a row once: the second request for a key
// stays for the next group.
func (c *collector[R]) take() []R {
	c.mu.Lock()
	defer c.mu.Unlock()
	group := make([]R, 0, min(len(c.queue), c.size))
	var left []R
	keys := make(map[string]bool, cap(group))
	for i, r := range c.queue {
		if len(group) == c.size {
			left = append(left, c.queue[i:]...)
			break
		}
		if keys[r.effectKey()] {
			left = append(left, r)
			continue
		}
		keys[r.effectKey()] = true
		group = append(group, r)
	}
	c.queue = left
	if len(group) == 0 {
		c.running--
	}
	return group
}

func (c *collector[R]) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.done.Wait()
}

// persist runs a group's statement until it succeeds, or fails for good, or nobody is patient any more, and
// finishes each request. One request that the database will not take does not spoil the others. Each new passing
// reason is logged: until it has passed nothing goes on.
func persist[R request](log *slog.Logger, group []R, statement func([]R) error) {
	pause := &backoff.ExponentialBackOff{InitialInterval: 20 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 2 * time.Second}
	pause.Reset()
	said := ""
	for len(group) > 0 {
		err := statement(group)
		if err == nil {
			for _, r := range group {
				r.finish(nil)
			}
			return
		}
		if permanent(err) {
			if len(group) == 1 {
				group[0].finish(err)
				return
			}
			half := len(group) / 2
			persist(log, group[:half], statement)
			persist(log, group[half:], statement)
			return
		}
		if reason := schema.Explain(err).Error(); reason != said {
			log.Warn("the database did not take a group commit; it is tried again", "effects", len(group), "error", reason)
			said = reason
		}
		time.Sleep(pause.NextBackOff())
		now := time.Now()
		var waiting []R
		for _, r := range group {
			if r.patient(now) {
				waiting = append(waiting, r)
			} else {
				r.finish(err)
			}
		}
		group = waiting
	}
}
