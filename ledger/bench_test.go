package ledger_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"reprise.dev/reprise/ledger"
)

// BenchmarkDo runs the whole protocol against a provider that answers at once.
func BenchmarkDo(b *testing.B) {
	for _, inFlight := range []int{1, 16, 256, 1024} {
		b.Run(fmt.Sprintf("in-flight-%d", inFlight), func(b *testing.B) {
			l, _ := open(b, ledger.Options{})
			var next atomic.Int64
			var group sync.WaitGroup
			b.ResetTimer()
			for range inFlight {
				group.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						out, err := l.Do(b.Context(), effect(fmt.Sprintf("ev-%d", n), ledger.Keep), newProvider(always(nil)).call)
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
