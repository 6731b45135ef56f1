package ledger

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reprise.dev/reprise/schema/pgtest"
)

func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``:                          `null`,
		` { "b" : 1 , "a" : [ ] } `: `{"a":[],"b":1}`,
		`{"a":1,"a":2}`:             `{"a":2}`,
		`"<&>\u00e9\ud83d\ude00"`:   `"<&>é😀"`,
		`9007199254740993`:          `9007199254740993`,
		`1e2`:                       `100`,
		`1.50e1`:                    `15.0`,
		`1.5E-3`:                    `0.0015`,
		`12.5e-1`:                   `1.25`,
		`-0`:                        `0`,
		`-0.0`:                      `0.0`,
		`-1.0`:                      `-1.0`,
		`0.10`:                      `0.10`,
		`123.456e2`:                 `12345.6`,
		strings.Repeat("[", 500) + strings.Repeat("]", 500): strings.Repeat("[", 500) + strings.Repeat("]", 500),
	} {
		got, err := canonical(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%.60s: %.60s %v, want %.60s", in, got, err, want)
		}
	}
	for _, in := range []string{`{`, `1 1`, `nul`, `"\u0000"`, `{"\u0000":1}`, `1e1001`, `1e-1001`, `1e99999999999999999999`, "\"\xff\"",
		strings.Repeat("9", 70000), strings.Repeat("[", 600) + strings.Repeat("]", 600)} {
		if got, err := canonical(json.RawMessage(in)); err == nil {
			t.Errorf("%.60s: %.60s", in, got)
		}
	}
}

// What is taken for canonical as it stands would not be written otherwise.
func TestWhatLooksCanonicalIs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		`{"pedidoId":"P-1","valorCentavos":-500}`: true, `{"a":0,"b":"","c":123456789012345678}`: true, `{"":1}`: true, `{"a":"<&>~"}`: true,
		``: false, `{`: false, `{}`: false, `{"a"`: false, `{"a":`: false, `{"a":1`: false, `{"a":1,`: false, `{"a":1,}`: false, `{"a":1}x`: false, `{"a":1}}`: false, `{,"a":1}`: false,
		`{"b":1,"a":1}`: false, `{"a":1,"a":1}`: false, `{"":1,"":1}`: false, `{"a": 1}`: false, `{"a":-0}`: false, `{"a":01}`: false, `{"a":-01}`: false, `{"a":-}`: false,
		`{"a":1.0}`: false, `{"a":1e2}`: false, `{"a":1234567890123456789}`: false, `{"a":null}`: false, `{"a":{}}`: false, `{"a":"é"}`: false, "{\"a\":\"\t\"}": false, `{"a":"\n"}`: false,
	} {
		if flat([]byte(in)) != want {
			t.Errorf("%s: %v", in, !want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := []byte("{" + strings.Join(rapid.SliceOfN(rapid.StringMatching(`"[ab]?":("[a"\\ ]{0,2}"|-?[0-9.e]{1,3}|\{\})`), 1, 3).Draw(t, "members"), ",") + "}")
		if out, err := rewritten(in); flat(in) && (err != nil || !bytes.Equal(in, out)) {
			t.Errorf("%s is %s: %v", in, out, err)
		}
	})
}

// Content that was stored hashes like content that is about to be.
func TestCanonicalFormSurvivesTheDatabase(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,12})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?`)
	text := rapid.Custom(func(t *rapid.T) string {
		b, _ := json.Marshal(strings.ReplaceAll(rapid.String().Draw(t, "text"), "\x00", ""))
		return string(b)
	})
	var value *rapid.Generator[string]
	list := rapid.Custom(func(t *rapid.T) string {
		return "[" + strings.Join(rapid.SliceOfN(value, 0, 3).Draw(t, "items"), ",") + "]"
	})
	object := rapid.Custom(func(t *rapid.T) string {
		members := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return text.Draw(t, "key") + ":" + value.Draw(t, "value") }), 0, 4)
		return "{" + strings.Join(members.Draw(t, "members"), ",") + "}"
	})
	leaf := rapid.OneOf(number, text, rapid.SampledFrom([]string{"true", "false", "null"}))
	value = rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 5).Draw(t, "shape") {
		case 0:
			return list.Draw(t, "list")
		case 1:
			return object.Draw(t, "object")
		default:
			return leaf.Draw(t, "leaf")
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		in := value.Draw(rt, "content")
		before, err := canonical(json.RawMessage(in))
		if err != nil {
			rt.Fatalf("%s: %v", in, err)
		}
		var stored string
		if err := pool.QueryRow(t.Context(), `select ($1::text)::jsonb::text`, string(before)).Scan(&stored); err != nil {
			rt.Fatalf("%s: %v", before, err)
		}
		after, err := canonical(json.RawMessage(stored))
		if err != nil || !bytes.Equal(before, after) {
			rt.Fatalf("%s was stored as %s and is %s now: %v", before, stored, after, err)
		}
	})
}

// Whatever a provider answers, what is known is recorded.
func TestP1_EveryAnswerIsStorable(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	for _, answer := range []string{`{"a":1}`, `{"a":`, "\x00", `"\u0000"`, "\xff\xfe", `"\ud800"`, `1e400000`, `[1E400000]`, `1.0e400000`, strings.Repeat("[", 100_000), strings.Repeat("x", 1<<20)} {
		text := answerText(json.RawMessage(answer))
		if _, err := pool.Exec(t.Context(), `select $1::text::jsonb`, text); err != nil {
			t.Errorf("%.40q as %.80s: %v", answer, *text, err)
		}
	}
	if answerText(nil) != nil {
		t.Error("no answer is stored as one")
	}
	for _, s := range []string{"\x00", "\xff", strings.Repeat("é", 10_000)} {
		if _, err := pool.Exec(t.Context(), `select $1::text`, plainText(s)); err != nil {
			t.Errorf("%.40q: %v", s, err)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.50,"x"]}`, `1e5`, `-0.0e-3`, `"\u0000"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		once, err := canonical(in)
		if err != nil {
			return
		}
		if out, err := rewritten(in); flat(in) && (err != nil || !bytes.Equal(in, out)) {
			t.Errorf("%q is taken for canonical, and becomes %q: %v", in, out, err)
		}
		twice, err := canonical(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q becomes %q and then %q: %v", in, once, twice, err)
		}
	})
}
