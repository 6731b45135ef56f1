package pgtest

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const indexesSQL = `
	select i.indexrelid::regclass::text, pg_get_indexdef(i.indexrelid) from pg_index i
	where i.indrelid = $1::text::regclass and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
	order by 1`

// WithoutEachIndex drops the indexes of a table one after the other, but for those that are a constraint's, and calls f
// while one is missing.
func WithoutEachIndex(t testing.TB, pool *pgxpool.Pool, table string, f func(index string)) {
	t.Helper()
	rows, err := pool.Query(t.Context(), indexesSQL, table)
	if err != nil {
		t.Fatalf("pgtest: indexes of %s: %v", table, err)
	}
	type index struct{ Name, Definition string }
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[index])
	if err != nil {
		t.Fatalf("pgtest: indexes of %s: %v", table, err)
	}
	for _, index := range indexes {
		if _, err := pool.Exec(t.Context(), `drop index `+index.Name); err != nil {
			t.Fatalf("pgtest: drop %s: %v", index.Name, err)
		}
		f(index.Name)
		if _, err := pool.Exec(t.Context(), index.Definition); err != nil {
			t.Fatalf("pgtest: make %s again: %v", index.Name, err)
		}
	}
}
