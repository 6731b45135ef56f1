package schema_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

// TestAChangedTypeIsFoundOutOnce, by a query or by a batch, and not once on each connection that had prepared the statement.
func TestAChangedTypeIsFoundOutOnce(t *testing.T) {
	t.Parallel()
	const sql = `select array_agg(pedido_id) from comissao`
	for name, read := range map[string]func(*pgxpool.Conn) error{
		"query": func(conn *pgxpool.Conn) error {
			var orders []string
			return conn.QueryRow(context.Background(), sql).Scan(&orders)
		},
		"batch": func(conn *pgxpool.Conn) error {
			batch := &pgx.Batch{}
			batch.Queue(`select 1`)
			batch.Queue(sql).QueryRow(func(row pgx.Row) error {
				var orders []string
				return row.Scan(&orders)
			})
			return conn.SendBatch(context.Background(), batch).Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testAChangedTypeIsFoundOutOnce(t, read)
		})
	}
}

func testAChangedTypeIsFoundOutOnce(t *testing.T, read func(*pgxpool.Conn) error) {
	t.Helper()
	const conns = 8
	pool, err := schema.Open(t.Context(), pgtest.NewURL(t), schema.Options{MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	refused := 0
	onAll := func() {
		taken := make([]*pgxpool.Conn, conns)
		for i := range taken {
			if taken[i], err = pool.Acquire(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := read(taken[i]); err != nil {
				t.Log(err)
				refused++
			}
		}
		for _, conn := range taken {
			conn.Release()
		}
	}
	onAll()
	if _, err := pool.Exec(t.Context(), `alter table comissao alter column pedido_id type varchar`); err != nil {
		t.Fatal(err)
	}
	onAll()
	onAll()
	prepared := pool.Config().ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement
	if prepared && refused != 1 || refused > 1 {
		t.Errorf("%d statements were refused", refused)
	}
}
