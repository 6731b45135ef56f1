package batch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// watcher tells running slices that their replay was paused, cancelled or handed out anew. It listens for
// notifications and looks by itself as well, so that a lost one (or a pooler in the path) costs latency only.
type watcher struct {
	e  *Engine
	mu sync.Mutex
	// followed by replay id
	followed map[string]*followed
	failing  map[string]time.Time // since when a failing provider holds a replay up
	closed   map[string]time.Time // until when a rule of ours (sending hours) holds it up
}

type followed struct {
	generation int
	users      int
	stopped    atomic.Bool
}

func newWatcher(e *Engine) *watcher {
	return &watcher{e: e, followed: map[string]*followed{}, failing: map[string]time.Time{}, closed: map[string]time.Time{}}
}

// follow gives a flag that turns true when the replay must not be worked any more under this generation.
func (w *watcher) follow(id string, generation int) (stopped *atomic.Bool, forget func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f, ok := w.followed[id]
	if !ok || f.generation != generation {
		f = &followed{generation: generation}
		w.followed[id] = f
	}
	f.users++
	return &f.stopped, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if f.users--; f.users == 0 && w.followed[id] == f {
			delete(w.followed, id)
		}
	}
}

// halt makes the slices of a replay that run here end.
func (w *watcher) halt(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, ok := w.followed[id]; ok {
		f.stopped.Store(true)
	}
}

// failingFor is how long a replay has been held up by a failing provider, as this process saw it.
func (w *watcher) failingFor(id string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, ok := w.failing[id]
	if !ok {
		w.failing[id] = time.Now()
		return 0
	}
	return time.Since(since)
}

func (w *watcher) healthy(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.failing, id)
	delete(w.closed, id)
}

func (w *watcher) closedUntil(id string, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed[id] = until
}

// closedByRule reports whether nothing can be done for a replay for a while, by a rule of ours.
func (w *watcher) closedByRule(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Until(w.closed[id]) > time.Minute
}

// lookFor bounds a look, so that a connection that went silent is given up.
const lookFor = 30 * time.Second

// watchReplays runs until ctx ends. changed is called after each look.
func (e *Engine) watchReplays(ctx context.Context, changed func(context.Context)) {
	wake := make(chan struct{}, 1)
	var listener sync.WaitGroup
	listener.Go(func() { e.listen(ctx, "reprocessamento", wake) })
	defer listener.Wait()
	tick := time.NewTicker(e.PollEvery)
	defer tick.Stop()
	for {
		if err := e.watch.look(ctx); err != nil && ctx.Err() == nil {
			e.log.Warn("look at replays", "error", err)
		}
		look, cancel := context.WithTimeout(ctx, lookFor)
		changed(look)
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-wake:
		}
	}
}

// look compares what is followed with what is stored.
func (w *watcher) look(ctx context.Context) error {
	w.mu.Lock()
	ids := make([]string, 0, len(w.followed))
	for id := range w.followed {
		ids = append(ids, id)
	}
	w.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	rows, err := w.e.pool.Query(ctx, `select id, estado, geracao from reprocessamento where id = any($1)`, ids)
	if err != nil {
		return err
	}
	defer rows.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for rows.Next() {
		var id string
		var state State
		var generation int
		if err := rows.Scan(&id, &state, &generation); err != nil {
			return err
		}
		if f, ok := w.followed[id]; ok && (state != Running || generation != f.generation) {
			f.stopped.Store(true)
		}
	}
	return rows.Err()
}

// listen wakes on notifications of a channel until ctx ends, reconnecting when the connection is lost.
func (e *Engine) listen(ctx context.Context, channel string, wake chan<- struct{}) {
	poke := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	for ctx.Err() == nil {
		if err := e.listenOnce(ctx, channel, poke); err != nil && ctx.Err() == nil {
			e.log.Debug("listen", "channel", channel, "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
		}
	}
}

func (e *Engine) listenOnce(ctx context.Context, channel string, poke func()) error {
	pooled, err := e.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack() // it is closed here, never handed back with a LISTEN on it
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "listen "+channel); err != nil {
		return err
	}
	poke()
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		poke()
	}
}
