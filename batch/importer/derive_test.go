package importer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/importer"
	"reprise.dev/reprise/schema/pgtest"
)

func stripe(id, order string, created int) string {
	return fmt.Sprintf(`{"id":%q,"object":"event","created":%d,"data":{"object":{"metadata":{"pedido_id":%q}}},"livemode":true,"type":"t"}`, id, created, order)
}

func kcat(partition, offset, ts int, id, payload string) string {
	return fmt.Sprintf(`{"topic":"pedidos","partition":%d,"offset":%d,"tstype":"create","ts":%d,"broker":1,"headers":["ce_id",%q],"key":"P","payload":%q}`,
		partition, offset, ts, id, payload)
}

// numbersOf is position, id, order and version of what is archived.
func numbersOf(rows []string) (list []string) {
	for _, row := range rows {
		parts := strings.Split(row, "|")
		list = append(list, strings.Join([]string{parts[0], parts[1], parts[3], parts[4]}, " "))
	}
	return list
}

const second = 1791981005

// TestEventsOfOneSecondAreOrderedByTheirIDs and marked as derived; whatever the order of the lines.
func TestEventsOfOneSecondAreOrderedByTheirIDs(t *testing.T) {
	for _, lines := range [][]string{
		{stripe("c", "P", second), stripe("a", "P", second), stripe("b", "P", second), stripe("0", "Q", second+1)},
		{stripe("0", "Q", second+1), stripe("b", "P", second), stripe("c", "P", second), stripe("a", "P", second)},
	} {
		pool := pgtest.New(t)
		r := do(t, pool, importer.Options{Files: []string{write(t, "day", lines...)}})
		if diff := cmp.Diff([]string{"1 a P 1", "2 b P 2", "3 c P 3", "4 0 Q 1"}, numbersOf(archived(t, pool))); diff != "" {
			t.Error(diff)
		}
		if r.Derived.Positions != 4 || r.Derived.Versions != 4 || !strings.Contains(r.Derived.Rule, "(created, id)") {
			t.Errorf("%+v", r.Derived)
		}
		var format string
		if err := pool.QueryRow(t.Context(), "select formato from importacao").Scan(&format); err != nil || !strings.Contains(format, r.Derived.Rule) {
			t.Errorf("the record says %q, %v", format, err)
		}
	}
}

// TestDerivedNumbersAreTheSameAgain, or the import stops before it writes anything.
func TestDerivedNumbersAreTheSameAgain(t *testing.T) {
	pool := pgtest.New(t)
	first := write(t, "first", stripe("a", "P", second), stripe("b", "P", second+1), stripe("c", "Q", second+2))
	next := write(t, "next", stripe("d", "P", second+9), stripe("e", "Q", second+9))
	do(t, pool, importer.Options{Files: []string{write(t, "other", event(4, paid))}})
	do(t, pool, importer.Options{Files: []string{first}})
	do(t, pool, importer.Options{Files: []string{next}})
	want := []string{"4 ev-4 P-4 1", "5 a P 1", "6 b P 2", "7 c Q 1", "8 d P 3", "9 e Q 2"}
	if diff := cmp.Diff(want, numbersOf(archived(t, pool))); diff != "" {
		t.Fatal(diff)
	}

	again := func(files ...string) importer.Report {
		t.Helper()
		r := do(t, pool, importer.Options{Files: files})
		if diff := cmp.Diff(want, numbersOf(archived(t, pool))); diff != "" {
			t.Error(diff)
		}
		return r
	}
	if r := again(first); r.Repeated != 3 {
		t.Errorf("%+v", r)
	}
	if r := again(next, first); r.Repeated != 5 {
		t.Errorf("%+v", r)
	}
	// What a crash left out is put in its place.
	if _, err := pool.Exec(t.Context(), "delete from evento_arquivado where id in ('a', 'c', 'e')"); err != nil {
		t.Fatal(err)
	}
	if r := again(first, next); r.Imported != 3 || r.Repeated != 2 {
		t.Errorf("%+v", r)
	}

	for name, lines := range map[string][]string{
		"an event in between":       {stripe("a", "P", second), stripe("a2", "P", second), stripe("b", "P", second+1), stripe("c", "Q", second+2)},
		"the last one for another":  {stripe("a", "P", second), stripe("b", "P", second+1), stripe("z", "Q", second+2)},
		"one more at the beginning": {stripe("0", "P", second-9), stripe("a", "P", second)},
	} {
		_, err := importer.Import(t.Context(), pool, importer.Options{Files: []string{write(t, "changed", lines...)}})
		if !errors.Is(err, importer.ErrDerived) {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, numbersOf(archived(t, pool))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPartitionsAreMerged(t *testing.T) {
	pool := pgtest.New(t)
	one := write(t, "one", kcat(1, 7, second*1000+5, "b", "{}"), kcat(1, 8, second*1000+5, "d", "{}"))
	zero := write(t, "zero", kcat(0, 90, second*1000+5, "a", "{}"), kcat(0, 91, second*1000+9, "e", "{}"), kcat(0, 92, second*1000+9, "a", "{}"))
	r := do(t, pool, importer.Options{Files: []string{one, zero}})
	if diff := cmp.Diff([]string{"1 a P 1", "2 b P 2", "3 d P 3", "4 e P 4"}, numbersOf(archived(t, pool))); diff != "" || r.Repeated != 1 || r.Files[1].Repeated != 1 {
		t.Errorf("%s%+v", diff, r)
	}

	pool = pgtest.New(t)
	r = do(t, pool, importer.Options{Files: []string{zero}})
	if diff := cmp.Diff([]string{"91 a P 1", "92 e P 2"}, numbersOf(archived(t, pool))); diff != "" || r.Derived.Positions != 0 || r.Derived.Versions != 2 {
		t.Errorf("%s%+v", diff, r)
	}
}

func TestEventsThatContradictEachOther(t *testing.T) {
	pool := pgtest.New(t)
	path := write(t, "day",
		kcat(0, 1, second*1000, "a", `{"versao":1}`), kcat(0, 2, second*1000, "b", `{}`), kcat(0, 3, second*1000, "a", `{"versao":1,"x":2}`))
	r := do(t, pool, importer.Options{Files: []string{path}})
	if r.Imported != 1 || r.Rejected[importer.CodeVersion] != 1 || r.Rejected[importer.CodeOtherContent] != 1 || r.Read != 3 {
		t.Errorf("%+v", r)
	}
	other := write(t, "other", stripe("a", "P", second))
	if _, err := importer.Import(t.Context(), pool, importer.Options{Files: []string{path, other}}); !errors.Is(err, batch.ErrUsage) {
		t.Errorf("%v", err)
	}
}

func TestFeedPagesBeginWithTheNewest(t *testing.T) {
	entry := func(n int) string {
		return fmt.Sprintf(`{"eventId":"e%d","eventType":"t","eventNumber":%d,"data":"{}","streamId":"pedido-P","isJson":true,"updated":"2026-10-14T12:30:05Z"}`, n, n)
	}
	page := func(numbers ...int) string {
		var entries []string
		for _, n := range numbers {
			entries = append(entries, entry(n))
		}
		return `{"title":"pedido-P","streamId":"pedido-P","entries":[` + strings.Join(entries, ",") + `]}`
	}
	pool := pgtest.New(t)
	do(t, pool, importer.Options{Files: []string{write(t, "feed", page(4, 3), page(2, 1, 0))}})
	if diff := cmp.Diff([]string{"1 e0 P 1", "2 e1 P 2", "3 e2 P 3", "4 e3 P 4", "5 e4 P 5"}, numbersOf(archived(t, pool))); diff != "" {
		t.Error(diff)
	}
}

func mapping(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "map.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const mapped = `
[columns]
posicao     = { from = "log.position", add = 1 }
id          = { from = "id" }
tipo        = { from = "type", translate = { OrderPaid = "pedido.pago" } }
pedido_id   = { from = "stream\\.name", cut_after = "-" }
versao      = { from = "version" }
ocorrido_em = { from = "time", zone = "America/Sao_Paulo" }
`

func TestMapping(t *testing.T) {
	pool := pgtest.New(t)
	line := func(position int, total, currency, rate string) string {
		return fmt.Sprintf(`{"log":{"position":%d},"id":%d,"type":"OrderPaid","stream.name":"order-P-%d","version":"1","time":"2026-10-14 09:30:05","total":%s,"currency":%s,"rate":%s}`,
			position, position, position, total, currency, rate)
	}
	path := write(t, "day",
		"["+line(0, `"1.599,90"`, `"BRL"`, `"1,15 %"`)+","+line(1, `1599`, `"JPY"`, `5`)+"]",
		line(2, `"-0,5"`, `"KWD"`, `"0"`),
		line(3, `"159.90"`, `"BRL"`, `5`), // a point groups thousands
		line(4, `"159,901"`, `"BRL"`, `5`),
		line(5, `"1"`, `"??"`, `5`))
	m := mapping(t, "events = \"nothing\"\n"+mapped+`
[payload]
valorCentavos = { from = "total", as = "cents", currency_from = "currency", decimal_comma = true }
percentual    = { from = "rate", as = "percent", decimal_comma = true }
fracao        = { from = "rate", as = "fraction", decimal_comma = true }
`)
	m2 := mapping(t, mapped+`payload = { from = "total" }`)
	if r := do(t, pool, importer.Options{Files: []string{path}, Mapping: m2, DryRun: true}); r.Imported != 6 {
		t.Errorf("%+v", r)
	}
	r := do(t, pool, importer.Options{Files: []string{path}, Mapping: m})
	want := []string{
		`2|1|pedido.pago|P-1|1|{"fracao": 500, "percentual": 5, "valorCentavos": 1599}|2026-10-14T12:30:05+00:00`,
		`3|2|pedido.pago|P-2|1|{"fracao": 0, "percentual": 0, "valorCentavos": -500}|2026-10-14T12:30:05+00:00`,
	}
	if diff := cmp.Diff(want, archived(t, pool)); diff != "" || r.Rejected[importer.CodeNumber] != 4 || !strings.HasPrefix(r.Files[0].Format, "mapping ") {
		t.Errorf("%s%+v", diff, r)
	}
}

func TestMappingsThatMakeNoSense(t *testing.T) {
	pool := pgtest.New(t)
	path := write(t, "day", event(1, paid))
	for name, text := range map[string]string{
		"no TOML":                "columns",
		"no payload":             mapped,
		"an unknown key":         mapped + `payload = { from = "a", run = "rm" }`,
		"a modifier":             mapped + `payload = { from = "a.@reverse" }`,
		"a query":                mapped + `payload = { from = "a.#(b==1)" }`,
		"an unknown column":      mapped + "payload = { from = \"a\" }\nvalor = { from = \"b\" }",
		"a key of another":       mapped + `payload = { from = "a", add = 1 }`,
		"a decoding":             mapped + `payload = { from = "a", decode = "eval" }`,
		"two payloads":           mapped + "payload = { from = \"a\" }\n[payload]\na = { from = \"b\" }",
		"cents of no currency":   mapped + "[payload]\na = { from = \"b\", as = \"cents\" }",
		"an unknown currency":    mapped + "[payload]\na = { from = \"b\", as = \"cents\", currency = \"XXY\" }",
		"an unknown conversion":  mapped + "[payload]\na = { from = \"b\", as = \"sum\" }",
		"a zone":                 strings.Replace(mapped, "America/Sao_Paulo", "Lua", 1) + `payload = { from = "a" }`,
		"a file that is missing": "",
	} {
		m := mapping(t, text)
		if text == "" {
			m += "x"
		}
		if _, err := importer.Import(t.Context(), pool, importer.Options{Files: []string{path}, Mapping: m}); !errors.Is(err, batch.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
