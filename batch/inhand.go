package batch

import (
	"context"
	"maps"
	"sync"
	"time"
)

// inHand counts what became of the effects of the chunk that a slice has in hand, and how far the checkpoint could move,
// for whoever watches: it counts them only when it moves, and a slow provider keeps it for long.
type inHand struct {
	mu      sync.Mutex
	kinds   map[string]EffectCounters
	open    []int32 // effects of each event that are not settled, up to the last event that wants any
	settled int     // events before the first that has one
	changed bool
}

// begin counts from what the ledger knew of the tasks.
func (h *inHand) begin(tasks []task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kinds, h.open, h.settled = map[string]EffectCounters{}, nil, 0
	if n := len(tasks); n > 0 {
		h.open = make([]int32, tasks[n-1].event+1)
	}
	for i := range tasks {
		h.open[tasks[i].event]++
	}
	for i := range tasks {
		if tasks[i].outcome.settled() {
			h.add(&tasks[i])
		}
	}
}

func (h *inHand) count(t *task) {
	if !t.outcome.settled() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(t)
}

func (h *inHand) add(t *task) {
	kind := h.kinds[t.effect.Kind]
	kind.count(t.outcome)
	h.kinds[t.effect.Kind] = kind
	h.open[t.event]--
	for h.settled < len(h.open) && h.open[h.settled] == 0 {
		h.settled++
	}
	h.changed = true
}

// snapshot is a copy of the counts, or nil if nothing changed since the last one, and the number of events that are
// settled one after another.
func (h *inHand) snapshot() (kinds map[string]EffectCounters, settled int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.changed {
		return nil, 0
	}
	h.changed = false
	return maps.Clone(h.kinds), int64(h.settled)
}

// A statement that arrives late, when the checkpoint has moved, changes nothing: it would take back what was counted.
const showSQL = `
	update reprocessamento_checkpoint set contadores = $4
	where execucao_id = $1 and particao = $2 and epoca = $3 and ultima_posicao = $5`

// show writes what is in hand beside the counters of the checkpoint, at most once a second, until the caller stops it;
// the next checkpoint takes it back. Failing to is harmless.
func (e *Engine) show(ctx context.Context, h *inHand, c claim) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			kinds, settled := h.snapshot()
			if kinds == nil {
				continue
			}
			counters := c.counters
			counters.InHand, counters.Reached = kinds, max(counters.Reached, counters.Read+settled)
			_, err := e.pool.Exec(ctx, showSQL, c.execution, c.partition, c.epoch, asJSON{counters}, c.position)
			if err != nil && ctx.Err() == nil {
				e.log.Debug("show what is in hand", "replay", c.execution, "error", err)
			}
		}
	}()
	return func() { cancel(); <-done }
}
