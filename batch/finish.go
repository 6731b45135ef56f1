package batch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"reprise.dev/reprise/schema/failpoint"
)

// finish accounts for a replay whose partitions are all done. It counts the archive in scope again; what became
// visible behind a checkpoint is processed before the replay may say that it is done.
func (e *Engine) finish(ctx context.Context, a FinishArgs) error {
	r, err := e.Replay(ctx, a.Execution)
	if err != nil {
		return err
	}
	if r.Generation != a.Generation || r.State != Running {
		return nil
	}
	parts, err := partitions(ctx, e.pool, r.ID)
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		return e.conclude(ctx, r, true, "")
	}
	missing, open, err := e.waitForGaps(ctx, r)
	if err != nil {
		return err
	}
	again, err := e.reopenLate(ctx, r, parts)
	if err != nil || again {
		return err
	}
	failpoint.Hit(failpoint.BeforeConclude)
	return e.conclude(ctx, r, missing == 0, open)
}

const gapCountSQL = `
	select coalesce(max(c.posicao_ate) - min(c.posicao_de) + 1, 0)
		- (select count(*) from evento_arquivado e
			where e.posicao between (select min(posicao_de) from reprocessamento_checkpoint where execucao_id = $1)
				and (select max(posicao_ate) from reprocessamento_checkpoint where execucao_id = $1))
	from reprocessamento_checkpoint c where c.execucao_id = $1`

// waitForGaps waits, if positions are missing, until every transaction that was open has ended: only such a one
// could still fill a gap, since a position is handed out inside a transaction. The wait is bounded; what is left
// open then is returned, in words.
func (e *Engine) waitForGaps(ctx context.Context, r Replay) (missing int64, open string, err error) {
	err = e.patiently(ctx, func(tx pgx.Tx) error { return tx.QueryRow(ctx, gapCountSQL, r.ID).Scan(&missing) })
	if err != nil {
		return 0, "", fmt.Errorf("count gaps of %s: %w", r.ID, err)
	}
	if missing == 0 {
		return 0, "", nil
	}
	var horizon string
	if err := e.pool.QueryRow(ctx, `select pg_snapshot_xmax(pg_current_snapshot())::text`).Scan(&horizon); err != nil {
		return missing, "", fmt.Errorf("open transactions: %w", err)
	}
	deadline := time.Now().Add(e.GapWait)
	for {
		var settled bool
		err := e.pool.QueryRow(ctx, `select pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8`, horizon).Scan(&settled)
		if err != nil {
			return missing, "", fmt.Errorf("open transactions: %w", err)
		}
		if settled {
			return missing, "", nil
		}
		if time.Now().After(deadline) {
			return missing, fmt.Sprintf("%d positions are missing and a transaction that may still fill them has been open for more than %s", missing, e.GapWait), nil
		}
		if err := e.waitFor(ctx, r.ID, fmt.Sprintf("%d positions are missing; waiting for open transactions that may fill them", missing)); err != nil {
			return missing, "", err
		}
		select {
		case <-ctx.Done():
			return missing, "", ctx.Err()
		case <-e.stopping:
			return missing, "", errStopped
		case <-time.After(100 * time.Millisecond):
		}
	}
}

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

// conclude writes the diff, the account and the final state. whole says that no position is missing.
func (e *Engine) conclude(ctx context.Context, r Replay, whole bool, openGaps string) error {
	return e.patiently(ctx, func(tx pgx.Tx) error {
		if err := e.completeDiff(ctx, tx, r); err != nil {
			return fmt.Errorf("make the diff of %s: %w", r.ID, err)
		}
		now, err := lockReplay(ctx, tx, r.ID)
		if err != nil || now.State != Running || now.Generation != r.Generation {
			return err
		}
		if _, err := tx.Exec(ctx, forgetProjectionSQL, r.ID); err != nil {
			return fmt.Errorf("make the diff of %s: %w", r.ID, err)
		}
		s, err := e.summarize(ctx, tx, now, whole)
		if err != nil {
			return err
		}
		if openGaps != "" {
			s.Missing = append(s.Missing, openGaps)
		}
		return e.end(ctx, tx, now, s)
	})
}

const lockPartitionsSQL = `
	select c.execucao_id from reprocessamento_checkpoint c join reprocessamento r on r.id = c.execucao_id
	where r.id = $1 and r.estado = 'executando' and r.geracao = $2
	for update of c`

// completeDiff makes the diff of a simulation part by part, on connections of their own and as of one snapshot. What an
// earlier attempt left is replaced; two attempts at once take turns at the rows of the partitions, which nobody else
// needs by now. The replay's own row stays free for heartbeat and commands. An apply made its diff as it wrote.
func (e *Engine) completeDiff(ctx context.Context, tx pgx.Tx, r Replay) error {
	if r.Mode == Apply {
		return nil
	}
	tag, err := tx.Exec(ctx, lockPartitionsSQL, r.ID, r.Generation)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	h, err := e.handlers.Get(r.Handler)
	if err != nil {
		return err
	}
	err = e.patiently(ctx, func(other pgx.Tx) error {
		_, err := other.Exec(ctx, forgetDiffSQL, r.ID)
		return err
	})
	if err != nil {
		return err
	}
	var snapshot string
	if err := tx.QueryRow(ctx, `select pg_export_snapshot()`).Scan(&snapshot); err != nil {
		return err
	}
	b, err := readBorders(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	return e.inParts(ctx, b.parts(), func(part pgx.Tx, n int) error {
		if _, err := part.Exec(ctx, "set transaction snapshot '"+snapshot+"'"); err != nil {
			return err
		}
		if err := unhurried(ctx, part); err != nil {
			return err
		}
		if err := byIndex(ctx, part); err != nil {
			return err
		}
		_, err := part.Exec(ctx, h.State().Diff, r.ID, n)
		return err
	})
}

const forgetDiffSQL = `delete from reprocessamento_diff where execucao_id = $1`

// partsAtOnce is how many parts of a diff are made at the same time: each sorts in memory of its own.
const partsAtOnce = 2

// inParts runs fn for every part, each in a transaction of its own that can take on another's snapshot.
func (e *Engine) inParts(ctx context.Context, parts int, fn func(tx pgx.Tx, part int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for n := range parts {
		group.Go(func() error {
			return pgx.BeginTxFunc(ctx, e.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error { return fn(tx, n) })
		})
	}
	return group.Wait()
}

// end moves a replay to Done or, if something is missing, Partial.
func (s *Store) end(ctx context.Context, tx pgx.Tx, r Replay, sum Summary) error {
	state := Done
	if len(sum.Missing) > 0 {
		state = Partial
	}
	_, err := tx.Exec(ctx, `
		update reprocessamento set estado = $2, resumo = $3, terminado_em = clock_timestamp(), espera = null,
			condutor = null, condutor_ate = null, atualizado_em = clock_timestamp()
		where id = $1`, r.ID, state, asJSON{sum})
	if err != nil {
		return fmt.Errorf("finish %s: %w", r.ID, err)
	}
	return notify(ctx, tx, r.ID)
}

// summarize adds up what a replay did so far and says what is missing. whole says that no position is, as was found out.
func (s *Store) summarize(ctx context.Context, tx pgx.Tx, r Replay, whole bool) (Summary, error) {
	parts, err := partitions(ctx, tx, r.ID)
	if err != nil {
		return Summary{}, err
	}
	counters, err := account(ctx, tx, r, parts)
	if err != nil {
		return Summary{}, err
	}
	sum := Summary{Counters: counters, Events: counters.Read}
	if r.StartedAt != nil {
		var elapsed float64
		if err := tx.QueryRow(ctx, `select extract(epoch from clock_timestamp() - $1::timestamptz)::float8`, r.StartedAt).Scan(&elapsed); err != nil {
			return sum, fmt.Errorf("summary of %s: %w", r.ID, err)
		}
		sum.Elapsed = time.Duration(elapsed * float64(time.Second))
	}
	err = tx.QueryRow(ctx, `
		select count(*), count(*) filter (where antes is distinct from depois) from reprocessamento_diff where execucao_id = $1`, r.ID).
		Scan(&sum.Orders, &sum.Changed)
	if err != nil {
		return sum, fmt.Errorf("summary of %s: %w", r.ID, err)
	}
	if r.Events != nil {
		sum.Late = max(0, sum.Read-*r.Events)
	}
	if !whole {
		if sum.Gaps, sum.GapCount, err = gaps(ctx, tx, parts); err != nil {
			return sum, err
		}
	}
	say := func(n int64, format string) {
		if n > 0 {
			sum.Missing = append(sum.Missing, fmt.Sprintf(format, n))
		}
	}
	say(sum.Poison, "%d events could not be processed (replay show lists them)")
	var doubt, waiting int64
	for _, c := range sum.Effects {
		doubt, waiting = doubt+c.Uncertain, waiting+c.Pending
	}
	if r.Mode == Apply {
		say(doubt, "%d effects are uncertain and wait for review")
		say(waiting, "%d effects are pending")
	}
	if unknown := unknownKinds(r.Rules, sum.Counters); len(unknown) > 0 {
		sum.Missing = append(sum.Missing, "no policy for effects of kind "+kindList(unknown)+": they were suppressed")
	}
	for _, p := range parts {
		if !p.Done {
			sum.Missing = append(sum.Missing, "not every partition was worked to its end")
			break
		}
	}
	return sum, nil
}

const gapsSQL = `
	select anterior + 1, posicao - 1
	from (select posicao, lag(posicao, 1, $1 - 1) over (order by posicao) as anterior
		from evento_arquivado where posicao between $1 and $2) p
	where posicao > anterior + 1
	order by posicao`

// gaps lists positions that the archive does not hold, within the range that was worked.
func gaps(ctx context.Context, q querier, parts []Partition) (first []Gap, missing int64, err error) {
	if len(parts) == 0 {
		return nil, 0, nil
	}
	lo, hi := parts[0].First, parts[len(parts)-1].Last
	var held int64
	var top int64
	err = q.QueryRow(ctx, `select count(*), coalesce(max(posicao), $1 - 1) from evento_arquivado where posicao between $1 and $2`, lo, hi).Scan(&held, &top)
	if err != nil {
		return nil, 0, fmt.Errorf("gaps: %w", err)
	}
	if missing = hi - lo + 1 - held; missing == 0 {
		return nil, 0, nil
	}
	const most = 100
	rows, err := q.Query(ctx, gapsSQL+` limit 100`, lo, hi)
	if err != nil {
		return nil, 0, fmt.Errorf("gaps: %w", err)
	}
	first, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g Gap, err error) { return g, row.Scan(&g.First, &g.Last) })
	if err != nil {
		return nil, 0, fmt.Errorf("gaps: %w", err)
	}
	if top < hi && len(first) < most {
		first = append(first, Gap{top + 1, hi})
	}
	return first, missing, nil
}

// stopRun ends a run early, partial, with what is missing.
func (e *Engine) stopRun(ctx context.Context, id, why string) error {
	return pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		r, err := lockReplay(ctx, tx, id)
		if err != nil || r.State != Running {
			return err
		}
		s, err := e.summarize(ctx, tx, r, false)
		if err != nil {
			return err
		}
		s.Missing = append([]string{strings.TrimSpace(why)}, s.Missing...)
		return e.end(ctx, tx, r, s)
	})
}
