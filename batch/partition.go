package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/schema/failpoint"
)

// claim is a slice's hold on a partition. River does not fence a job that outlived its rescue, so the checkpoint
// carries an epoch: a slice raises it when it claims, and every write of the slice names it. A zombie's write
// hits no row and its transaction rolls back.
type claim struct {
	execution   string
	partition   int
	epoch       int64
	first, last int64 // positions
	position    int64 // checkpoint of the stage
	counters    Counters
}

const claimSQL = `
	update reprocessamento_checkpoint c
	set epoca = c.epoca + 1, dono = $3, ocupada_ate = clock_timestamp() + $4
	where c.execucao_id = $1 and c.particao = $2
		and case when $5 then c.projetada_ate is distinct from c.posicao_ate else not c.concluida end
		and (c.ocupada_ate is null or c.ocupada_ate < clock_timestamp())
	returning c.epoca, c.posicao_de, c.posicao_ate,
		case when $5 then coalesce(c.projetada_ate, c.posicao_de - 1) else c.ultima_posicao end,
		case when $5 then c.projecao else c.contadores end`

// claimPartition takes a partition for one slice of a stage; ok is false if another slice has it or it is done.
func (e *Engine) claimPartition(ctx context.Context, a SliceArgs) (c claim, ok bool, err error) {
	c = claim{execution: a.Execution, partition: a.Partition}
	var counters []byte
	err = e.pool.QueryRow(ctx, claimSQL, a.Execution, a.Partition, e.host, e.Slice+e.grace, a.Stage == Projecting).
		Scan(&c.epoch, &c.first, &c.last, &c.position, &counters)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	if err == nil {
		err = json.Unmarshal(counters, &c.counters)
	}
	if err != nil {
		return c, false, fmt.Errorf("claim partition %d of %s: %w", a.Partition, a.Execution, err)
	}
	return c, true, nil
}

const checkpointSQL = `
	update reprocessamento_checkpoint
	set ultima_posicao = $4, contadores = $5, concluida = $6, atualizado_em = clock_timestamp(),
		ocupada_ate = case when not $6 then clock_timestamp() + $7::interval end, dono = case when not $6 then dono end
	where execucao_id = $1 and particao = $2 and epoca = $3`

const projectedSQL = `
	update reprocessamento_checkpoint
	set projetada_ate = $4, projecao = $5, atualizado_em = clock_timestamp(),
		ocupada_ate = case when not $6 then clock_timestamp() + $7::interval end, dono = case when not $6 then dono end
	where execucao_id = $1 and particao = $2 and epoca = $3`

// move moves a partition's checkpoint of a stage, and its counters.
func (e *Engine) move(ctx context.Context, tx pgx.Tx, sql string, c claim, done bool) error {
	failpoint.Hit(failpoint.BeforeCheckpoint)
	tag, err := tx.Exec(ctx, sql, c.execution, c.partition, c.epoch, c.position, asJSON{c.counters}, done, e.Slice+e.grace)
	if err != nil {
		return fmt.Errorf("checkpoint of partition %d of %s: %w", c.partition, c.execution, err)
	}
	if tag.RowsAffected() == 0 {
		return errFenced
	}
	return nil
}

// release lets the next slice claim the partition at once. Failing to is harmless: the claim runs out.
func (e *Engine) release(ctx context.Context, c claim) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, err := e.pool.Exec(ctx, `
		update reprocessamento_checkpoint set ocupada_ate = null, dono = null
		where execucao_id = $1 and particao = $2 and epoca = $3`, c.execution, c.partition, c.epoch)
	if err != nil {
		e.log.Warn("release partition", "replay", c.execution, "partition", c.partition, "error", err)
	}
}

const partitionsSQL = `
	select particao, posicao_de, posicao_ate, ultima_posicao, coalesce(eventos, 0), concluida,
		case when ocupada_ate > clock_timestamp() then coalesce(dono, '') else '' end, epoca, contadores,
		projetada_ate is not distinct from posicao_ate, projecao
	from reprocessamento_checkpoint where execucao_id = $1 and posicao_de is not null order by particao`

func partitions(ctx context.Context, q querier, id string) ([]Partition, error) {
	rows, err := q.Query(ctx, partitionsSQL, id)
	if err != nil {
		return nil, fmt.Errorf("partitions of %s: %w", id, err)
	}
	parts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Partition, err error) {
		var counters, projection []byte
		err = row.Scan(&p.Index, &p.First, &p.Last, &p.Position, &p.Events, &p.Done, &p.Owner, &p.Epoch, &counters, &p.ProjectedAll, &projection)
		if err != nil {
			return p, err
		}
		err = errors.Join(json.Unmarshal(counters, &p.Counters), json.Unmarshal(projection, &p.Projection))
		p.Settled = max(p.Counters.Read, p.Counters.Reached)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("partitions of %s: %w", id, err)
	}
	return parts, nil
}
