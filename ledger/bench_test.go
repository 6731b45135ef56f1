package ledger_test

import (
	"flag"
	"fmt"
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
