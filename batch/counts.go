package batch

import (
	"context"
	"fmt"
)

// CountLimit bounds what counting a list costs: lists are kept for ever.
const CountLimit = 10_000

// Count is how many rows a list has.
type Count struct {
	Rows int64
	More bool // of the first CountLimit rows of the list: there are more
}

// count runs a statement that says how many rows match, and how many were looked at: one more than CountLimit at most.
func (s *Store) count(ctx context.Context, what, sql string, args ...any) (c Count, err error) {
	var looked int64
	if err := s.pool.QueryRow(ctx, sql, append([]any{CountLimit + 1}, args...)...).Scan(&c.Rows, &looked); err != nil {
		return c, fmt.Errorf("count %s: %w", what, err)
	}
	return Count{Rows: min(c.Rows, CountLimit), More: looked > CountLimit}, nil
}

const (
	replayCountSQL = `select count(*), count(*) from (select from reprocessamento order by criado_em desc, id limit $1) r`
	replayMatchSQL = `
	select count(*) filter (where` + replayMatches + `), count(*)
	from (select id, estado, modo, pedido_por, aprovado_por from reprocessamento order by criado_em desc, id limit $1) r`
	firingCountSQL  = `select count(*), count(*) from (select from agenda_disparo order by previsto_para desc, tarefa limit $1) a`
	failureCountSQL = `select count(*), count(*) from (select from reprocessamento_falha where execucao_id = $2 order by posicao limit $1) f`
)

// ReplayCount counts the replays that match; where q's page lies does not matter.
func (s *Store) ReplayCount(ctx context.Context, q ReplayQuery) (Count, error) {
	if q.Text == "" {
		return s.count(ctx, "replays", replayCountSQL)
	}
	return s.count(ctx, "replays", replayMatchSQL, q.args()...)
}

// FiringCount counts the slots of all schedules.
func (s *Store) FiringCount(ctx context.Context) (Count, error) {
	return s.count(ctx, "firings", firingCountSQL)
}

// FailureCount counts the events that a replay could not process.
func (s *Store) FailureCount(ctx context.Context, id string) (Count, error) {
	return s.count(ctx, "failures of "+id, failureCountSQL, id)
}
