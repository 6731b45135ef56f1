package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// fill makes the review queue, and the events behind it.
func fill(ctx context.Context, pool *pgxpool.Pool, rows int) error {
	for _, sql := range []string{
		`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		 select n, 'ev-' || n, 'pedido.pago', 'P-' || n, 1, '{"valorCentavos": 10000, "percentual": 5}', '2026-10-14T12:00:00Z'::timestamptz + n * interval '10 milliseconds'
		 from generate_series(1, $1::int) n`,
		`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, atualizado_em, motivo, ao_falhar, conteudo)
		 select 'ev-' || n || ':notificar-vendedor', 'ev-' || n, 'notificar-vendedor', 'incerto', 'fix-14',
			clock_timestamp() - interval '1 day' + n * interval '100 milliseconds', 'sem-resposta', 'manter', jsonb_build_object('pedidoId', 'P-' || n, 'valorCentavos', 500)
		 from generate_series(1, $1::int) n`,
	} {
		if _, err := pool.Exec(ctx, sql, rows); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	_, err := pool.Exec(ctx, `analyze efeito_aplicado, evento_arquivado`)
	return err
}

// changeSQL takes the oldest rows in turn: what is on the screen changes. Each becomes the newest of the queue.
const changeSQL = `
	update efeito_aplicado set atualizado_em = clock_timestamp(), tentativas = tentativas + 1
	where chave = (select chave from efeito_aplicado where estado = 'incerto' order by atualizado_em, chave offset $1 limit 1)`

// churn changes rows at a rate until ctx ends, and says how many.
func churn(ctx context.Context, pool *pgxpool.Pool, perSecond int) (changes int, err error) {
	ticker := time.NewTicker(time.Second / time.Duration(perSecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return changes, nil
		case <-ticker.C:
		}
		if _, err := pool.Exec(ctx, changeSQL, changes%40); err != nil {
			if errors.Is(err, context.Canceled) {
				return changes, nil
			}
			return changes, fmt.Errorf("change: %w", err)
		}
		changes++
	}
}
