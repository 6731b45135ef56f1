package sample_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch/sample"
	"reprise.dev/reprise/schema/pgtest"
)

func options(t *testing.T) sample.Options {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	return sample.Options{Seed: 14, Events: 5000, Location: zone, PoisonShare: 0.01, GapShare: 0.02, StartPosition: 1001}
}

func TestSameOptionsSameBytes(t *testing.T) {
	var first, again, other bytes.Buffer
	o := options(t)
	write(t, &first, o)
	write(t, &again, o)
	o.Seed++
	write(t, &other, o)
	if !bytes.Equal(first.Bytes(), again.Bytes()) {
		t.Error("the same options gave other bytes")
	}
	if bytes.Equal(first.Bytes(), other.Bytes()) {
		t.Error("another seed gave the same bytes")
	}
}

func TestAnArchiveIsWhatItsSummarySays(t *testing.T) {
	var out bytes.Buffer
	s := write(t, &out, options(t))
	if s.Events != 5000 || s.First != 1001 || s.Gaps != 100 || s.Last != 1001+5000+100-1 {
		t.Errorf("summary %+v", s)
	}
	if s.Paid < 3900 || s.Paid > 4100 || s.Poison != s.Paid/100 {
		t.Errorf("of %d events %d are paid and %d poison", s.Events, s.Paid, s.Poison)
	}
	from := time.Date(2026, 10, 14, 3, 0, 0, 0, time.UTC)
	var last time.Time
	versions := map[string]int64{}
	lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
	for _, line := range lines {
		var e struct {
			Pedido_id   string
			Versao      int64
			Payload     map[string]any
			Ocorrido_em time.Time
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		versions[e.Pedido_id]++
		if e.Versao != versions[e.Pedido_id] {
			t.Fatalf("order %s: version %d follows %d", e.Pedido_id, e.Versao, versions[e.Pedido_id]-1)
		}
		if e.Ocorrido_em.Before(from) || !e.Ocorrido_em.Before(from.AddDate(0, 0, 1)) || e.Ocorrido_em.Before(last) {
			t.Fatalf("time %s after %s", e.Ocorrido_em, last)
		}
		last = e.Ocorrido_em
	}
	if len(lines) != s.Events || len(versions) != s.Orders {
		t.Errorf("%d lines of %d orders, summary %+v", len(lines), len(versions), s)
	}
}

func TestInsertIsWrite(t *testing.T) {
	pool := pgtest.New(t)
	o := options(t)
	s, err := sample.Insert(t.Context(), pool, o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if want := write(t, &out, o); s != want {
		t.Errorf("summary of insert %+v, of write %+v", s, want)
	}
	var differ int
	err = pool.QueryRow(t.Context(), `
		select count(*) from (select line::jsonb as e from unnest($1::text[]) line) written
		full join evento_arquivado a on a.posicao = (e->>'posicao')::bigint
		where (a.id, a.tipo, a.pedido_id, a.versao, a.payload, a.ocorrido_em) is distinct from
		      (e->>'id', e->>'tipo', e->>'pedido_id', (e->>'versao')::bigint, e->'payload', (e->>'ocorrido_em')::timestamptz)`,
		bytesToLines(out)).Scan(&differ)
	if err != nil || differ != 0 {
		t.Errorf("%d rows differ from what is written, %v", differ, err)
	}
	if _, err := sample.Insert(t.Context(), pool, o); err == nil {
		t.Error("a conflict was passed over")
	}
	if n := indexes(t, pool); n != 4 {
		t.Errorf("%d indexes are left of 4", n)
	}
}

func indexes(t *testing.T, pool *pgxpool.Pool) (n int) {
	t.Helper()
	err := pool.QueryRow(t.Context(), "select count(*) from pg_index where indrelid = 'evento_arquivado'::regclass and indisvalid").Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	for name, o := range map[string]sample.Options{
		"no events": {}, "a share above 1": {Events: 1, PoisonShare: 2}, "a day": {Events: 1, Day: "14/10/2026"}, "a position": {Events: 1, StartPosition: -1},
	} {
		if _, err := sample.Write(&bytes.Buffer{}, o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	s, err := sample.Write(discard{}, sample.Options{Events: b.N})
	if err != nil || s.Events != b.N {
		b.Fatal(s, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkInsert(b *testing.B) {
	pool := pgtest.New(b)
	b.ResetTimer()
	if _, err := sample.Insert(b.Context(), pool, sample.Options{Events: b.N}); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func write(t *testing.T, out *bytes.Buffer, o sample.Options) sample.Summary {
	t.Helper()
	s, err := sample.Write(out, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bytesToLines(out bytes.Buffer) []string {
	var lines []string
	for line := range bytes.Lines(out.Bytes()) {
		lines = append(lines, string(line))
	}
	return lines
}
