package ledger_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"reprise.dev/reprise/ledger"
)

var ledgerRows = flag.Int("ledger.rows", 0, "how many effects the ledger holds before a benchmark")

// BenchmarkDo runs the whole protocol against a provider that answers at once.
func BenchmarkDo(b *testing.B) {
	for _, inFlight := range []int{1, 16, 256, 1024} {
		b.Run(fmt.Sprintf("in-flight-%d", inFlight), func(b *testing.B) {
			l, pool := open(b, ledger.Options{})
			execSQL(b, pool, `
				insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, dono, ao_falhar, desfecho, resultado, conteudo, conteudo_hash)
				select format('old-%s:%s', i, $2::text), format('old-%s', i), $2, 'concluido', 'ao-vivo', 'token-' || i, 'manter', 'aplicado',
					'{"recibo": 1}', '{"valorCentavos": 150}', sha256(i::text::bytea)
				from generate_series(1, $1) i`, *ledgerRows, kind)
			p := newProvider(always(nil))
			var next atomic.Int64
			var group sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range inFlight {
				group.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						out, err := l.Do(b.Context(), effect(fmt.Sprintf("ev-%d", n), ledger.Keep), p.call)
						if err != nil || out.Did != ledger.DidApply {
							b.Errorf("effect %d: %v %v", n, out.Did, err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "effects/s")
		})
	}
}

// group is how many effects of one group commit are under way at the same time.
const group = 512

// together runs f for the b.N effects of a benchmark, a group at a time.
func together(b *testing.B, f func(i int) error) {
	b.Helper()
	for first := 0; first < b.N; first += group {
		var waiting sync.WaitGroup
		for i := first; i < min(first+group, b.N); i++ {
			waiting.Go(func() {
				if err := f(i); err != nil {
					b.Error(err)
				}
			})
		}
		waiting.Wait()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "effects/s")
}

// BenchmarkReserve and BenchmarkComplete are the two group commits of an effect.
func BenchmarkReserve(b *testing.B) {
	l, _ := open(b, ledger.Options{})
	b.ReportAllocs()
	b.ResetTimer()
	together(b, func(i int) error {
		_, _, err := l.Reserve(b.Context(), effect(fmt.Sprintf("ev-%d", i), ledger.Keep))
		return err
	})
}

func BenchmarkComplete(b *testing.B) {
	l, _ := open(b, ledger.Options{})
	taken := make([]ledger.Reservation, b.N)
	together(b, func(i int) (err error) {
		taken[i], _, err = l.Reserve(b.Context(), effect(fmt.Sprintf("ev-%d", i), ledger.Keep))
		return err
	})
	b.ReportAllocs()
	b.ResetTimer()
	together(b, func(i int) error { return l.Complete(b.Context(), taken[i], json.RawMessage(`{"recibo":1}`)) })
}

// BenchmarkLook asks about effects, half of which are done, as a simulation does.
func BenchmarkLook(b *testing.B) {
	const n = 10_000
	l, pool := open(b, ledger.Options{})
	execSQL(b, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id)
		select format('ev-%s:%s', 2 * i, $2::text), format('ev-%s', 2 * i), $2, 'concluido', 'ao-vivo' from generate_series(1, $1::int / 2) i`, n, kind)
	effects := make([]ledger.Effect, n)
	b.ReportAllocs()
	for b.Loop() {
		for i := range effects {
			effects[i] = effect("ev-"+strconv.Itoa(i), ledger.Keep)
		}
		if _, err := l.Look(b.Context(), effects); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "effects/s")
}
