package batch

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/pgtest"
)

// The benchmarks are of what is done for each event or effect, without the database's part and the handler's own.

const benchKind = "k"

// instant is a handler that has its answer ready.
type instant struct{ projection Projection }

func (instant) Name() string                        { return "instant" }
func (instant) Types() []string                     { return []string{"t"} }
func (instant) Kinds() []string                     { return []string{benchKind} }
func (instant) State() StateTable                   { return StateTable{} }
func (h instant) Project(Event) (Projection, error) { return h.projection, nil }
func wanted() []Wanted {
	return []Wanted{{Kind: benchKind, Content: json.RawMessage(`{"valorCentavos":500}`)}}
}
func perEvent(b *testing.B, n int) { b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s") }
func benchChunk(n int) []projected {
	chunk := make([]projected, n)
	for i := range chunk {
		chunk[i] = projected{position: int64(i), id: fmt.Sprintf("ev-%d", i), order: fmt.Sprintf("P-%d", i), version: 1, value: 500, effects: wanted()}
	}
	return chunk
}

// BenchmarkRead reads and projects a chunk.
func BenchmarkRead(b *testing.B) {
	pool := pgtest.New(b)
	const n = 10_000
	_, err := pool.Exec(b.Context(), `insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select i, 'ev-' || i, 't', 'P-' || i, 1, '{"valorCentavos":15990,"percentual":5}', '2026-10-14' from generate_series(1, $1::int) i`, n)
	if err != nil {
		b.Fatal(err)
	}
	h := instant{Projection{Value: 500, Effects: wanted()}}
	b.ReportAllocs()
	for b.Loop() {
		chunk, _, err := readEvents(b.Context(), pool, h, Scope{}, 0, n, n, func(int) bool { return false })
		if err != nil || len(chunk) != n {
			b.Fatal(len(chunk), err)
		}
	}
	perEvent(b, n)
}

// BenchmarkKeep spreads a chunk over the parts of the state and keeps it.
func BenchmarkKeep(b *testing.B) {
	pool := pgtest.New(b)
	tx, err := pool.Begin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = tx.Rollback(b.Context()) }()
	const n = 10_000
	chunk := benchChunk(n)
	var at borders
	for i := range 63 {
		at = append(at, fmt.Sprintf("P-%d", 1000+i*140))
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := keepProjection(b.Context(), tx, "r", 0, at, chunk); err != nil {
			b.Fatal(err)
		}
	}
	perEvent(b, n)
}

// BenchmarkTasks lists what a chunk wants, and accounts for it once it is done.
func BenchmarkTasks(b *testing.B) {
	const n = 10_000
	chunk := benchChunk(n)
	rules := map[string]Rule{benchKind: {Mode: ModeApply, When: WhenAlways, Provider: "p", Policy: ledger.Policy{OnFailure: ledger.Keep}}}
	r := &run{mode: Apply, rules: rules}
	b.ReportAllocs()
	for b.Loop() {
		tasks := tasksOf("r", rules, chunk)
		r.inHand.begin(tasks)
		for i := range tasks {
			tasks[i].outcome = applied
			r.inHand.count(&tasks[i])
		}
		settled, tasks := settledPrefix(chunk, tasks)
		if got := countEvents(r, chunk[:settled]).Plus(countEffects(tasks)); got.Effects[benchKind].Applied != n {
			b.Fatalf("%+v", got)
		}
	}
	perEvent(b, n)
}

// BenchmarkProgress is what the dashboard asks once a second, of a replay in as many partitions as there may be.
func BenchmarkProgress(b *testing.B) {
	pool := pgtest.New(b)
	s, err := NewStore(pool, StoreOptions{})
	if err != nil {
		b.Fatal(err)
	}
	const n = 4096
	for _, sql := range []string{
		`insert into reprocessamento (id, manipulador, modo, estado, particoes, politica) values ('r', 'comissao', 'aplicar', 'executando', 4096, '{}')`,
		`insert into reprocessamento_checkpoint (execucao_id, particao, ultima_posicao, posicao_de, posicao_ate, eventos, projetada_ate, contadores, projecao)
			select 'r', i, i * 1000, i * 1000, i * 1000 + 999, 1000, i * 1000 + 999,
				'{"Read":1000,"Written":900,"Unchanged":100,"Effects":{"notificar-vendedor":{"Applied":900,"Registered":100}}}', '{"Read":1000,"Effects":{}}'
			from generate_series(0, 4095) i`,
	} {
		if _, err := pool.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := s.Progress(b.Context(), "r")
		if err != nil || p.Total.Effects["notificar-vendedor"].Applied != 900*n {
			b.Fatal(p.Total, err)
		}
	}
}

// BenchmarkFold adds up the partitions alone.
func BenchmarkFold(b *testing.B) {
	parts := make([]Partition, 4096)
	for i := range parts {
		parts[i].Counters = Counters{Read: 1000, Effects: map[string]EffectCounters{benchKind: {Applied: 1000}}}
	}
	b.ReportAllocs()
	for b.Loop() {
		if sum := total(parts); sum.Read != 4096_000 || sum.Effects[benchKind].Applied != sum.Read {
			b.Fatalf("%+v", sum)
		}
	}
}

// BenchmarkDiff reads a page of a diff and the keys that the next one carries on after.
func BenchmarkDiff(b *testing.B) {
	pool := pgtest.New(b)
	s, err := NewStore(pool, StoreOptions{})
	if err != nil {
		b.Fatal(err)
	}
	const n = 10_000
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = []any{"r", fmt.Sprintf("P-%05d", i), int64(i), int64(i * 10), int64(1), int64(2)}
	}
	columns := []string{"execucao_id", "pedido_id", "antes", "depois", "antes_versao", "depois_versao"}
	if _, err := pool.CopyFrom(b.Context(), pgx.Identifier{"reprocessamento_diff"}, columns, pgx.CopyFromRows(rows)); err != nil {
		b.Fatal(err)
	}
	for _, sort := range []DiffSort{ByOrder, ByDelta, ByPercent} {
		b.Run(string(sort), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				q := DiffQuery{Execution: "r", Sort: sort, Limit: n}
				page, err := s.Diff(b.Context(), q)
				if err != nil || len(page) != n || q.sortKey(page[n-1]) == "" {
					b.Fatal(len(page), err)
				}
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "orders/s")
		})
	}
}
