package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// claim is a slice's hold on a partition. River does not fence a job that outlived its rescue, so the checkpoint
// carries an epoch: a slice raises it when it claims, and every write of the slice names it. A zombie's write
// hits no row and its transaction rolls back.
type claim struct {
	execution   string
	partition   int
	epoch       int64
	pass        int
	first, last int64 // positions
	position    int64 // checkpoint
	counters    Counters
	stated      []statedEvent // events after the checkpoint whose state is written already
}

func (c *claim) decode(counters, fates []byte) (err error) {
	if c.stated, err = decodeStated(fates); err != nil {
		return err
	}
	return json.Unmarshal(counters, &c.counters)
}

const claimSQL = `
	update reprocessamento_checkpoint c
	set epoca = c.epoca + 1, dono = $3, ocupada_ate = clock_timestamp() + $4
	where c.execucao_id = $1 and c.particao = $2 and not c.concluida
		and (c.ocupada_ate is null or c.ocupada_ate < clock_timestamp())
	returning c.epoca, c.passagens, c.posicao_de, c.posicao_ate, c.ultima_posicao, c.contadores, c.destinos`

// claimPartition takes a partition for one slice; ok is false if another slice has it or it is done.
func (e *Engine) claimPartition(ctx context.Context, id string, partition int) (c claim, ok bool, err error) {
	c = claim{execution: id, partition: partition}
	var counters, fates []byte
	err = e.pool.QueryRow(ctx, claimSQL, id, partition, e.host, e.Slice+e.grace).
		Scan(&c.epoch, &c.pass, &c.first, &c.last, &c.position, &counters, &fates)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, false, nil
	}
	if err == nil {
		err = c.decode(counters, fates)
	}
	if err != nil {
		return c, false, fmt.Errorf("claim partition %d of %s: %w", partition, id, err)
	}
	return c, true, nil
}

const checkpointSQL = `
	update reprocessamento_checkpoint
	set ultima_posicao = $4, contadores = $5, destinos = $8, concluida = $6, atualizado_em = clock_timestamp(),
		ocupada_ate = case when not $6 then clock_timestamp() + $7::interval end, dono = case when not $6 then dono end
	where execucao_id = $1 and particao = $2 and epoca = $3`

// checkpoint moves the partition's checkpoint and counters, as the last statement of the transaction that holds
// what they account for.
func (e *Engine) checkpoint(ctx context.Context, tx pgx.Tx, c claim, done bool) error {
	counters, err := json.Marshal(c.counters)
	if err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, checkpointSQL, c.execution, c.partition, c.epoch, c.position, string(counters), done, e.Slice+e.grace, encodeStated(c.stated))
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
		case when ocupada_ate > clock_timestamp() then coalesce(dono, '') else '' end, epoca, contadores
	from reprocessamento_checkpoint where execucao_id = $1 and posicao_de is not null order by particao`

func partitions(ctx context.Context, q querier, id string) ([]Partition, error) {
	rows, err := q.Query(ctx, partitionsSQL, id)
	if err != nil {
		return nil, fmt.Errorf("partitions of %s: %w", id, err)
	}
	parts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Partition, err error) {
		var counters []byte
		if err := row.Scan(&p.Index, &p.First, &p.Last, &p.Position, &p.Events, &p.Done, &p.Owner, &p.Epoch, &counters); err != nil {
			return p, err
		}
		return p, json.Unmarshal(counters, &p.Counters)
	})
	if err != nil {
		return nil, fmt.Errorf("partitions of %s: %w", id, err)
	}
	return parts, nil
}
