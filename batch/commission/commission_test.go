package commission_test

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/commission"
)

func paid(payload string) batch.Event {
	return batch.Event{ID: "ev-1", Type: commission.OrderPaid, OrderID: "P-1", Version: 1, Payload: json.RawMessage(payload)}
}

// The vectors were computed by JavaScript itself.
func TestIEEEIsJavaScript(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors [][]any
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 3000 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for _, v := range vectors {
		payload, divisor := v[0].(string), int64(v[1].(float64))
		got, err := commission.New(commission.Options{Divisor: divisor}).Project(paid(payload))
		switch want, valid := v[2].(string); {
		case !valid && err == nil:
			t.Errorf("%s / %d: %d, JavaScript has no value", payload, divisor, got.Value)
		case valid && err != nil:
			t.Errorf("%s / %d: %v, JavaScript has %s", payload, divisor, err, want)
		case valid && strconv.FormatInt(got.Value, 10) != want:
			t.Errorf("%s / %d: %d, JavaScript has %s", payload, divisor, got.Value, want)
		}
	}
}

func TestArithmetics(t *testing.T) {
	for _, tc := range []struct {
		cents, share string
		ieee, exact  int64
	}{
		{"3000", "1.15", 34, 35},
		{"5500", "0.7", 38, 39},
		{"11000", "0.35", 38, 39},
		{"-50", "5", -2, -2},
		{"-250", "1", -2, -2},
		{"50", "5", 3, 3},
		{"3000000000000", "5", 150000000000, 150000000000},
		{"10.0", "50", 5, 5},
		{"1e2", "5", 5, 5},
		{"9007199254740993", "100", 9007199254740992, 9007199254740993},
		{"1152921504606846976", "100", 1152921504606847000, 1152921504606846976},
		{"1", "49.999999999999994", 0, 0},
		{"1e300", "1e-290", 100000000, 100000000},
		{"9000000000000000000", "1e-30", 0, 0},
	} {
		e := paid(`{"valorCentavos":` + tc.cents + `,"percentual":` + tc.share + `}`)
		for arithmetic, want := range map[string][2]int64{commission.IEEE: {tc.ieee, tc.exact}, commission.Exact: {tc.exact, tc.ieee}} {
			got, err := commission.New(commission.Options{Arithmetic: arithmetic}).Project(e)
			if err != nil {
				t.Errorf("%s of %s in %s: %v", tc.share, tc.cents, arithmetic, err)
				continue
			}
			if got.Value != want[0] {
				t.Errorf("%s of %s in %s = %d, want %d", tc.share, tc.cents, arithmetic, got.Value, want[0])
			}
			if differs := want[0] != want[1]; (got.OtherValue != nil) != differs || differs && *got.OtherValue != want[1] {
				t.Errorf("%s of %s in %s: other value %v, want %d", tc.share, tc.cents, arithmetic, got.OtherValue, want[1])
			}
		}
	}
}

func TestPerMille(t *testing.T) {
	got, err := commission.New(commission.Options{Divisor: 1000}).Project(paid(`{"valorCentavos":10000,"percentual":5}`))
	if err != nil || got.Value != 50 {
		t.Errorf("got %d, %v", got.Value, err)
	}
}

func TestPoisonSaysWhatIsWrong(t *testing.T) {
	for payload, want := range map[string]string{
		`{"valorCentavos":"100","percentual":5}`:                 `valorCentavos = "100" nao e um numero`,
		`{"valorCentavos":100.5,"percentual":5}`:                 `valorCentavos = 100.5 nao e inteiro`,
		`{"valorCentavos":1e400,"percentual":5}`:                 `valorCentavos = 1e400 nao e inteiro`,
		`{"valorCentavos":null,"percentual":5}`:                  `valorCentavos = null nao e um numero`,
		`{"percentual":5}`:                                       `valorCentavos ausente`,
		`{"valorcentavos":1,"percentual":5}`:                     `valorCentavos ausente`,
		`{"valorCentavos":1}`:                                    `percentual ausente`,
		`{"valorCentavos":1,"percentual":"5"}`:                   `percentual = "5" nao e um numero`,
		`{"valorCentavos":1,"percentual":1e400}`:                 `a comissao de valorCentavos = 1 e percentual = 1e400 nao cabe em 64 bits`,
		`{"valorCentavos":9223372036854775807,"percentual":100}`: `a comissao de valorCentavos = 9223372036854775807 e percentual = 100 nao cabe em 64 bits`,
		`[]`:   `nao e um objeto`,
		`null`: `nao e um objeto`,
		`{`:    `nao e JSON`,
		``:     `nao e JSON`,
		`{"valorCentavos":"` + strings.Repeat("9", 100) + `","percentual":5}`: `valorCentavos = "` + strings.Repeat("9", 59) + `… nao e um numero`,
	} {
		_, err := commission.New(commission.Options{}).Project(paid(payload))
		if want = "payload de pedido.pago invalido: " + want; err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", payload, err, want)
		}
	}
}

// Exactness may refuse what JavaScript rounds to an integer, and may hold what does not fit after rounding.
func TestExactRefusesFractions(t *testing.T) {
	_, err := commission.New(commission.Options{Arithmetic: commission.Exact}).Project(paid(`{"valorCentavos":100.00000000000000000001,"percentual":5}`))
	if err == nil || !strings.Contains(err.Error(), "nao e inteiro") {
		t.Errorf("got %v", err)
	}
	got, err := commission.New(commission.Options{Arithmetic: commission.Exact}).Project(paid(`{"valorCentavos":9223372036854775807,"percentual":100}`))
	if err != nil || got.Value != 9223372036854775807 || got.OtherValue != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestNotification(t *testing.T) {
	for order, want := range map[string]string{
		"P-1":  `{"pedidoId":"P-1","valorCentavos":-2}`,
		`a"b\`: `{"pedidoId":"a\"b\\","valorCentavos":-2}`,
		"ç\n€": `{"pedidoId":"ç\n€","valorCentavos":-2}`,
	} {
		e := paid(`{"valorCentavos":-50,"percentual":5}`)
		e.OrderID = order
		got, err := commission.New(commission.Options{}).Project(e)
		if err != nil || len(got.Effects) != 1 || got.Effects[0].Kind != commission.NotifySeller {
			t.Fatalf("%q: %+v, %v", order, got, err)
		}
		var a, b struct {
			PedidoID      string
			ValorCentavos int64
		}
		if json.Unmarshal(got.Effects[0].Content, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || a != b {
			t.Errorf("%q: %s, want %s", order, got.Effects[0].Content, want)
		}
		if !strings.HasPrefix(string(got.Effects[0].Content), `{"pedidoId":`) {
			t.Errorf("%q: keys in another order: %s", order, got.Effects[0].Content)
		}
	}
}

func BenchmarkProject(b *testing.B) {
	for _, arithmetic := range []string{commission.IEEE, commission.Exact} {
		b.Run(arithmetic, func(b *testing.B) {
			h := commission.New(commission.Options{Arithmetic: arithmetic})
			e := paid(`{"percentual": 7.25, "vendedorId": "V-123", "valorCentavos": 123456}`)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Project(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
