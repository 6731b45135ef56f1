package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// errAtWork says that a slot has to wait: its task is at work.
var errAtWork = errors.New("at work")

// atHand is true of a running job j whose process gave a sign of life lately, or has just taken the job.
const atHand = ` (
	j.attempted_at > clock_timestamp() - interval '30 seconds' or exists (
		select from executor e
		where e.visto_em > clock_timestamp() - interval '30 seconds'
		  and starts_with(j.attempted_by[array_upper(j.attempted_by, 1)], left(e.id, 80) || '-')))`

// atWorkSQL finds the newest slot but $2 of a task whose job has not ended: one that nobody began, or that a process
// works which gave a sign of life lately. A process that is gone or frozen must not hold the next sweep back. It begins
// with the jobs: of those few are unfinished, while slots are kept for ever.
const atWorkSQL = `
	select a.executor, a.reivindicado_em
	from river.river_job j
	cross join lateral (
		select executor, previsto_para, reivindicado_em, estado from agenda_disparo
		where tarefa = $1 and previsto_para = (j.args->>'previsto_para')::timestamptz limit 1) a
	where j.kind = $3 and j.state in ('available', 'pending', 'running', 'retryable', 'scheduled')
	  and j.args->>'tarefa' = $1 and a.previsto_para <> $2 and a.estado = 'executando'
	  and (j.state <> 'running' or` + atHand + `)
	order by a.previsto_para desc limit 1`

// atWork reports whether a task is at work for another slot than this one, for whom and since when. The caller holds
// the claim of its own slot, or the table: so that of two that look at the same moment one sees the other.
func atWork(ctx context.Context, tx pgx.Tx, task string, slot time.Time) (by string, since time.Time, yes bool, err error) {
	err = tx.QueryRow(ctx, atWorkSQL, task, slot, SweepArgs{}.Kind()).Scan(&by, &since)
	if isNoRows(err) {
		return "", since, false, nil
	}
	if err != nil {
		return "", since, false, fmt.Errorf("is %s at work: %w", task, err)
	}
	return by, since, true, nil
}
