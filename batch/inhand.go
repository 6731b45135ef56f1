package batch

import (
	"context"
	"maps"
	"sync"
	"time"
)

// inHand counts what became of the effects of the chunk that a slice has in hand, for whoever watches: the checkpoint
// counts them only when it moves, and a slow provider keeps it for long.
type inHand struct {
	mu      sync.Mutex
	kinds   map[string]EffectCounters
	changed bool
}

// begin counts from what the ledger knew of the tasks.
func (h *inHand) begin(tasks []task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kinds = map[string]EffectCounters{}
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
	h.changed = true
}

// snapshot is a copy of the counts, or nil if nothing changed since the last one.
func (h *inHand) snapshot() map[string]EffectCounters {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.changed {
		return nil
	}
	h.changed = false
	return maps.Clone(h.kinds)
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
			counters := c.counters
			if counters.InHand = h.snapshot(); counters.InHand == nil {
				continue
			}
			_, err := e.pool.Exec(ctx, showSQL, c.execution, c.partition, c.epoch, asJSON{counters}, c.position)
			if err != nil && ctx.Err() == nil {
				e.log.Debug("show what is in hand", "replay", c.execution, "error", err)
			}
		}
	}()
	return func() { cancel(); <-done }
}
