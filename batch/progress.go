package batch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// Now is the database's clock, from which every age is counted.
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	if err := s.pool.QueryRow(ctx, `select clock_timestamp()`).Scan(&now); err != nil {
		return now, fmt.Errorf("database clock: %w", err)
	}
	return now, nil
}

// Progress takes what a person watches of a run, as of one snapshot.
func (s *Store) Progress(ctx context.Context, id string) (Progress, error) {
	var p Progress
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		if p.Replay, err = readReplay(ctx, tx, id); err != nil {
			return err
		}
		if p.Partitions, err = partitions(ctx, tx, id); err != nil {
			return err
		}
		if err := p.findStage(ctx, tx); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `select clock_timestamp()`).Scan(&p.At)
	})
	if err != nil {
		return p, err
	}
	p.Hosts, err = s.Hosts(ctx)
	return p, err
}

const partsDoneSQL = `select count(*), count(*) filter (where concluida) from reprocessamento_parte where execucao_id = $1`

func (p *Progress) findStage(ctx context.Context, tx pgx.Tx) error {
	p.Total = total(p.Partitions)
	for _, part := range p.Partitions {
		p.StageAll += part.Events
		p.Settled += part.Settled
		p.Total.addEffects(part.Counters.InHand)
	}
	p.Stage, p.StageDone = Working, p.Settled
	if p.Replay.Mode == Simulate || len(p.Partitions) == 0 {
		return nil
	}
	if err := countWritten(ctx, tx, p.Replay.ID, &p.Total); err != nil {
		return err
	}
	var all, done int64
	if err := tx.QueryRow(ctx, partsDoneSQL, p.Replay.ID).Scan(&all, &done); err != nil {
		return fmt.Errorf("parts of %s: %w", p.Replay.ID, err)
	}
	switch {
	case slices.ContainsFunc(p.Partitions, func(part Partition) bool { return !part.ProjectedAll }):
		p.Stage, p.StageDone = Projecting, 0
		for _, part := range p.Partitions {
			p.StageDone += part.Projection.Read
		}
	case done < all:
		p.Stage, p.StageDone, p.StageAll = Writing, done, all
	}
	return nil
}

// Failures lists the events that a replay could not process, by position, after one.
func (s *Store) Failures(ctx context.Context, id string, after int64, limit int) ([]Failure, error) {
	rows, err := s.pool.Query(ctx, `
		select execucao_id, posicao, evento_id, pedido_id, motivo, criado_em from reprocessamento_falha
		where execucao_id = $1 and posicao > $2 order by posicao limit $3`, id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("failures of %s: %w", id, err)
	}
	failures, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f Failure, err error) {
		return f, row.Scan(&f.Execution, &f.Position, &f.EventID, &f.OrderID, &f.Reason, &f.At)
	})
	if err != nil {
		return nil, fmt.Errorf("failures of %s: %w", id, err)
	}
	return failures, nil
}

// Event reads an archived event by its id.
func (s *Store) Event(ctx context.Context, id string) (Event, error) {
	ev, err := readEvent(ctx, s.pool, id)
	if isNoRows(err) {
		return ev, fmt.Errorf("event %s is not in the archive: %w", id, ErrNotFound)
	}
	return ev, err
}

// OrderHistory is every archived event of an order, oldest version first.
func (s *Store) OrderHistory(ctx context.Context, order string) ([]Event, error) {
	rows, err := s.pool.Query(ctx, `
		select posicao, id, tipo, pedido_id, versao, payload, case when isfinite(ocorrido_em) then ocorrido_em else 'epoch' end
		from evento_arquivado where pedido_id = $1 order by versao limit 1000`, order)
	if err != nil {
		return nil, fmt.Errorf("history of order %s: %w", order, err)
	}
	events, err := pgx.CollectRows(rows, scanEvent)
	if err != nil {
		return nil, fmt.Errorf("history of order %s: %w", order, err)
	}
	return events, nil
}
