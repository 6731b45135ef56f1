package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/ledger"
)

// LiveProgress is what the live consumer tells its watcher.
type LiveProgress struct {
	Position int64
	Counters Counters
	Waiting  string
}

// Live follows the archive until ctx ends: it is woken by notifications and looks by itself as well. It uses the
// same applier as a replay; only the execution id differs. Two of them share one checkpoint: one works, the
// other stands by. from, if not nil, is the position after which a consumer without a checkpoint begins
// (nil: at the archive's current end).
func (e *Engine) Live(ctx context.Context, handler Handler, from *int64, watch func(LiveProgress)) error {
	if err := e.startLive(ctx, from); err != nil {
		return err
	}
	wake := make(chan struct{}, 1)
	var group sync.WaitGroup
	listening, cancel := context.WithCancel(ctx)
	group.Go(func() { e.listen(listening, "evento_arquivado", wake) })
	beat := e.heartbeat(listening, "live")
	defer func() { cancel(); group.Wait(); <-beat }()
	defer context.AfterFunc(ctx, e.Stop)()
	for ctx.Err() == nil {
		more, why, err := e.liveSlice(context.WithoutCancel(ctx), handler, watch)
		if err != nil && ctx.Err() == nil {
			e.log.Error("live consumer", "error", err)
			why = err.Error()
		}
		if more && err == nil && why == "" {
			continue
		}
		select {
		case <-ctx.Done():
		case <-wake:
		case <-time.After(e.PollEvery):
		}
	}
	return nil
}

const startLiveSQL = `
	insert into reprocessamento_checkpoint (execucao_id, particao, ultima_posicao)
	values ('ao-vivo', 0, coalesce($1, (select max(posicao) from evento_arquivado), 0))
	on conflict (execucao_id, particao) do nothing`

func (e *Engine) startLive(ctx context.Context, from *int64) error {
	if _, err := e.pool.Exec(ctx, startLiveSQL, from); err != nil {
		return fmt.Errorf("live consumer: %w", err)
	}
	return nil
}

const claimLiveSQL = `
	update reprocessamento_checkpoint c set epoca = c.epoca + 1, dono = $1, ocupada_ate = clock_timestamp() + $2
	where c.execucao_id = 'ao-vivo' and c.particao = 0
		and (c.ocupada_ate is null or c.ocupada_ate < clock_timestamp())
	returning c.epoca, c.ultima_posicao, c.contadores`

// liveSlice follows the archive for one slice; more says that there is more to do now.
func (e *Engine) liveSlice(ctx context.Context, handler Handler, watch func(LiveProgress)) (more bool, why string, err error) {
	c := claim{execution: ledger.Live}
	var counters []byte
	err = e.pool.QueryRow(ctx, claimLiveSQL, e.host, e.Slice+e.grace).Scan(&c.epoch, &c.position, &counters)
	if isNoRows(err) {
		return false, "another live consumer is at work", nil
	}
	if err == nil {
		err = json.Unmarshal(counters, &c.counters)
	}
	if err != nil {
		return false, "", fmt.Errorf("claim the live checkpoint: %w", err)
	}
	defer func() { e.release(ctx, c) }()
	r := &run{
		execution: ledger.Live, mode: Apply, live: true, handler: handler, rules: e.rules,
		deadline: time.Now().Add(e.Slice), stopped: new(atomic.Bool), stopping: e.stopping,
	}
	limit := 500
	for !r.halted() {
		began := time.Now()
		chunk, bytes, last, err := e.readLive(ctx, handler, c.position, limit)
		if err != nil {
			return false, "", err
		}
		if last == c.position {
			return false, "", nil
		}
		c.last = last
		why, err = e.workChunk(ctx, r, &c, chunk, true)
		if errors.Is(err, errFenced) {
			return false, "another live consumer took over", nil
		}
		if err != nil {
			return false, "", err
		}
		if watch != nil {
			watch(LiveProgress{Position: c.position, Counters: c.counters, Waiting: why})
		}
		if why != "" {
			return false, why, nil
		}
		limit = e.nextChunk(len(chunk), bytes, time.Since(began))
	}
	return true, "", nil
}

// readLive reads the next events up to the first position that is missing and may still appear: the live
// consumer must not move past an event that a slower transaction is about to commit.
func (e *Engine) readLive(ctx context.Context, handler Handler, after int64, limit int) (chunk []projected, bytes int, last int64, err error) {
	const maxPosition = 1<<63 - 2
	var horizon string
	for round := 0; ; round++ {
		chunk, bytes, _, err = e.readChunk(ctx, handler, Scope{}, after, maxPosition, limit)
		if err != nil || len(chunk) == 0 {
			return nil, 0, after, err
		}
		gap := firstGap(chunk, after)
		if gap == len(chunk) {
			break
		}
		// Once every transaction that was open when the gap was first seen has ended, what is missing now is
		// missing for good.
		if horizon == "" {
			if err := e.pool.QueryRow(ctx, `select pg_snapshot_xmax(pg_current_snapshot())::text`).Scan(&horizon); err != nil {
				return nil, 0, after, fmt.Errorf("open transactions: %w", err)
			}
		}
		var settled bool
		if err := e.pool.QueryRow(ctx, `select pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8`, horizon).Scan(&settled); err != nil {
			return nil, 0, after, fmt.Errorf("open transactions: %w", err)
		}
		if settled {
			// Read once more: what those transactions committed is visible now.
			if chunk, bytes, _, err = e.readChunk(ctx, handler, Scope{}, after, chunk[len(chunk)-1].position, limit); err != nil {
				return nil, 0, after, err
			}
			break
		}
		if gap > 0 {
			chunk = chunk[:gap]
			break
		}
		if time.Duration(round)*200*time.Millisecond > e.GapWait {
			e.log.Warn("passing a gap that an open transaction may still fill; reprise verify finds what it leaves", "after", after)
			break
		}
		select {
		case <-e.stopping:
			return nil, 0, after, nil
		case <-time.After(200 * time.Millisecond):
		}
	}
	return chunk, bytes, chunk[len(chunk)-1].position, nil
}

// firstGap is the index of the first event that does not follow its predecessor directly.
func firstGap(chunk []projected, after int64) int {
	for i := range chunk {
		if chunk[i].position != after+1 {
			return i
		}
		after = chunk[i].position
	}
	return len(chunk)
}

// LivePosition is the live consumer's checkpoint; ok is false if it never ran.
func (s *Store) LivePosition(ctx context.Context) (position int64, ok bool, err error) {
	err = s.pool.QueryRow(ctx, `select ultima_posicao from reprocessamento_checkpoint where execucao_id = 'ao-vivo' and particao = 0`).Scan(&position)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("live checkpoint: %w", err)
	}
	return position, true, nil
}
