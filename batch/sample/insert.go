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
// not look for conflicts: one that exists fails the whole.
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
		if _, err := tx.Exec(ctx, "set local statement_timeout = 0"); err != nil {
			return err
		}
		_, err := tx.Conn().PgConn().CopyFrom(ctx, read,
			"copy evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em) from stdin")
		return err
	})
	_ = read.CloseWithError(context.Canceled)
	if err == nil {
		_, err = pool.Exec(ctx, "analyze evento_arquivado")
	}
	if err != nil {
		return Summary{}, fmt.Errorf("insert sample events: %w", err)
	}
	return s, nil
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
