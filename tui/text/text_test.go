package text

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"P-1042":                          "P-1042",
		"comissão 漢字":                     "comissão 漢字",
		"a\x1b[2Jb":                       `a\x1b[2Jb`,
		"\u009b2J":                        `\u009b2J`,
		"x\rconcluido":                    `x\rconcluido`,
		"tab\there":                       `tab\there`,
		"two\nlines":                      `two\nlines`,
		"\u202eabc":                       `\u202eabc`,
		"a\u200bb\u200d\ufeff":            `a\u200bb\u200d\ufeff`,
		"\xff\xfe":                        `\xff\xfe`,
		"\x00\x7f":                        `\x00\x7f`,
		`C:\x1b`:                          `C:\\x1b`,
		"e\u0301":                         "e\u0301",
		"\u0301":                          `\u0301`,
		"e" + strings.Repeat("\u0301", 4): "e\u0301\u0301\u0301" + `\u0301`,
		"\u00a0":                          `\u00a0`,
		"\U000e0041":                      `\U000e0041`,
		"\ue000":                          `\ue000`,
		"👍🏽":                              `👍\U0001f3fd`,
		"🇧🇷":                              `\U0001f1e7\U0001f1f7`,
		"�":                               "�",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := CleanLine("a\tb \\u001b"); got != `a    b \u001b` {
		t.Errorf("CleanLine keeps no escapes of its own: %q", got)
	}
}

// safe says what is wrong with clean text.
func safe(s string) string {
	if !utf8.ValidString(s) {
		return "is not UTF-8"
	}
	for _, r := range s {
		if r < ' ' || r >= 0x7f && r < 0xa0 || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs) || r != ' ' && unicode.Is(unicode.Zs, r) {
			return fmt.Sprintf("holds %U", r)
		}
	}
	return ""
}

func TestCleanIsSafeAndTellsInputsApart(t *testing.T) {
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		in := string(rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "runes") {
			in = rapid.String().Draw(t, "string")
		}
		out := Clean(in)
		if wrong := safe(out); wrong != "" {
			t.Fatalf("Clean(%q) = %q %s", in, out, wrong)
		}
		if other, ok := seen[out]; ok && other != in {
			t.Fatalf("%q and %q look the same: %q", in, other, out)
		}
		seen[out] = in
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1b]0;x\x07", "\u009b", "\xff", "e\u0301", `\`} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, w int) {
		w = w & 127
		for _, out := range []string{Clean(s), CleanLine(s)} {
			if wrong := safe(out); wrong != "" {
				t.Fatalf("%q %s", out, wrong)
			}
			if got := Width(Pad(out, w)); got != w {
				t.Fatalf("Pad(%q, %d) is %d wide", out, w, got)
			}
			if got := Width(PadLeft(out, w)); got != w {
				t.Fatalf("PadLeft(%q, %d) is %d wide", out, w, got)
			}
			for _, line := range WrapWords(out, w) {
				if Width(line) > max(w, 2) {
					t.Fatalf("WrapWords(%q, %d): %q", out, w, line)
				}
			}
		}
		lines, _ := JSON([]byte(s), 64)
		for _, line := range lines {
			if wrong := safe(line); wrong != "" {
				t.Fatalf("%q %s", line, wrong)
			}
		}
	})
}

func TestInspect(t *testing.T) {
	for in, want := range map[string]Suspicion{
		"P-1042":     {},
		"pedido-ção": {},
		"漢字":         {},
		`a\b`:        {},
		"раypal":     {Mixed: true},
		"αbc":        {Mixed: true},
		"ＰＡＹ":        {Mixed: true},
		"a\u200bb":   {Hidden: true},
		" P-1":       {Spaced: true},
		"P  1":       {Spaced: true},
		"P-1\n":      {Hidden: true, Spaced: true},
	} {
		if got := Inspect(in); got != want {
			t.Errorf("Inspect(%q) = %+v, want %+v", in, got, want)
		}
	}
}

func TestFormats(t *testing.T) {
	zone := time.FixedZone("-03", -3*3600)
	en, pt := NewPrinter(English, zone), NewPrinter(Portuguese, zone)
	at := time.Date(2026, 10, 14, 3, 5, 9, 0, time.UTC)
	before := int64(-200)
	for _, c := range []struct{ got, want string }{
		{en.Int(0), "0"}, {en.Int(999), "999"}, {en.Int(-1234567), "-1,234,567"}, {pt.Int(1234567), "1.234.567"},
		{en.Int(-1 << 63), "-9,223,372,036,854,775,808"},
		{en.Digits("12345678901234567890123"), "12,345,678,901,234,567,890,123"}, {en.Digits("x\x1b"), `x\x1b`},
		{en.Money(5), "R$ 0.05"}, {pt.Money(5), "R$ 0,05"}, {en.Money(-123456), "-R$ 1,234.56"}, {pt.Money(123456789), "R$ 1.234.567,89"},
		{en.BigMoney("123456789012345678901"), "R$ 1,234,567,890,123,456,789.01"}, {en.BigMoney(""), None}, {en.MoneyOr(nil), None},
		{en.SignedMoney(100), "+R$ 1.00"}, {en.Amount(-100), "-1.00"},
		{en.Percent(0, 0), None}, {en.Percent(5, 10), "50.0 %"}, {pt.Percent(1, 3), "33,3 %"}, {en.Percent(12, 10), "100 %"}, {en.Percent(-1, 10), "0.0 %"},
		{en.Percent(999_999_999, 1_000_000_000), "99.9 %"},
		{en.Change(nil, 5), None}, {en.Change(new(int64), 5), None}, {en.Change(&before, -100), "+50.0 %"},
		{en.Bytes(12), "12 B"}, {pt.Bytes(4096), "4,0 kB"}, {en.Bytes(20 << 20), "20.0 MB"},
		{en.Compact(9_999), "9,999"}, {en.Compact(12_345), "12.3k"}, {en.Compact(2_500_000), "2.5M"}, {pt.Compact(12_345), "12,3k"},
		{en.Time(at), "2026-10-14 00:05:09 -03"}, {pt.Time(at), "14/10/2026 00:05:09 -03"}, {en.UTC(at), "2026-10-14T03:05:09Z"},
		{en.Day(at), "2026-10-14 -03"}, {pt.Minute(at), "14/10/2026 00:05 -03"}, {en.TimeOr(nil), None},
		{en.Duration(7 * time.Second), "00:07"}, {en.Duration(3723 * time.Second), "1:02:03"}, {en.Duration(76 * time.Hour), "3 d 04:00:00"}, {en.Duration(-time.Hour), "00:00"},
		{en.Age(30 * time.Second), "<1 min"}, {en.Age(90 * time.Minute), "90 min"}, {en.Age(5 * time.Hour), "5 h"}, {en.Age(80 * time.Hour), "3 d"},
		{en.N(ReviewCount, 1), "1 waits"}, {en.N(ReviewCount, 1000), "1,000 wait"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":[],"c":{"d":"x,y:{"}}`: "{\n  \"a\": 1,\n  \"b\": [],\n  \"c\": {\n    \"d\": \"x,y:{\"\n  }\n}",
		`{ }`:                              "{}",
		`"text"`:                           `"text"`,
		`{"a":"q\"x"}`:                     "{\n  \"a\": \"q\\\"x\"\n}",
		"{\"a\":\"\x1b\"":                  "{\n  \"a\": \"\\x1b\"",
		"]]]":                              "]\n]\n]",
	} {
		lines, cut := JSON([]byte(in), 1000)
		if got := strings.Join(lines, "\n"); got != want || cut {
			t.Errorf("JSON(%q) =\n%s", in, got)
		}
	}
	deep := strings.Repeat(`{"a":`, 10_000)
	lines, cut := JSON([]byte(deep), Excerpt)
	if !cut || len(lines) == 0 || len(lines[len(lines)-1]) > 64 {
		t.Errorf("deep nesting: %d lines, cut %v", len(lines), cut)
	}
	if _, cut := JSON([]byte(strings.Repeat("é", Excerpt)), Excerpt-1); !cut {
		t.Error("not cut")
	}
}

func TestLanguages(t *testing.T) {
	for in, want := range map[string]Language{"pt": Portuguese, "pt_BR.UTF-8": Portuguese, "pt-PT": Portuguese, "en": English, "C": English, "": English, "ptx": English} {
		if got := ParseLanguage(in); got != want {
			t.Errorf("%q: %v", in, got)
		}
	}
	t.Setenv("LC_ALL", "")
	t.Setenv("LC_MESSAGES", "pt_BR.UTF-8")
	t.Setenv("LANG", "en_US.UTF-8")
	if FromEnvironment() != Portuguese {
		t.Error("LC_MESSAGES does not win over LANG")
	}
}

var verb = regexp.MustCompile(`%[-+# 0-9.]*[a-zA-Z%]`)

// Every message has both languages, and both take the same arguments.
func TestCatalogue(t *testing.T) {
	files := token.NewFileSet()
	messages := 0
	for _, name := range []string{"catalogue.go", "catalogue_replays.go", "catalogue_review.go", "catalogue_keys.go", "catalogue_remarks.go"} {
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) == 0 {
				return true
			}
			var texts []string
			for _, e := range lit.Elts {
				if b, ok := e.(*ast.BasicLit); ok {
					s, err := strconv.Unquote(b.Value)
					if err != nil {
						t.Fatal(err)
					}
					texts = append(texts, s)
				}
			}
			if len(texts) == 0 {
				return true
			}
			messages++
			at := files.Position(lit.Pos())
			if len(texts) != 2 || texts[0] == "" || texts[1] == "" {
				t.Errorf("%v: not in both languages: %q", at, texts)
				return true
			}
			if a, b := fmt.Sprint(verb.FindAllString(texts[0], -1)), fmt.Sprint(verb.FindAllString(texts[1], -1)); a != b {
				t.Errorf("%v: %s takes %s, %s takes %s", at, texts[0], a, texts[1], b)
			}
			return true
		})
	}
	if messages < 200 {
		t.Fatalf("found only %d messages", messages)
	}
}

func TestEnds(t *testing.T) {
	for in, want := range map[string]string{
		"aplicar-2026-07-14-0314a":       "aplicar-2…7-14-0314a",
		"aplicar-1":                      "aplicar-1",
		strings.Repeat("x", 5000) + "-7": "xxxxxxxxx…xxxxxxxx-7",
	} {
		if got := Ends(in, 20); got != want || Width(got) > 20 {
			t.Errorf("%.40s: %q, want %q", in, got, want)
		}
	}
	for w := range 12 {
		for _, s := range []string{"aplicar-2026", "界界界界界界界", "a\x1b[2Jb", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"} {
			if got := Ends(s, w); Width(got) > w || strings.ContainsRune(got, 0x1b) {
				t.Errorf("%q in %d columns: %q", s, w, got)
			}
		}
	}
}
