package importer_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch/importer"
	"reprise.dev/reprise/schema/pgtest"
)

// formatCases are the formats of other systems: what their samples become, and what each line of their traps is
// rejected with; "-" is one that is ignored, "+" one that is imported.
var formatCases = map[string]struct {
	rows, traps []string
}{
	"messagedb": {
		rows: []string{
			`501|0b9a8f6e-2f4b-4b0a-9a39-1c5d3f2e7a01|PedidoPago|P77|1|{"percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05.12+00:00`,
			`503|5d1c7f0a-7a30-4d0e-8a7e-93c1b4a6e202|PedidoPago|P77|2|{"percentual": 5, "valorCentavos": 16990}|2026-10-14T12:45:00+00:00`,
		},
		traps: []string{importer.CodeMissing, importer.CodeUnsupported, importer.CodeType, importer.CodeTime, importer.CodeVersion, importer.CodePosition, importer.CodeMissing},
	},
	"marten": {
		rows: []string{
			`88|9c0e6a54-6a0e-4c1f-8f58-3f0a5b7d1188|pedido_pago|0d7c1a52-9b0e-4f0c-9c55-7d6f1f2a0077|1|{"Percentual": 5.0, "ValorCentavos": 15990}|2026-10-14T12:30:05.120331+00:00`,
			`91|e4a2f7cb-52a4-4be6-b1de-60a3a1c90191|pedido_pago|0d7c1a52-9b0e-4f0c-9c55-7d6f1f2a0077|2|{"Percentual": 5.0, "ValorCentavos": 16990}|2026-10-14T12:45:00+00:00`,
		},
		traps: []string{"+", importer.CodeUnsupported, importer.CodeVersion, importer.CodeNoZone},
	},
	"kurrentdb": {
		rows: []string{
			`1|3f1f0a1e-8d0f-4a55-a0c5-1f6f3a2b0300|PedidoPago|P77|1|{"percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05.120331+00:00`,
			`2|b2a4c6d8-0000-4000-8000-000000000301|PedidoPago|P77|2|{"percentual": 5, "valorCentavos": 16990}|2026-10-14T12:45:00+00:00`,
		},
		traps: []string{"-", "-", "-", "-", importer.CodeUnsupported, importer.CodeBadJSON, importer.CodeMissing, importer.CodeTime},
	},
	"debezium": {
		rows: []string{
			`1|c1a5f8b2-0000-4000-8000-000000000401|PedidoPago|P-77|1|{"versao": 1, "percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05.12+00:00`,
			`2|c1a5f8b2-0000-4000-8000-000000000402|PedidoPago|P-77|2|{"versao": 2, "percentual": 5, "valorCentavos": 16990}|2026-10-14T12:45:00+00:00`,
		},
		traps: []string{"-", "-", "-", importer.CodeDuplicateKey, importer.CodeTime, importer.CodeTime, importer.CodeVersion, importer.CodeMissing},
	},
	"kcat": {
		rows: []string{
			`42|ev-41|pedido.pago|P-77|1|{"versao": 1, "percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05.12+00:00`,
		},
		traps: []string{"-", importer.CodeBadJSON, importer.CodeUnsupported, importer.CodeTime, importer.CodeMissing, importer.CodeTime, importer.CodeVersion},
	},
	"cloudevents": {
		rows: []string{
			`1|/loja/pedidos#ev-61|pedido.pago|P-77|1|{"percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05.12+00:00`,
		},
		traps: []string{importer.CodeTime, importer.CodeUnsupported, importer.CodeMissing, importer.CodeVersion, importer.CodeType, importer.CodeBadJSON, importer.CodeType},
	},
	"axon": {
		rows: []string{
			`701|6b1e0000-0000-4000-8000-000000000701|loja.PedidoPago|P-77|1|{"percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05.120331+00:00`,
		},
		traps: []string{importer.CodeUnsupported, importer.CodeUnsupported, importer.CodeUnsupported, importer.CodeType, importer.CodeMissing, importer.CodeNoZone, importer.CodeVersion},
	},
	"nats": {
		rows: []string{
			`811|ev-811|pedidos.pago|P-77|1|{"versao": 1, "percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05.120331+00:00`,
			`813|nats-813|pedidos.pago|P-78|1|{"versao": 1, "percentual": 1.15, "valorCentavos": 3000}|2026-10-14T12:31:00+00:00`,
		},
		traps: []string{importer.CodeUnsupported, importer.CodeNUL, importer.CodeType, importer.CodeType, importer.CodePosition, importer.CodeTime},
	},
	"eventbridge": {
		rows: []string{
			`1|4d1c0000-0000-4000-8000-000000000901|pedido.pago|P-77|1|{"versao": 1, "pedidoId": "P-77", "percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05+00:00`,
			`2|4d1c0000-0000-4000-8000-000000000903|pedido.pago|P-78|1|{"versao": 1, "pedidoId": "P-78", "percentual": 1.15, "valorCentavos": 3000}|2026-10-14T12:31:00+00:00`,
		},
		traps: []string{importer.CodeMissing, importer.CodeVersion, importer.CodeMissing, importer.CodeTime, importer.CodeBadJSON, importer.CodeType},
	},
	"stripe": {
		rows: []string{
			`1|evt_exemplo_1001|payment_intent.succeeded|P-77|1|{"id": "pi_exemplo_77", "object": "payment_intent", "currency": "brl", "metadata": {"pedido_id": "P-77", "percentual": "5"}, "amount_received": 15990}|2026-10-14T12:30:05+00:00`,
			`2|evt_exemplo_1002|payment_intent.succeeded|P-78|1|{"id": "pi_exemplo_78", "object": "payment_intent", "currency": "jpy", "metadata": {"pedido_id": "P-78", "percentual": "1.15"}, "amount_received": 3000}|2026-10-14T12:30:05+00:00`,
		},
		traps: []string{importer.CodeMissing, importer.CodeTime, importer.CodeMissing},
	},
	"shopify": {
		rows: []string{
			`1|7f3a0000-0000-4000-8000-000000001101|orders/paid|5940000000077|1|{"percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05.120331+00:00`,
		},
		traps: []string{
			importer.CodeMissing, importer.CodeNumber, importer.CodeNumber, importer.CodeNumber, importer.CodeNumber, importer.CodeNumber,
			importer.CodeNumber, importer.CodeNumber, importer.CodeTime,
		},
	},
}

func TestFormatsOfOtherSystems(t *testing.T) {
	pool := pgtest.New(t)
	for name, c := range formatCases {
		t.Run(name, func(t *testing.T) {
			empty(t, pool)
			o := importer.Options{Files: []string{"testdata/" + name + ".ndjson"}, Rejects: t.TempDir() + "/rejects"}
			dry := o
			dry.DryRun = true
			if r := do(t, pool, dry); r.Imported != int64(len(c.rows)) {
				t.Errorf("dry run: %+v", r)
			}
			r := do(t, pool, o)
			if diff := cmp.Diff(c.rows, archived(t, pool)); diff != "" || r.Files[0].Format != name || r.Read != 2 {
				t.Errorf("%s%+v", diff, r)
			}
			if r := do(t, pool, o); r.Repeated != int64(len(c.rows)) || r.Imported != 0 {
				t.Errorf("again: %+v", r)
			}
		})
	}
}

func TestTrapsOfOtherSystems(t *testing.T) {
	pool := pgtest.New(t)
	for name, c := range formatCases {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + name + "-traps.ndjson")
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			r := do(t, pool, importer.Options{Files: []string{"testdata/" + name + "-traps.ndjson"}, Format: name, DryRun: true})
			got := make([]string, len(lines))
			for i := range got {
				got[i] = "-"
			}
			for _, reject := range r.Rejects {
				got[reject.Line-1] = reject.Code
			}
			want := append([]string(nil), c.traps...)
			var imported, ignored int64
			for i, code := range want {
				switch code {
				case "+":
					want[i] = "-"
					imported++
				case "-":
					ignored++
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s%+v", diff, r.Rejects)
			}
			var counted int64
			for n := range maps.Values(r.Ignored) {
				counted += n
			}
			if r.Imported != imported || counted != ignored || r.Read != int64(len(lines)) {
				t.Errorf("%d imported, %v ignored", r.Imported, r.Ignored)
			}
		})
	}
}

func TestImportsThatMakeNoSenseWriteNothing(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(string(text), "\n")
	}
	cases := map[string]struct {
		text, says string
	}{
		"two tenants":          {read("marten.ndjson") + "\n" + strings.Replace(read("marten.ndjson"), "*DEFAULT*", "loja-2", 1), "choose one"},
		"live and test events": {read("stripe.ndjson") + "\n" + strings.Replace(read("stripe.ndjson"), `"livemode":false`, `"livemode":true`, 1), "apart"},
		"unknown keys":         {`{"a":1}`, "cannot be recognized"},
		"no JSON":              {"hello", "cannot be recognized"},
		"printed prettily":     {"{\n\"posicao\": 1}", "on one line"},
	}
	pool := pgtest.New(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := importer.Import(t.Context(), pool, importer.Options{Files: []string{write(t, "day", c.text)}})
			if !errors.Is(err, importer.ErrFormat) || !strings.Contains(fmt.Sprint(err), c.says) || len(archived(t, pool)) != 0 {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("a tenant is chosen", func(t *testing.T) {
		r := do(t, pool, importer.Options{Files: []string{write(t, "day", cases["two tenants"].text)}, Tenant: "loja-2"})
		if r.Imported != 1 || r.Ignored["event of another tenant"] != 3 {
			t.Errorf("%+v", r)
		}
	})
}
