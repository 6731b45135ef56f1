package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// notes are what a reviewer knew when deciding.
type notes struct {
	mu        sync.Mutex
	delivered map[string]int // by key: deliveries when the latest decision was made
}

// The exit codes of the program that say that it did what was asked.
const (
	exitDone    = 0
	exitPartial = 3
	exitRefused = 4
)

const openReplaysSQL = `select count(*) filter (where estado in ('enfileirado', 'executando', 'pausado')), count(*) from reprocessamento`

// queueReplay queues a replay of some of what has arrived, unless enough are open. Scopes overlap. Now and then one
// is worked in the foreground, by a process that may be killed.
func (s *site) queueReplay(ctx context.Context, random *rand.Rand) error {
	var open, made int
	if !s.ask(ctx, openReplaysSQL, nil, &open, &made) || open >= 4 {
		return nil
	}
	top := s.archive.reached()
	first := 1 + random.Int64N(top)
	last := min(top, first+random.Int64N(top/2+1))
	id, mode, what := fmt.Sprintf("r-%d", made+1), "--apply", applies
	if random.IntN(4) == 0 {
		mode, what = "--simulate", simulated
	}
	code, _ := s.reprise(ctx, "replay", "queue", "--id", id, "--positions", fmt.Sprintf("%d:%d", first, last), mode,
		"--partitions", fmt.Sprint(1+random.IntN(12)))
	if code != exitDone {
		s.tally.add(abandoned, 1)
		return nil
	}
	s.tally.add(what, 1)
	if random.IntN(4) == 0 {
		s.foreground(ctx, id, random)
	}
	return nil
}

// foreground works a replay in a process of its own, and kills it if it takes long.
func (s *site) foreground(ctx context.Context, id string, random *rand.Rand) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(random.Int64N(int64(10*time.Second))))
	defer cancel()
	s.reprise(limited, "replay", "run", id)
	if limited.Err() != nil {
		s.tally.add(killed, 1)
	}
}

// commandReplay pauses an open replay and lets it carry on, or cancels it.
func (s *site) commandReplay(ctx context.Context, random *rand.Rand) error {
	var id string
	if !s.ask(ctx, `select id from reprocessamento where estado in ('enfileirado', 'executando') order by random() limit 1`, nil, &id) {
		return nil
	}
	verb := "pause"
	if random.IntN(5) == 0 {
		verb = "cancel"
	}
	if code, _ := s.reprise(ctx, "replay", verb, id); code != exitDone {
		s.tally.add(abandoned, 1)
		return nil
	}
	s.tally.add(commanded, 1)
	if verb == "pause" {
		wait(ctx, time.Duration(random.Int64N(int64(3*time.Second))))
		s.reprise(ctx, "replay", "resume", id)
	}
	return nil
}

// ask reads one row; false if there is none, or the database is away: then a monkey has nothing to do.
func (s *site) ask(ctx context.Context, sql string, args []any, into ...any) bool {
	return s.pool.QueryRow(ctx, sql, args...).Scan(into...) == nil
}

const decidableSQL = `
	select chave from efeito_aplicado
	where estado = 'incerto' and coalesce(quarentena_ate, atualizado_em + $1) < clock_timestamp() order by random() limit 1`

// review decides one effect by the provider's own records; sometimes the seller wants it once more all the same.
func (s *site) review(ctx context.Context, random *rand.Rand) error {
	var key string
	if !s.ask(ctx, decidableSQL, []any{sweepAge}, &key) {
		return nil
	}
	delivered := s.provider.Delivered(key)
	verdict := "confirm"
	if delivered == 0 {
		verdict = []string{"resend", "discard"}[random.IntN(2)]
	} else if random.IntN(5) == 0 {
		verdict = "resend"
	}
	s.noted.mu.Lock()
	s.noted.delivered[key] = delivered
	s.noted.mu.Unlock()
	code, _ := s.reprise(ctx, "review", "decide", key, verdict, "--note", fmt.Sprintf("the provider counts %d", delivered))
	if code != exitDone {
		s.tally.add(abandoned, 1)
	}
	return nil
}
