package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

// hurtDatabase takes the database away for at most two seconds, in one of the ways in which databases go.
func (s *site) hurtDatabase(ctx context.Context, random *rand.Rand) error {
	kind := []struct {
		name   string
		signal syscall.Signal
	}{{dbFast, syscall.SIGINT}, {dbAtOnce, syscall.SIGQUIT}, {dbKilled, syscall.SIGKILL}, {dbCrashed, 0}}[random.IntN(4)]
	away := time.Duration(random.Int64N(int64(2 * time.Second)))
	s.tally.add(kind.name, 1)
	if kind.signal == 0 {
		// One dead session makes the server end all others and recover.
		var pid int
		if s.ask(ctx, `select pid from pg_stat_activity where datname = current_database() order by random() limit 1`, nil, &pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		away = 0
	} else if pid, ok := s.server.Running(ctx); ok {
		if err := syscall.Kill(pid, kind.signal); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		for range 1000 { // a fast stop waits for its checkpoint
			if now, ok := s.server.Running(ctx); !ok || now != pid {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	wait(ctx, away)
	if err := s.server.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the database again after: %s: %w", kind.name, err)
	}
	s.recovered(ctx)
	return nil
}

const progressSQL = `
	select clock_timestamp(), coalesce(max(atualizado_em), '-infinity') > coalesce($1, clock_timestamp())
	from reprocessamento_checkpoint where ultima_posicao >= posicao_de or posicao_de is null`

// recovered waits until a checkpoint moves after an outage, and notes the longest wait.
func (s *site) recovered(ctx context.Context) {
	if s.Control {
		return
	}
	began := time.Now()
	var since *time.Time
	for ctx.Err() == nil {
		var now time.Time
		var moved bool
		if s.ask(ctx, progressSQL, []any{since}, &now, &moved) {
			if since == nil {
				since = &now
			}
			if moved {
				break
			}
		}
		if !wait(ctx, 20*time.Millisecond) {
			break
		}
	}
	if took := int64(time.Since(began)); took > s.slowest.Load() {
		s.slowest.Store(took)
	}
}
