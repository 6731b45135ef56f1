package provider

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"reprise.dev/reprise/schema/pgtest"
)

func TestStorable(t *testing.T) {
	for raw, want := range map[string]string{
		``:                      ``,
		`{"a": 1}`:              `{"a": 1}`,
		`null`:                  `null`,
		`accepted`:              `"accepted"`,
		`{"a":`:                 `"{\"a\":"`,
		"a\x00b":                `"a` + "\uFFFD" + `b"`,
		"\xff":                  `"` + "\uFFFD" + `"`,
		"{\"a\":\"\xff\"}":      "{\"a\":\"\uFFFD\"}",
		`{"\u0000":"a\u0000b"}`: `{"\ufffd":"a\ufffdb"}`,
		`"\\u0000"`:             `"\\u0000"`,
		`"\\\u0000"`:            `"\\\ufffd"`,
		`"\ud83d\ude00"`:        `"\ud83d\ude00"`,
		`"\uD83D\uDE00\u00e9"`:  `"\uD83D\uDE00\u00e9"`,
		`"\ud83d"`:              `"\ufffd"`,
		`"\ud83dx"`:             `"\ufffdx"`,
		`"\ude00"`:              `"\ufffd"`,
		`"\ud83d\u0000"`:        `"\ufffd\ufffd"`,
		`"\ud83d\ud83d\ude00"`:  `"\ufffd\ud83d\ude00"`,
		`"\ud83d\\de00"`:        `"\ufffd\\de00"`,
		`"\u000041"`:            `"\ufffd41"`,
		`{"a":1}{"b":2}`:        `"{\"a\":1}{\"b\":2}"`,
	} {
		if got := string(storable([]byte(raw))); got != want {
			t.Errorf("%q: %s, want %s", raw, got, want)
		}
	}
}

// FuzzStorable holds the result against PostgreSQL itself, except for what the ledger bounds: depth and numbers.
func FuzzStorable(f *testing.F) {
	for _, raw := range []string{`{"a":"\u0000\ud83d\ude00\ud83d"}`, "x\x00\xff", `"\\\u0000\ude00"`, `[1,"\uDBFF\uDFFF"]`, `"\ud83d\ud83d\u"`} {
		f.Add([]byte(raw))
	}
	pool := pgtest.New(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := storable(raw)
		if len(raw) == 0 {
			if got != nil {
				t.Errorf("%s of nothing", got)
			}
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q: not JSON: %s", raw, got)
		}
		if strings.ContainsAny(string(raw), "[{0123456789") {
			return
		}
		if _, err := pool.Exec(t.Context(), `select $1::jsonb`, string(got)); err != nil {
			t.Errorf("%q: %s: %v", raw, got, err)
		}
	})
}

func TestSecretIsNeverPrinted(t *testing.T) {
	c := Config{Secret: "hunter2"}
	text, err := json.Marshal(struct{ Secret Secret }{c.Secret})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", c.Secret)
	for _, s := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", c.Secret, c, c, c.Secret, c.Secret, c.Secret), string(text), log.String()} {
		if strings.Contains(s, "hunter2") || strings.Contains(s, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("printed: %s", s)
		}
	}
}
