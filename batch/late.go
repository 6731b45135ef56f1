package batch

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// recountSQL counts by partition: number n holds the positions from the n-th of $7 on. Number 0 is before the
// first, and the last number behind the last partition.
const recountSQL = `
	select width_bucket(e.posicao, $7::bigint[]), count(*), min(e.posicao), max(e.posicao)
	from evento_arquivado e where` + inScope + ` group by 1`

type counted struct{ events, first, last int64 }

// recount counts what the archive holds now for each partition. What lies in scope before the first partition or
// behind the last one is counted apart, as partition -1 and len(parts).
func (e *Engine) recount(ctx context.Context, r Replay, parts []Partition) (map[int]counted, error) {
	var borders []int64
	for _, p := range parts {
		borders = append(borders, p.First)
	}
	borders = append(borders, parts[len(parts)-1].Last+1)
	first, last := bounds(r.Scope)
	found := map[int]counted{}
	err := e.patiently(ctx, func(tx pgx.Tx) error {
		// There are few groups. The planner expects as many as events, and would clear all memory that it may use for them.
		if _, err := tx.Exec(ctx, `set local work_mem = '4MB'`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, recountSQL, append(scopeArgs(r.Scope, first, last), borders)...)
		if err != nil {
			return err
		}
		var n int
		var c counted
		_, err = pgx.ForEachRow(rows, []any{&n, &c.events, &c.first, &c.last}, func() error { found[n-1] = c; return nil })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("recount %s: %w", r.ID, err)
	}
	return found, nil
}

// reopenLate compares what each partition read with what the archive holds now. A partition whose archive grew
// behind its checkpoint is read again from its start: its effects are registered and its state stands, so only
// the late events do anything.
func (e *Engine) reopenLate(ctx context.Context, r Replay, parts []Partition) (again bool, err error) {
	found, err := e.recount(ctx, r, parts)
	if err != nil {
		return false, err
	}
	type reopening struct {
		Partition
		restart bool
	}
	var reopen []reopening
	for i, p := range parts {
		inside := found[i]
		all, read := inside.events, p.Counters.Read
		restart := all != read
		if before := found[-1]; i == 0 && before.events > 0 {
			all, p.First, restart = all+before.events, before.first, true
		}
		if behind := found[len(parts)]; i == len(parts)-1 && behind.events > 0 {
			all, p.Last = all+behind.events, behind.last
		}
		if all == read {
			continue
		}
		reopen = append(reopen, reopening{p, restart})
		e.log.Info("events became visible behind the checkpoint", "replay", r.ID, "partition", p.Index, "read", read, "archived", all)
	}
	if len(reopen) == 0 {
		return false, nil
	}
	err = pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		now, err := lockReplay(ctx, tx, r.ID)
		if err != nil || now.State != Running || now.Generation != r.Generation {
			return err
		}
		for _, p := range reopen {
			_, err := tx.Exec(ctx, `
				update reprocessamento_checkpoint
				set posicao_de = $3::bigint, posicao_ate = $4, concluida = false, passagens = passagens + 1, epoca = epoca + 1,
					ocupada_ate = null, dono = null,
					ultima_posicao = case when $5 then $3::bigint - 1 else ultima_posicao end,
					contadores = case when $5 then '{}' else contadores end
				where execucao_id = $1 and particao = $2`, r.ID, p.Index, p.First, p.Last, p.restart)
			if err != nil {
				return err
			}
		}
		if r.Mode == Apply {
			if err := startOver(ctx, tx, r.ID); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `
			update reprocessamento r set faixa = (
				select int8range(min(posicao_de), max(posicao_ate), '[]') from reprocessamento_checkpoint where execucao_id = r.id)
			where id = $1`, r.ID)
		if err != nil {
			return err
		}
		return e.insertWork(ctx, tx, now)
	})
	if err != nil {
		return false, fmt.Errorf("take late events of %s: %w", r.ID, err)
	}
	return true, nil
}
