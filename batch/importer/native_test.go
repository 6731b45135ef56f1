package importer_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/importer"
	"reprise.dev/reprise/schema/pgtest"
)

func event(position int, payload string) string {
	return fmt.Sprintf(`{"posicao":%d,"id":"ev-%d","tipo":"pedido.pago","pedido_id":"P-%d","versao":1,"payload":%s,"ocorrido_em":"2026-10-14T12:30:05.120000Z"}`,
		position, position, position, payload)
}

const paid = `{"valorCentavos":15990,"percentual":5}`

func TestNativeLinesAreStoredAsTheyAre(t *testing.T) {
	pool := pgtest.New(t)
	path := write(t, "day.ndjson",
		`{"posicao":1001,"id":"ev-1001","tipo":"pedido.pago","pedido_id":"P-77","versao":1,"payload":{"valorCentavos":15990,"percentual":5},"ocorrido_em":"2026-10-14T12:30:05.120000Z"}`,
		``,
		` { "ocorrido_em" : "2026-10-14T09:31:00-03:00", "payload":{"percentual":1.15,"a":[1e2,10.0,9007199254740993,-0,"\ud83d\ude00\n"]}, "versao":2,"pedido_id":"P-\"7\\","tipo":"pedido.pago","id":"\u001b[2Jé","posicao":9223372036854775807 } `)
	r := do(t, pool, importer.Options{Files: []string{path}})
	want := []string{
		`1001|ev-1001|pedido.pago|P-77|1|{"percentual": 5, "valorCentavos": 15990}|2026-10-14T12:30:05.12+00:00`,
		`9223372036854775807|` + "\x1b[2Jé" + `|pedido.pago|P-"7\|2|{"a": [100, 10.0, 9007199254740993, 0, "😀\n"], "percentual": 1.15}|2026-10-14T12:31:00+00:00`,
	}
	if diff := cmp.Diff(want, archived(t, pool)); diff != "" {
		t.Error(diff)
	}
	if r.Read != 2 || r.Imported != 2 || r.Partial() || r.Orders != 2 || r.Types["pedido.pago"] != 2 || len(r.Samples) != 2 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(path + ".rejects.ndjson"); !os.IsNotExist(err) {
		t.Errorf("a file of rejects without rejects: %v", err)
	}
}

// TestWhatCannotBeStoredAsItIsIsRejected: each line alone, between two good ones that are imported.
func TestWhatCannotBeStoredAsItIsIsRejected(t *testing.T) {
	with := func(key, value string) string {
		line := event(2, paid)
		for _, k := range []string{"posicao", "id", "tipo", "pedido_id", "versao", "payload", "ocorrido_em"} {
			if k != key {
				continue
			}
			i := strings.Index(line, `"`+k+`":`) + len(k) + 3
			j := strings.Index(line[i:], `,"`)
			if k == "payload" {
				j = strings.Index(line[i:], `},`) + 1
			}
			if k == "ocorrido_em" {
				j = len(line) - i - 1
			}
			return line[:i] + value + line[i+j:]
		}
		t.Fatalf("no key %s", key)
		return ""
	}
	cases := []struct {
		name, line string
		code       string
		at         string // where the reject says that the fault is
	}{
		{"NUL escape", with("payload", `{"a":"x\u0000"}`), importer.CodeNUL, `\u0000`},
		{"NUL escape in an id", with("id", `"\u0000"`), importer.CodeNUL, `\u0000`},
		{"NUL escape in a key", with("payload", `{"\u0000":1}`), importer.CodeNUL, `\u0000`},
		{"lone high surrogate", with("payload", `{"a":"\ud800"}`), importer.CodeSurrogate, `\ud800`},
		{"lone low surrogate", with("payload", `{"a":"\udc00\ud800"}`), importer.CodeSurrogate, `\udc00`},
		{"high surrogate and something else", with("payload", `{"a":"\ud800\u0041"}`), importer.CodeSurrogate, `\ud800`},
		{"not UTF-8", with("payload", "{\"a\":\"\xff\"}"), importer.CodeUTF8, "\xff"},
		{"surrogate as UTF-8", with("payload", "{\"a\":\"\xed\xa0\x80\"}"), importer.CodeUTF8, "\xed"},
		{"overlong", with("id", "\"\xc0\x80\""), importer.CodeUTF8, "\xc0"},
		{"1e400", with("payload", `{"a":1e400}`), importer.CodeNumber, `1e400`},
		{"-1e400", with("payload", `[-1e400]`), importer.CodeNumber, `-1e400`},
		{"1e-400", with("payload", `{"a":1e-400}`), importer.CodeNumber, `1e-400`},
		{"0e-99999", with("payload", `{"a":0e-99999}`), importer.CodeNumber, `0e-99999`},
		{"0e999999999999", with("payload", `{"a":0e999999999999}`), importer.CodeNumber, `0e99999`},
		{"400 digits", with("payload", `{"a":1`+strings.Repeat("0", 400)+`}`), importer.CodeNumber, `1000`},
		{"20,000 digits after the point", with("payload", `{"a":0.`+strings.Repeat("1", 20000)+`}`), importer.CodeNumber, `0.111`},
		{"key twice", with("versao", `1,"versao":2`), importer.CodeDuplicateKey, `"versao":2`},
		{"key twice in the payload", with("payload", `{"a":1,"\u0061":2}`), importer.CodeDuplicateKey, `"\u0061"`},
		{"key twice deep down", with("payload", `{"a":[{"b":{"c":1,"c":1}}]}`), importer.CodeDuplicateKey, `"c":1}`},
		{"key twice among many", with("payload", `{"a0":0,"a1":0,"a2":0,"a3":0,"a4":0,"a5":0,"a6":0,"a7":0,"a8":0,"a9":0,"b0":0,"b1":0,"b2":0,"b3":0,"b4":0,"b5":0,"b6":0,"b7":0,"b8":0,"a3":0}`), importer.CodeDuplicateKey, `"a3":0}`},
		{"unknown key", with("versao", `1,"verso":2`), importer.CodeUnknownKey, `2,"payload`},
		{"without a version", strings.Replace(event(2, paid), `"versao":1,`, "", 1), importer.CodeMissing, ""},
		{"empty id", with("id", `""`), importer.CodeMissing, `"",`},
		{"position 0", with("posicao", "0"), importer.CodePosition, `0,"id`},
		{"negative position", with("posicao", "-5"), importer.CodePosition, `-5`},
		{"position beyond int64", with("posicao", "9223372036854775808"), importer.CodePosition, `9223`},
		{"position beyond uint64", with("posicao", "18870312345678901234"), importer.CodePosition, `1887`},
		{"position as text", with("posicao", `"2"`), importer.CodePosition, `"2"`},
		{"position as a fraction", with("posicao", `2.0`), importer.CodePosition, `2.0`},
		{"position null", with("posicao", `null`), importer.CodePosition, `null`},
		{"version 0", with("versao", "0"), importer.CodeVersion, `0,"pay`},
		{"version 1e0", with("versao", "1e0"), importer.CodeVersion, `1e0`},
		{"id as a number", with("id", "2"), importer.CodeType, `2,"tipo`},
		{"order null", with("pedido_id", "null"), importer.CodeType, `null`},
		{"time as a number", with("ocorrido_em", "1791981005"), importer.CodeType, `1791981005`},
		{"time without a zone", with("ocorrido_em", `"2026-10-14T12:30:05"`), importer.CodeNoZone, `"2026-10-14T12:30:05"`},
		{"infinity", with("ocorrido_em", `"infinity"`), importer.CodeTime, `"infinity"`},
		{"-infinity", with("ocorrido_em", `"-Infinity"`), importer.CodeTime, ""},
		{"30 February", with("ocorrido_em", `"2026-02-30T12:30:05Z"`), importer.CodeTime, `"2026-02-30`},
		{"hour 24", with("ocorrido_em", `"2026-02-03T24:00:00Z"`), importer.CodeTime, ""},
		{"leap second", with("ocorrido_em", `"2026-02-03T23:59:60Z"`), importer.CodeTime, ""},
		{"only a date", with("ocorrido_em", `"2026-02-03"`), importer.CodeTime, ""},
		{"year 1969", with("ocorrido_em", `"1969-12-31T23:59:59Z"`), importer.CodeTime, ""},
		{"year 2201 in UTC", with("ocorrido_em", `"2200-12-31T23:59:59-03:00"`), importer.CodeTime, ""},
		{"offset of 99 hours", with("ocorrido_em", `"2026-02-03T00:00:00+99:00"`), importer.CodeTime, ""},
		{"named zone", with("ocorrido_em", `"2026-02-03T00:00:00 BRT"`), importer.CodeTime, ""},
		{"bare word", with("payload", `{"a":NaN}`), importer.CodeBadJSON, `NaN`},
		{"trailing comma", with("payload", `{"a":1,}`), importer.CodeBadJSON, `},"oco`},
		{"leading zero", with("payload", `{"a":01}`), importer.CodeBadJSON, `1},"oco`},
		{"tab in a string", with("payload", "{\"a\":\"\t\"}"), importer.CodeBadJSON, "\t"},
		{"escape that does not exist", with("payload", `{"a":"\x41"}`), importer.CodeBadJSON, `\x41`},
		{"two values", event(2, paid) + `{}`, importer.CodeBadJSON, `{}`},
		{"half a line", event(2, paid)[:100], importer.CodeBadJSON, ""},
		{"not an object", `[1,2]`, importer.CodeType, ""},
		{"CSV", `2,ev-2,pedido.pago`, importer.CodeBadJSON, `,ev-2`},
		{"1,001 levels", with("payload", strings.Repeat("[", 1000)+strings.Repeat("]", 1000)), importer.CodeTooDeep, `[]`},
		{"100,000 levels", with("payload", strings.Repeat(`{"a":`, 100000)), importer.CodeTooDeep, ""},
		{"an id longer than an index takes", with("id", `"`+incompressible(8000)+`"`), importer.CodeRefused, ""},
	}
	pool := pgtest.New(t)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			empty(t, pool)
			path := write(t, "day.ndjson", event(1, paid), c.line, event(3, paid))
			r := do(t, pool, importer.Options{Files: []string{path}})
			if r.Imported != 2 || r.Read != 3 || !r.Partial() || r.Rejected[c.code] != 1 || len(archived(t, pool)) != 2 {
				t.Fatalf("case %d: %+v", i, r)
			}
			rejects := rejectsIn(t, path+".rejects.ndjson")
			if len(rejects) != 1 {
				t.Fatalf("%+v", rejects)
			}
			got := rejects[0]
			if got.Line != 2 || got.Offset != int64(len(event(1, paid))+1) || got.Code != c.code || got.Reason == "" || got.File != path {
				t.Errorf("%+v", got)
			}
			if at := strings.LastIndex(c.line, c.at) + 1; c.at != "" && got.Column != at {
				t.Errorf("column %d, want %d: %s", got.Column, at, got.Reason)
			}
			if raw := got.Raw + string(got.RawB64); got.Cut != (len(c.line) > 64<<10) || !strings.HasPrefix(c.line, raw) || !got.Cut && raw != c.line {
				t.Errorf("raw line: %q", raw)
			}
			info, err := os.Stat(path + ".rejects.ndjson")
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestWhatMayBeOdd is accepted, and changed in nothing.
func TestWhatMayBeOdd(t *testing.T) {
	pool := pgtest.New(t)
	deep := strings.Repeat("[", 999) + strings.Repeat("]", 999)
	path := write(t, "day.ndjson",
		event(1, `null`), event(2, `"text"`), event(3, deep), event(4, `{"":0,"A":1,"a":2}`),
		event(5, `1e308`), event(6, `0.`+strings.Repeat("1", 16000)), event(7, `0.00e5`), event(8, `"`+"\u202e\u009b\u2028"+`"`))
	if r := do(t, pool, importer.Options{Files: []string{path}}); r.Imported != 8 {
		t.Errorf("%+v", r)
	}
}

func TestBeginningsAndEndsOfLines(t *testing.T) {
	pool := pgtest.New(t)
	path := write(t, "day.ndjson")
	text := "\xef\xbb\xbf" + event(1, paid) + "\r\n\r\n" + event(2, paid) + "\n" + event(3, paid)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := do(t, pool, importer.Options{Files: []string{path}}); r.Imported != 3 || r.Partial() {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(path, []byte(text[:len(text)-20]), 0o600); err != nil {
		t.Fatal(err)
	}
	r := do(t, pool, importer.Options{Files: []string{path}})
	if r.Repeated != 2 || r.Rejected[importer.CodeTruncated] != 1 || r.Rejects[0].Line != 4 {
		t.Errorf("%+v", r)
	}
}

func TestIgnoreExtras(t *testing.T) {
	pool := pgtest.New(t)
	path := write(t, "day.ndjson", strings.Replace(event(1, paid), "{", `{"extra":{"a":1},`, 1))
	if r := do(t, pool, importer.Options{Files: []string{path}, IgnoreExtras: true}); r.Imported != 1 {
		t.Errorf("%+v", r)
	}
}

func TestTimesWithoutAZone(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	pool := pgtest.New(t)
	at := func(position int, local string) string {
		return strings.Replace(event(position, paid), "2026-10-14T12:30:05.120000Z", local, 1)
	}
	path := write(t, "day.ndjson",
		at(1, "2026-10-14 12:30:05.1"),
		at(2, "2026-03-08T02:30:00"), // did not exist
		at(3, "2026-11-01T01:30:00"), // happened twice
		at(4, "2026-11-01T01:30:00-04"),
		at(5, "2026-11-01T02:00:00"),
		at(6, "2026-03-08T03:00:00"))
	r := do(t, pool, importer.Options{Files: []string{path}, Zone: zone})
	if r.Imported != 4 || r.Rejected[importer.CodeTime] != 2 {
		t.Errorf("%+v", r)
	}
	var got []string
	for _, row := range archived(t, pool) {
		got = append(got, row[strings.LastIndex(row, "|")+1:])
	}
	want := []string{"2026-10-14T16:30:05.1+00:00", "2026-11-01T05:30:00+00:00", "2026-11-01T07:00:00+00:00", "2026-03-08T07:00:00+00:00"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNanosecondsAreCutAndCounted(t *testing.T) {
	pool := pgtest.New(t)
	path := write(t, "day.ndjson",
		strings.Replace(event(1, paid), ".120000Z", ".120331999Z", 1),
		strings.Replace(event(2, paid), ".120000Z", ".120331000Z", 1),
		strings.Replace(event(3, paid), ".120000Z", ".1203310000001Z", 1))
	r := do(t, pool, importer.Options{Files: []string{path}})
	if r.Imported != 3 || r.CutTimes != 2 || r.From != r.To || r.To.Nanosecond() != 120331000 {
		t.Errorf("%+v", r)
	}
}

func TestTypesAreTranslated(t *testing.T) {
	pool := pgtest.New(t)
	path := write(t, "day.ndjson", event(1, paid))
	o := importer.Options{Files: []string{path}, Types: map[string]string{"pedido.pago": "order.paid"}}
	if r := do(t, pool, o); r.Types["order.paid"] != 1 {
		t.Errorf("%+v", r)
	}
}

func TestGapsAreReported(t *testing.T) {
	pool := pgtest.New(t)
	version := func(position, version int) string {
		return fmt.Sprintf(`{"posicao":%d,"id":"ev-%d","tipo":"x","pedido_id":"P","versao":%d,"payload":0,"ocorrido_em":"2026-10-14T12:30:05Z"}`, position, position, version)
	}
	path := write(t, "day.ndjson", version(12, 6), version(5, 2), event(7, paid), version(6, 3), version(20, 9))
	r := do(t, pool, importer.Options{Files: []string{path}})
	want := []batch.Gap{{First: 8, Last: 11}, {First: 13, Last: 19}}
	if diff := cmp.Diff(want, r.FirstGaps); diff != "" || r.Gaps != 11 || r.Orders != 2 || r.VersionGaps != 4 || r.First != 5 || r.Last != 20 {
		t.Errorf("%s %+v", diff, r)
	}
	if r := do(t, pool, importer.Options{Files: []string{path}, DryRun: true}); r.Gaps != 11 || r.VersionGaps != 4 || r.Repeated != 5 {
		t.Errorf("dry run: %+v", r)
	}
}
