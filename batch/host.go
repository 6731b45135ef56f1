package batch

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// takeBackSQL hands out again the jobs of processes that gave no sign of life lately. The job engine itself goes by age
// alone: by what the longest plan, account or sweep may take. All of them are safe to begin again.
const takeBackSQL = `
	update ` + RiverSchema + `.river_job j set state = 'available', scheduled_at = clock_timestamp()
	where j.state = 'running' and not` + atHand

// heartbeat keeps this process visible to others, and takes back what others left that are gone, until ctx ends.
func (e *Engine) heartbeat(ctx context.Context, role string) <-chan struct{} {
	done := make(chan struct{})
	machine, _, _ := cutLast2(e.host)
	beat := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, err := e.pool.Exec(ctx, `
			insert into executor (id, maquina, pid, papel, versao) values ($1, $2, $3, $4, $5)
			on conflict (id) do update set visto_em = clock_timestamp()`, e.host, machine, os.Getpid(), role, e.version)
		if err == nil {
			_, err = e.pool.Exec(ctx, takeBackSQL)
		}
		if err != nil && ctx.Err() == nil {
			e.log.Warn("heartbeat", "error", err)
		}
	}
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			beat(ctx)
			select {
			case <-ctx.Done():
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
				defer cancel()
				_, _ = e.pool.Exec(ctx, `delete from executor where id = $1 or visto_em < clock_timestamp() - interval '1 day'`, e.host)
				return
			case <-tick.C:
			}
		}
	}()
	return done
}

// gone reports whether a holder is a process of this machine that is certainly dead. Of another machine nothing
// is certain: its hold has to run out.
func gone(holder string) bool {
	var pid int
	var start uint64
	machine, rest, ok := cutLast2(holder)
	if !ok {
		return false
	}
	if _, err := fmt.Sscanf(rest, "%d:%x", &pid, &start); err != nil {
		return false
	}
	if here, err := os.Hostname(); err != nil || here != machine {
		return false
	}
	now := startOf(pid)
	return now == 0 || now != start && now != 1
}

// cutLast2 cuts machine:pid:start before the last two fields.
func cutLast2(s string) (head, tail string, ok bool) {
	colons := 0
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == ':' {
			if colons++; colons == 2 {
				return s[:i], s[i+1:], true
			}
		}
	}
	return "", "", false
}

// Hosts lists the processes that gave a sign of life lately.
func (s *Store) Hosts(ctx context.Context) ([]Host, error) {
	rows, err := s.pool.Query(ctx, `
		select id, maquina, pid, papel, versao, iniciado_em, visto_em from executor
		where visto_em > clock_timestamp() - interval '30 seconds' order by iniciado_em, id`)
	if err != nil {
		return nil, fmt.Errorf("hosts: %w", err)
	}
	hosts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h Host, err error) {
		return h, row.Scan(&h.ID, &h.Machine, &h.PID, &h.Role, &h.Version, &h.StartedAt, &h.SeenAt)
	})
	if err != nil {
		return nil, fmt.Errorf("hosts: %w", err)
	}
	return hosts, nil
}
