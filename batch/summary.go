package batch

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

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
	say := func(n int64, one, many string) {
		if n > 0 {
			sum.Missing = append(sum.Missing, fmt.Sprintf(Counted(n, one, many), n))
		}
	}
	say(sum.Poison, remarkPoisonOne, remarkPoison)
	var doubt, waiting int64
	for _, c := range sum.Effects {
		doubt, waiting = doubt+c.Uncertain, waiting+c.Pending
	}
	if r.Mode == Apply {
		say(doubt, remarkDoubtOne, remarkDoubt)
		say(waiting, remarkPendingOne, remarkPending)
	}
	if unknown := unknownKinds(r.Rules, sum.Counters); len(unknown) > 0 {
		sum.Missing = append(sum.Missing, fmt.Sprintf(remarkNoPolicy, kindList(unknown)))
	}
	for _, p := range parts {
		if !p.Done {
			sum.Missing = append(sum.Missing, remarkUnfinished)
			break
		}
	}
	return sum, nil
}
