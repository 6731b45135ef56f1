package importer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var fuzzLines = []string{
	`{"posicao":1,"id":"ev-1","tipo":"t","pedido_id":"P","versao":1,"payload":{"a":[1.5e2,-0,true,null,"\ud83d\ude00é"]},"ocorrido_em":"2026-10-14T12:30:05.123456789-03:00"}`,
	`{"posicao":1,"id":"\u0000","tipo":"\ud800","pedido_id":"P","versao":1e400,"payload":{"a":1,"a":2},"ocorrido_em":"infinity"}`,
	`[[[[{"":{}}]]]]`, `1e-400`, `"\u12"`, `{"a":01}`, "\"\xff\"", `tru`, `{"a":1,}`, `-`, `1.`, `1e`, "{\"a\":\"\t\"}", `"\x"`, `{"a" 1}`, `[1 2]`, ` `, `0e-99999`,
}

// FuzzScan: what the scanner accepts is JSON in encoding/json's eyes, and what it calls no JSON is none.
func FuzzScan(f *testing.F) {
	for _, l := range fuzzLines {
		f.Add([]byte(l))
	}
	var s scanner
	f.Fuzz(func(t *testing.T, text []byte) {
		fault := s.scan(text)
		switch {
		case fault == nil:
			if !json.Valid(text) || !utf8.Valid(text) {
				t.Errorf("%q is accepted", text)
			}
			var value any
			if err := json.Unmarshal(text, &value); err != nil {
				t.Errorf("%q is accepted, but: %v", text, err)
			}
			if bytes.Contains(text, []byte(`\u0000`)) && !bytes.Contains(text, []byte(`\\u0000`)) {
				t.Errorf("%q is accepted", text)
			}
		case fault.column < 1 || fault.column > len(text)+1 || fault.reason == "" || !utf8.ValidString(fault.reason):
			t.Errorf("%q: fault %+v", text, fault)
		case fault.code == CodeBadJSON && json.Valid(text):
			t.Errorf("%q is refused: %s", text, fault.reason)
		}
	})
}

// FuzzNative: an accepted line says to encoding/json what it said to the decoder.
func FuzzNative(f *testing.F) {
	for _, l := range fuzzLines {
		f.Add([]byte(l))
	}
	d := decoder{format: ndjsonFormat}
	f.Fuzz(func(t *testing.T, text []byte) {
		d.decode(line{text: text, number: 1}, func(r row, fault *fault) {
			if fault != nil {
				return
			}
			var e struct {
				Posicao    int64           `json:"posicao"`
				ID         string          `json:"id"`
				Tipo       string          `json:"tipo"`
				PedidoID   string          `json:"pedido_id"`
				Versao     int64           `json:"versao"`
				Payload    json.RawMessage `json:"payload"`
				OcorridoEm string          `json:"ocorrido_em"`
			}
			if err := json.Unmarshal(text, &e); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if e.Posicao != r.position || e.Versao != r.version || e.ID != string(r.id) || e.Tipo != string(r.kind) || e.PedidoID != string(r.order) ||
				!bytes.Equal(e.Payload, r.payload) || r.position < 1 || r.version < 1 || r.at.micros < firstMicro || r.at.micros >= endMicro {
				t.Errorf("%q became %+v", text, r)
			}
		})
	})
}

// FuzzInstant: what is accepted in RFC 3339 is the instant that package time sees.
func FuzzInstant(f *testing.F) {
	for _, text := range []string{"2026-10-14T12:30:05Z", "2026-02-29 00:00:00+00", "2024-02-29T23:59:59.999999999-15:59", "infinity", "2026-10-14T12:30:05"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, fault := parseInstant([]byte(text), nil)
		want, err := time.Parse(time.RFC3339Nano, text)
		switch {
		case err == nil && fault == nil && want.UnixMicro() != at.micros:
			t.Errorf("%q is %s, not %s", text, want, time.UnixMicro(at.micros).UTC())
		case err == nil && fault != nil && want.Year() > firstYear && want.Year() < lastYear && !strings.ContainsAny(text, ",") && !strangeOffset(want):
			t.Errorf("%q is refused: %s", text, fault.reason)
		}
	})
}

// strangeOffset: package time takes offsets up to 24 hours.
func strangeOffset(t time.Time) bool {
	_, seconds := t.Zone()
	return seconds >= 16*3600 || seconds <= -16*3600
}

// FuzzCSV: records split as encoding/csv splits them, up to the first that either refuses.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{"a,b\n1,\"2\"\"\n3\"\n", "\"", "a\"b", "\"a\"b,\n", ",\n\n,", "\"a\nb\nc", "x,\"y\"\nz"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsRune(text, '\r') {
			return // which encoding/csv changes
		}
		s := &source{name: "fuzz", lines: bufio.NewReader(strings.NewReader(text)), next: line{number: 1}}
		c := &csvReader{source: s, decoder: &decoder{}}
		standard := csv.NewReader(strings.NewReader(text))
		standard.FieldsPerRecord = -1
		for {
			fields, _, fault, err := c.record()
			want, wantErr := standard.Read()
			if fault != nil || err != nil || wantErr != nil {
				if (fault == nil) != (wantErr == nil || errors.Is(wantErr, io.EOF)) {
					t.Errorf("%q: %v, encoding/csv says %v", text, fault, wantErr)
				}
				return
			}
			got := make([]string, len(fields))
			for i, field := range fields {
				got[i] = string(field)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q: %q, encoding/csv says %q", text, got, want)
			}
		}
	})
}

// FuzzFormats: whatever a format of another system accepts can be stored.
func FuzzFormats(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.ndjson")
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for l := range bytes.Lines(text) {
			f.Add(bytes.TrimSpace(l))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range formats[2:] {
			d := decoder{format: format, shared: &shared{memory: map[string]string{}, notes: map[string]int64{}}}
			d.decode(line{text: text, number: 1}, func(r row, fault *fault) {
				if fault != nil {
					if fault.reason == "" || !utf8.ValidString(fault.reason) {
						t.Errorf("%s: %q: %+v", format.name, text, fault)
					}
					return
				}
				var s scanner
				if f := s.scan(r.payload); f != nil || len(r.id) == 0 || len(r.kind) == 0 || len(r.order) == 0 || r.at.micros < firstMicro || r.at.micros >= endMicro ||
					bytes.IndexByte(slices.Concat(r.id, r.kind, r.order), 0) >= 0 || !utf8.Valid(slices.Concat(r.id, r.kind, r.order)) ||
					format.rule == "" && (r.position < 1 || r.version < 1) || r.version < 0 {
					t.Errorf("%s: %q is accepted as %+v (%v)", format.name, text, r, f)
				}
			})
		}
	})
}
