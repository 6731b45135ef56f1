package importer_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch/importer"
)

// write puts lines into a file of the test's own.
func write(t testing.TB, name string, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func empty(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), "truncate evento_arquivado"); err != nil {
		t.Fatal(err)
	}
}

func do(t testing.TB, pool *pgxpool.Pool, o importer.Options) importer.Report {
	t.Helper()
	r, err := importer.Import(t.Context(), pool, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// archived is the whole archive as text, by position.
func archived(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		select concat_ws('|', posicao, id, tipo, pedido_id, versao, payload, to_json(ocorrido_em) #>> '{}')
		from evento_arquivado order by posicao`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// digest is one of the whole archive.
func digest(t testing.TB, pool *pgxpool.Pool) (sum string) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), "select md5(string_agg(e::text, '|' order by posicao)) from evento_arquivado e").Scan(&sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

// rejectsIn reads a file of rejects.
func rejectsIn(t testing.TB, path string) (list []importer.Reject) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r importer.Reject
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		list = append(list, r)
	}
	return list
}
