package batch

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

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
			return missing, fmt.Sprintf(Counted(missing, remarkOpenGap, remarkOpenGaps), missing, e.GapWait), nil
		}
		if err := e.waitFor(ctx, r.ID, fmt.Sprintf(Counted(missing, remarkGap, remarkGaps), missing)); err != nil {
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
