package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// quiet lets everything come to its end: first by itself, then what is left by hand.
func (s *site) quiet(ctx context.Context, a *audit, stop func() error) error {
	if err := s.resumePaused(ctx); err != nil {
		return err
	}
	if err := s.settlesBySweep(ctx, a); err != nil {
		return err
	}
	if err := s.endsByItself(ctx, a); err != nil {
		return err
	}
	if err := stop(); err != nil {
		a.broken("P8", "", "%v", err)
	}
	s.panics(a)
	if err := s.carryOn(ctx); err != nil {
		return err
	}
	if err := s.sweepUntilQuiet(ctx); err != nil {
		return err
	}
	if err := s.behindCheckpoints(ctx, a); err != nil {
		return err
	}
	if err := s.simulateTwice(ctx, a); err != nil {
		return err
	}
	return s.replayAll(ctx, a)
}

func (s *site) resumePaused(ctx context.Context) error {
	paused, err := s.strings(ctx, `select id from reprocessamento where estado = 'pausado'`)
	for _, id := range paused {
		if code, out := s.reprise(ctx, "replay", "resume", id); code != exitDone {
			return fmt.Errorf("resume %s: exit %d: %s", id, code, out)
		}
	}
	return err
}

// settlesBySweep: with runners alive and all well, nothing stays reserved for longer than P3 says. The slack is
// for a busy machine.
func (s *site) settlesBySweep(ctx context.Context, a *audit) error {
	const bound, slack = sweepAge + sweepPeriod, 20 * time.Second
	const sql = `select chave from efeito_aplicado where estado = 'reservado' and atualizado_em < clock_timestamp() - $1::interval order by chave`
	var old []string
	for began := time.Now(); ; {
		var err error
		if old, err = s.strings(ctx, sql, bound); err != nil {
			return err
		}
		if since := time.Since(began); len(old) == 0 && since > bound || since > bound+slack {
			break
		}
		wait(ctx, 100*time.Millisecond)
	}
	for _, key := range old {
		a.broken("P3", key, "still reserved %s after all was well", bound+slack)
	}
	return ctx.Err()
}

// endsByItself: the runners take up what killed ones left, within the slice and about a minute, and the live consumer
// comes to the archive's end.
func (s *site) endsByItself(ctx context.Context, a *audit) error {
	const liveSQL = `select coalesce((select ultima_posicao from reprocessamento_checkpoint where execucao_id = 'ao-vivo'), 0) < max(posicao) from evento_arquivado`
	const openSQL = `select id || ' is ' || estado || coalesce(', waits: ' || espera, '') from reprocessamento where estado in ('enfileirado', 'executando')`
	var open []string
	for began := time.Now(); ; {
		behind := false
		if err := s.pool.QueryRow(ctx, liveSQL).Scan(&behind); err != nil {
			return err
		}
		var err error
		if open, err = s.strings(ctx, openSQL); err != nil {
			return err
		}
		if behind {
			open = append(open, "the live consumer is behind the archive's end")
		}
		// A short run carries replays on by hand, but not the live consumer.
		if len(open) == 0 || s.Patience == 0 && !behind || time.Since(began) > max(s.Patience, time.Minute) {
			break
		}
		wait(ctx, 100*time.Millisecond)
	}
	if s.Patience > 0 {
		for _, what := range open {
			a.broken("P8", "", "%s after all had been well for %s", what, s.Patience)
		}
	}
	return ctx.Err()
}

// carryOn works in the foreground what is still open.
func (s *site) carryOn(ctx context.Context) error {
	for round := 0; ; round++ {
		open, err := s.strings(ctx, `select id from reprocessamento where estado in ('enfileirado', 'executando') order by estado = 'enfileirado', criado_em`)
		if err != nil || len(open) == 0 {
			return err
		}
		if round == 10 {
			return fmt.Errorf("%s cannot be carried on", strings.Join(open, ", "))
		}
		for _, id := range open {
			code, out := s.reprise(ctx, "replay", "run", id)
			s.say("%s carried on: exit %d", id, code)
			if code != exitDone && code != exitPartial && code != exitRefused {
				return fmt.Errorf("replay run %s: exit %d: %s", id, code, out)
			}
			if code == exitRefused {
				wait(ctx, time.Second)
			}
		}
	}
}

// sweepUntilQuiet passes until nothing is reserved: what was abandoned last has to come of age first.
func (s *site) sweepUntilQuiet(ctx context.Context) error {
	for range 10 {
		if code, out := s.reprise(ctx, "run", "--once"); code != exitDone && code != exitPartial {
			return fmt.Errorf("run --once: exit %d: %s", code, out)
		}
		var n int
		if err := s.pool.QueryRow(ctx, `select count(*) from efeito_aplicado where estado = 'reservado'`).Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			return nil
		}
		wait(ctx, time.Second)
	}
	return nil // the audit lists what is left
}

// simulateTwice: a simulation writes nothing but its own tables, calls nobody, and does not depend on how it is cut.
func (s *site) simulateTwice(ctx context.Context, a *audit) error {
	const digestSQL = `
		select md5(coalesce((select string_agg(c::text, ';' order by pedido_id) from comissao c), '')) ||
			md5(coalesce((select string_agg(e::text, ';' order by chave) from efeito_aplicado e), ''))`
	const diffSQL = `
		select pedido_id from (
			select pedido_id, antes, depois, antes_versao, depois_versao, count(*) from reprocessamento_diff
			where execucao_id in ('sim-1', 'sim-9') group by 1, 2, 3, 4, 5 having count(*) <> 2) d`
	came := s.provider.Totals().Requests
	var before, after string
	if err := s.pool.QueryRow(ctx, digestSQL).Scan(&before); err != nil {
		return err
	}
	for _, parts := range []string{"1", "9"} {
		if err := s.replay(ctx, "sim-"+parts, "--simulate", "--partitions", parts); err != nil {
			return err
		}
	}
	if err := s.pool.QueryRow(ctx, digestSQL).Scan(&after); err != nil {
		return err
	}
	if before != after || s.provider.Totals().Requests != came {
		a.broken("P9", "", "a simulation changed state or ledger, or called the provider")
	}
	differ, err := s.strings(ctx, diffSQL)
	for _, order := range differ {
		a.broken("P9", order, "two simulations differ in this order")
	}
	return err
}

// replayAll replays the whole archive once more: what nobody has done yet is done now, the rest is not done again.
func (s *site) replayAll(ctx context.Context, a *audit) error {
	const id = "final"
	if err := s.replay(ctx, id, "--apply"); err != nil {
		return err
	}
	if err := s.sweepUntilQuiet(ctx); err != nil {
		return err
	}
	var read, events int64
	err := s.pool.QueryRow(ctx, `
		select (select coalesce(sum((contadores->>'Read')::bigint), 0) from reprocessamento_checkpoint where execucao_id = $1),
			(select count(*) from evento_arquivado)`, id).Scan(&read, &events)
	if err == nil && (read != events || events != int64(len(s.archive.events))) {
		a.broken("P8", "", "%d events were archived, %d are there, a replay of all accounts for %d", len(s.archive.events), events, read)
	}
	return err
}

// replay queues a replay of everything and works it to its end.
func (s *site) replay(ctx context.Context, id string, args ...string) error {
	top := s.archive.reached()
	args = append([]string{"replay", "queue", "--id", id, "--positions", fmt.Sprintf("1:%d", top)}, args...)
	if code, out := s.reprise(ctx, args...); code != exitDone && code != exitPartial {
		return fmt.Errorf("queue %s: exit %d: %s", id, code, out)
	}
	if code, out := s.reprise(ctx, "replay", "run", id); code != exitDone && code != exitPartial {
		return fmt.Errorf("run %s: exit %d: %s", id, code, out)
	}
	return nil
}

func (s *site) strings(ctx context.Context, sql string, args ...any) ([]string, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
