package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/batch/sample"
)

// archive is what arrives: a part before the run, the rest while things go wrong, some of it behind what came later.
type archive struct {
	events []sample.Event
	before int // how many are there when the run begins

	mu   sync.Mutex
	late map[int64]bool // positions that may have become visible behind a checkpoint that had passed them
	top  int64          // the highest position handed out so far
}

func (s *site) makeArchive() error {
	events, err := sample.Events(sample.Options{
		Seed: s.Seed, Events: s.Events, Orders: max(1, s.Events/5), PoisonShare: 0.002, GapShare: 0.002,
	})
	if err != nil {
		return err
	}
	for e := range events {
		e.Payload = slices.Clone(e.Payload)
		s.archive.events = append(s.archive.events, e)
	}
	s.archive.before, s.archive.late = s.Events*4/10, map[int64]bool{}
	return nil
}

func (a *archive) reached() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.top
}

func (a *archive) handedOut(batch []sample.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.top = max(a.top, batch[len(batch)-1].Position)
}

func (a *archive) areLate(batch []sample.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range batch {
		a.late[e.Position] = true
	}
}

const insertSQL = `
	insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
	select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::jsonb[], $7::timestamptz[])
	on conflict do nothing`

// insert archives a batch in one transaction, and calls inserted before it is committed.
func (s *site) insert(ctx context.Context, batch []sample.Event, inserted func()) error {
	n := len(batch)
	positions, ids, types, orders := make([]int64, n), make([]string, n), make([]string, n), make([]string, n)
	versions, payloads, times := make([]int64, n), make([]string, n), make([]time.Time, n)
	for i, e := range batch {
		positions[i], ids[i], types[i], orders[i] = e.Position, e.ID, e.Type, e.OrderID
		versions[i], payloads[i], times[i] = e.Version, string(e.Payload), e.OccurredAt
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, insertSQL, positions, ids, types, orders, versions, payloads, times); err != nil {
			return err
		}
		inserted()
		return nil
	})
}

func (s *site) insertFirst(ctx context.Context) error {
	for batch := range slices.Chunk(s.archive.events[:s.archive.before], 1000) {
		if err := s.insert(ctx, batch, func() {}); err != nil {
			return err
		}
		s.archive.handedOut(batch)
	}
	_, err := s.pool.Exec(ctx, `analyze evento_arquivado`)
	return err
}

// feed archives the rest, evenly over the run. Some transactions stay open while later positions are committed; some
// batches are held back, and arrive behind others, as does what has to be tried again.
func (s *site) feed(ctx context.Context, random *rand.Rand) {
	rest := s.archive.events[s.archive.before:]
	const size = 25
	pause := time.Duration(float64(s.Chaos) * 0.95 * size / float64(max(len(rest), 1)))
	var open sync.WaitGroup
	var held [][]sample.Event
	for batch := range slices.Chunk(rest, size) {
		dice, stay := random.IntN(20), time.Duration(0)
		if dice < 5 {
			stay = time.Duration(random.Int64N(int64(time.Second)))
		}
		if dice == 19 {
			s.archive.areLate(batch)
			held = append(held, batch)
			continue
		}
		// Transactions begin in the order of their positions; they end in any.
		s.archive.handedOut(batch)
		began := make(chan struct{})
		open.Go(func() { s.arrive(ctx, batch, sync.OnceFunc(func() { close(began) }), stay) })
		<-began
		if len(held) > 3 {
			n := random.IntN(len(held))
			s.arrive(ctx, held[n], func() {}, 0)
			held = slices.Delete(held, n, n+1)
		}
		wait(ctx, pause)
	}
	for _, batch := range held {
		s.arrive(ctx, batch, func() {}, 0)
	}
	open.Wait()
}

// arrive archives a batch, however often the database fails, in a transaction that stays open for a while after it
// called began. began is called in any case.
func (s *site) arrive(ctx context.Context, batch []sample.Event, began func(), stay time.Duration) {
	for ctx.Err() == nil {
		err := s.insert(ctx, batch, func() { began(); wait(ctx, stay) })
		if err == nil {
			return
		}
		// Whether it was committed is not known; if not, its positions come again, which no reader can foresee.
		s.archive.areLate(batch)
		began()
		wait(ctx, 200*time.Millisecond)
	}
	began()
}
