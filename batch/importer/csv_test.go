package importer_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/importer"
	"reprise.dev/reprise/schema/pgtest"
)

func TestCSV(t *testing.T) {
	pool := pgtest.New(t)
	path := write(t, "day.csv",
		"\xef\xbb\xbfposicao,id,tipo,pedido_id,versao,payload,ocorrido_em",
		`1003,ev-1003,pedido.pago,P-77,2,"{""valorCentavos"":16990,""percentual"":5}",2026-10-14T12:45:00Z`,
		"1004,\"two\r\nlines, and \"\"quotes\"\"\",pedido.pago,P-78,1,\"{",
		` ""a"": 1 }",2026-10-14 12:45:00.5+00`,
		``,
		`1005,ev-1005,pedido.pago,P-79,1,5,"2026-10-14T12:45:00Z"`)
	r := do(t, pool, importer.Options{Files: []string{path}})
	want := []string{
		`1003|ev-1003|pedido.pago|P-77|2|{"percentual": 5, "valorCentavos": 16990}|2026-10-14T12:45:00+00:00`,
		"1004|two\r\nlines, and \"quotes\"|pedido.pago|P-78|1|{\"a\": 1}|2026-10-14T12:45:00.5+00:00",
		`1005|ev-1005|pedido.pago|P-79|1|5|2026-10-14T12:45:00+00:00`,
	}
	if diff := cmp.Diff(want, archived(t, pool)); diff != "" || r.Files[0].Format != "csv" {
		t.Error(diff, r)
	}
	if r := do(t, pool, importer.Options{Files: []string{path}}); r.Repeated != 3 {
		t.Errorf("%+v", r)
	}
}

func TestBrokenRecordsOfCSV(t *testing.T) {
	good := func(n string) string { return n + `,ev-` + n + `,t,P-` + n + `,1,"{}",2026-10-14T12:45:00Z` }
	cases := map[string]struct{ lines, code string }{
		"a quote left open":        {`2,ev-2,t,P-2,1,"{},2026-10-14T12:45:00Z`, importer.CodeCSV},
		"a quote in a bare field":  {`2,e"v-2,t,P-2,1,{},2026-10-14T12:45:00Z`, importer.CodeCSV},
		"quotes that are not two":  {`2,ev-2,t,P-2,1,"{"a":1}",2026-10-14T12:45:00Z`, importer.CodeCSV},
		"a field too many":         {good("2") + ",", importer.CodeCSV},
		"a field too few":          {`2,ev-2,t,P-2,1,{}`, importer.CodeCSV},
		"NUL":                      {"2,ev\x00-2,t,P-2,1,{},2026-10-14T12:45:00Z", importer.CodeNUL},
		"NUL escape":               {`2,ev-2,t,P-2,1,"""\u0000""",2026-10-14T12:45:00Z`, importer.CodeNUL},
		"not UTF-8":                {"2,ev\xff-2,t,P-2,1,{},2026-10-14T12:45:00Z", importer.CodeUTF8},
		"no version":               {`2,ev-2,t,P-2,,{},2026-10-14T12:45:00Z`, importer.CodeMissing},
		"position with a space":    {` 2,ev-2,t,P-2,1,{},2026-10-14T12:45:00Z`, importer.CodePosition},
		"a payload that is a text": {`2,ev-2,t,P-2,1,pago,2026-10-14T12:45:00Z`, importer.CodeBadJSON},
		"infinity":                 {`2,ev-2,t,P-2,1,{},infinity`, importer.CodeTime},
		"too long over lines":      {`2,ev-2,t,P-2,1,"` + strings.Repeat(strings.Repeat("x", 1<<20)+"\n", 33), importer.CodeCSV},
	}
	header := "posicao,id,tipo,pedido_id,versao,payload,ocorrido_em"
	pool := pgtest.New(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			empty(t, pool)
			path := write(t, "day.csv", header, good("1"), c.lines, good("3"), good("4"))
			r := do(t, pool, importer.Options{Files: []string{path}})
			if r.Imported != 3 || r.Rejected[c.code] == 0 || r.Rejects[0].Line != 3 || r.Rejects[0].Offset != int64(len(header)+len(good("1"))+2) {
				t.Errorf("%+v %+v", r.Rejected, r.Imported)
			}
		})
	}
	t.Run("the end is missing", func(t *testing.T) {
		empty(t, pool)
		path := write(t, "day.csv")
		if err := os.WriteFile(path, []byte(header+"\n"+good("1")+"\n2,ev-2,t,P-2,1"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := do(t, pool, importer.Options{Files: []string{path}})
		if r.Imported != 1 || r.Rejected[importer.CodeTruncated] != 1 {
			t.Errorf("%+v", r)
		}
	})
}

func TestHeadersOfCSV(t *testing.T) {
	pool := pgtest.New(t)
	row := `1,ev-1,t,P-1,1,{},2026-10-14T12:45:00Z`
	for _, header := range []string{
		"posicao,id,tipo,pedido_id,versao,payload", "posicao,id,tipo,pedido_id,versao,payload,ocorrido_em,loja",
		"posicao,id,id,pedido_id,versao,payload,ocorrido_em", `"posicao,id,tipo,pedido_id,versao,payload,ocorrido_em`,
	} {
		_, err := importer.Import(t.Context(), pool, importer.Options{Files: []string{write(t, "day.csv", header, row)}})
		if !errors.Is(err, importer.ErrFormat) || !errors.Is(err, batch.ErrUsage) {
			t.Errorf("%s: %v", header, err)
		}
	}
	path := write(t, "day.csv", "loja,posicao,id,tipo,pedido_id,versao,payload,ocorrido_em", "7,"+row)
	if r := do(t, pool, importer.Options{Files: []string{path}, IgnoreExtras: true}); r.Imported != 1 {
		t.Errorf("%+v", r)
	}
	if r := do(t, pool, importer.Options{Files: []string{write(t, "empty.csv")}, Format: "csv"}); r.Read != 0 || r.Partial() {
		t.Errorf("%+v", r)
	}
}
