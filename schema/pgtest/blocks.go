package pgtest

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Blocks is how many blocks of a table ("": of all) and its indexes f made the server look at, on connections of the
// pool: what its statements cost, whatever plans were chosen and however fast the machine is. Nobody else may use the
// database meanwhile.
func Blocks(t testing.TB, pool *pgxpool.Pool, table string, f func()) int64 {
	t.Helper()
	before := BlocksSoFar(t, pool, table)
	f()
	return BlocksSoFar(t, pool, table) - before
}

const blocksSQL = `
	select sum(coalesce(heap_blks_read + heap_blks_hit, 0) + coalesce(idx_blks_read + idx_blks_hit, 0)
		+ coalesce(toast_blks_read + toast_blks_hit, 0) + coalesce(tidx_blks_read + tidx_blks_hit, 0))::bigint
	from pg_statio_user_tables where relid = nullif($1::text, '')::regclass or $1 = ''`

// BlocksSoFar is how many blocks of a table and its indexes were looked at since it was made.
func BlocksSoFar(t testing.TB, pool *pgxpool.Pool, table string) (n int64) {
	t.Helper()
	FlushStatistics(t, pool)
	if err := pool.QueryRow(t.Context(), blocksSQL, table).Scan(&n); err != nil {
		t.Fatalf("pgtest: blocks of %s: %v", table, err)
	}
	return n
}

// FlushStatistics makes every idle connection of the pool report what it did.
func FlushStatistics(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	for _, conn := range pool.AcquireAllIdle(t.Context()) {
		_, err := conn.Exec(t.Context(), `select pg_stat_force_next_flush()`)
		conn.Release()
		if err != nil {
			t.Fatalf("pgtest: flush statistics: %v", err)
		}
	}
}
