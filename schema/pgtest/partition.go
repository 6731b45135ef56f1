package pgtest

import (
	_ "embed"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed partitioned.sql
var partitionedSQL string

// Partition makes the archive and the ledger of a database partitioned tables: positions up to 1000, up to 2000 and beyond,
// and keys by hash.
func Partition(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), partitionedSQL, pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if err != nil {
		t.Fatalf("pgtest: partition: %v", err)
	}
	pool.Reset()
}
