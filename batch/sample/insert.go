package sample

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Insert puts an archive straight into evento_arquivado, for tests and benchmarks, and analyzes the table. It does
// not look for conflicts: one that exists fails the whole. Into an empty table it needs about five seconds for a
// million events.
func Insert(ctx context.Context, pool *pgxpool.Pool, o Options) (Summary, error) {
	events, err := Events(o)
	if err != nil {
		return Summary{}, err
	}
	var s Summary
	read, write := io.Pipe()
	go func() {
		out := bufio.NewWriterSize(write, 1<<16)
		row := make([]byte, 0, 256)
		for e := range events {
			s.add(e)
			row = appendRow(row[:0], e)
			if _, err := out.Write(row); err != nil {
				return // the reader gave up, and says why
			}
		}
		_ = write.CloseWithError(out.Flush())
	}()
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		restore, err := dropIndexes(ctx, tx)
		if err != nil {
			return err
		}
		if _, err := tx.Conn().PgConn().CopyFrom(ctx, read,
			"copy evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em) from stdin"); err != nil {
			return err
		}
		for _, statement := range append(restore, "analyze evento_arquivado") {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	_ = read.CloseWithError(context.Canceled)
	if err != nil {
		return Summary{}, fmt.Errorf("insert sample events: %w", err)
	}
	return s, nil
}

// An index that is built at the end costs a fifth of one that grows row by row.
const indexesSQL = `
	select format('alter table %s drop constraint %I', conrelid::regclass, conname),
	       format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
	from pg_constraint
	where conrelid = 'evento_arquivado'::regclass and contype in ('p', 'u')
	union all
	select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
	from pg_index
	where indrelid = 'evento_arquivado'::regclass
	  and not exists (select from pg_constraint where conindid = indexrelid)`

// dropIndexes drops the indexes of an empty table, and returns the statements that make them anew.
func dropIndexes(ctx context.Context, tx pgx.Tx) (restore []string, err error) {
	if _, err := tx.Exec(ctx, "set local statement_timeout = 0; set local maintenance_work_mem = '256MB'"); err != nil {
		return nil, err
	}
	var filled bool
	if err := tx.QueryRow(ctx, "select exists (select from evento_arquivado)").Scan(&filled); err != nil || filled {
		return nil, err
	}
	rows, err := tx.Query(ctx, indexesSQL)
	if err != nil {
		return nil, err
	}
	var drop, remake string
	var drops []string
	if _, err := pgx.ForEachRow(rows, []any{&drop, &remake}, func() error {
		drops, restore = append(drops, drop), append(restore, remake)
		return nil
	}); err != nil {
		return nil, err
	}
	for _, statement := range drops {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return restore, nil
}

// appendRow writes PostgreSQL's text format; nothing that is made here needs its escapes.
func appendRow(b []byte, e Event) []byte {
	b = strconv.AppendInt(b, e.Position, 10)
	b = append(append(append(b, '\t'), e.ID...), '\t')
	b = append(append(b, e.Type...), '\t')
	b = append(append(b, e.OrderID...), '\t')
	b = append(strconv.AppendInt(b, e.Version, 10), '\t')
	b = append(append(b, e.Payload...), '\t')
	b = e.OccurredAt.In(time.UTC).AppendFormat(b, timeLayout)
	return append(b, '\n')
}
