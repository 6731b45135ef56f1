package schema_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

// TestAChangedTypeIsFoundOutOnce, and not once on each connection that had prepared the statement.
func TestAChangedTypeIsFoundOutOnce(t *testing.T) {
	t.Parallel()
	const conns = 8
	pool, err := schema.Open(t.Context(), pgtest.NewURL(t), schema.Options{MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	refused := 0
	read := func(conn *pgxpool.Conn) {
		var orders []string
		if err := conn.QueryRow(t.Context(), `select array_agg(pedido_id) from comissao`).Scan(&orders); err != nil {
			t.Log(err)
			refused++
		}
	}
	onAll := func() {
		taken := make([]*pgxpool.Conn, conns)
		for i := range taken {
			if taken[i], err = pool.Acquire(context.Background()); err != nil {
				t.Fatal(err)
			}
			read(taken[i])
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
