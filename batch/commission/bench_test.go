package commission

import "testing"

var benchPayload = []byte(`{"percentual": 7.25, "vendedorId": "V-123", "valorCentavos": 123456}`)

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parse(benchPayload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCommission(b *testing.B) {
	p, err := parse(benchPayload)
	if err != nil {
		b.Fatal(err)
	}
	for _, arithmetic := range []string{IEEE, Exact} {
		b.Run(arithmetic, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v, err := p.commission(arithmetic, 100); err != nil || v != 8951 {
					b.Fatal(v, err)
				}
			}
		})
	}
}
