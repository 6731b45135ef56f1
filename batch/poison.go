package batch

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

const recordPoisonSQL = `
	insert into reprocessamento_falha (execucao_id, posicao, evento_id, pedido_id, motivo)
	select $1, * from unnest($2::bigint[], $3::text[], $4::text[], $5::text[])
	on conflict (execucao_id, posicao) do update set motivo = excluded.motivo`

// recordPoison keeps the events that could not be processed, with position and reason.
func recordPoison(ctx context.Context, tx pgx.Tx, execution string, chunk []projected) error {
	var positions []int64
	var ids, orders, reasons []string
	for _, p := range chunk {
		if p.fate == poison {
			positions, ids = append(positions, p.position), append(ids, p.id)
			orders, reasons = append(orders, p.order), append(reasons, strings.TrimSpace(clean(p.reason)))
		}
	}
	if len(positions) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, recordPoisonSQL, execution, positions, ids, orders, reasons); err != nil {
		return fmt.Errorf("record poison events: %w", err)
	}
	return nil
}

// skipPoison leaves alone the effects of events that could not be projected when the state was written, even if a
// newer program could by now: resuming the run takes them up as a whole.
func skipPoison(ctx context.Context, q querier, execution string, chunk []projected) error {
	if len(chunk) == 0 {
		return nil
	}
	rows, err := q.Query(ctx, `
		select posicao, motivo from reprocessamento_falha where execucao_id = $1 and posicao between $2 and $3`,
		execution, chunk[0].position, chunk[len(chunk)-1].position)
	reasons := map[int64]string{}
	if err == nil {
		var position int64
		var reason string
		_, err = pgx.ForEachRow(rows, []any{&position, &reason}, func() error { reasons[position] = reason; return nil })
	}
	if err != nil {
		return fmt.Errorf("poison events: %w", err)
	}
	for i := range chunk {
		if reason, ok := reasons[chunk[i].position]; ok {
			chunk[i].fate, chunk[i].reason, chunk[i].effects = poison, reason, nil
		}
	}
	return nil
}
