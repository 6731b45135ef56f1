package importer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch/importer"
	"reprise.dev/reprise/batch/sample"
	"reprise.dev/reprise/schema/pgtest"
)

// BenchmarkImport imports a native archive of b.N events, and for comparison copies the same rows, prepared, by one
// plain COPY.
func BenchmarkImport(b *testing.B) {
	pool := pgtest.New(b)
	path := filepath.Join(b.TempDir(), "day.ndjson")
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := sample.Write(file, sample.Options{Events: b.N}); err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	r := do(b, pool, importer.Options{Files: []string{path}})
	b.StopTimer()
	elapsed := b.Elapsed()
	if r.Imported != int64(b.N) {
		b.Fatalf("%+v", r)
	}
	began := time.Now()
	r = do(b, pool, importer.Options{Files: []string{path}})
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "again/s")
	if r.Repeated != int64(b.N) {
		b.Fatalf("%+v", r)
	}

	other := pgtest.New(b)
	plain := copyRows(b, pool, other)
	b.ReportMetric(float64(b.N)/elapsed.Seconds(), "events/s")
	b.ReportMetric(float64(b.N)/plain.Seconds(), "copy/s")
	b.ReportMetric(plain.Seconds()/elapsed.Seconds(), "of-copy")
}

// copyRows measures a plain COPY of an archive's rows, as the server itself wrote them out, into another one.
func copyRows(b *testing.B, from, to *pgxpool.Pool) time.Duration {
	b.Helper()
	source, err := from.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer source.Release()
	target, err := to.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer target.Release()
	var rows bytes.Buffer
	if _, err := source.Conn().PgConn().CopyTo(b.Context(), &rows,
		"copy (select * from evento_arquivado order by posicao) to stdout with (format binary)"); err != nil {
		b.Fatal(err)
	}
	if _, err := target.Exec(b.Context(), "set statement_timeout = 0"); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if _, err := target.Conn().PgConn().CopyFrom(b.Context(), &rows, "copy evento_arquivado from stdin with (format binary)"); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
