package text

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/commission"
	"reprise.dev/reprise/ledger"
)

// written are the formats of what the engine says: the constants of every file remark.go.
func written(t *testing.T) map[string]string {
	t.Helper()
	formats := map[string]string{} // and the name of the constant
	err := filepath.WalkDir("../../batch", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "remark.go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			constants, ok := d.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, spec := range constants.Specs {
				c := spec.(*ast.ValueSpec)
				for i, v := range c.Values {
					s, err := strconv.Unquote(v.(*ast.BasicLit).Value)
					if err != nil {
						return err
					}
					formats[s] = c.Names[i].Name
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return formats
}

// fromErrors are remarks that errors of package ledger make, which become part of an effect's history, and errors that
// refusals of package batch end with.
var fromErrors = map[string]error{
	"not sent: %v":                                    ledger.NotSent(errors.New("dial")),
	"reservation too old for a call":                  ledger.ErrTooOld,
	"changed since it was shown: it is %v now":        &ledger.StaleError{State: ledger.Done},
	"changed since it was shown: %s decided %q at %s": &ledger.StaleError{Decision: &ledger.DecisionRecord{Reviewer: "ana", Verdict: ledger.Discard}},
	"a call could still be alive for %s":              &ledger.QuarantineError{Left: time.Minute},
	"not uncertain: it is %v":                         fmt.Errorf("%w: it is %v", ledger.ErrNotUncertain, ledger.Done),
	"not uncertain":                                   ledger.ErrNotUncertain,
	"a decision needs a note":                         ledger.ErrNoNote,
	"no such replay":                                  batch.ErrNotFound,
	"a replay of that id exists":                      batch.ErrExists,
	"held by another":                                 batch.ErrHeld,
	"not allowed in this state":                       batch.ErrState,
	"not allowed":                                     batch.ErrNotAllowed,
	"invalid request":                                 batch.ErrUsage,
}

// TestEveryRemarkHasBothLanguages: what the engine can say is in the catalogue, and nothing else is.
func TestEveryRemarkHasBothLanguages(t *testing.T) {
	said := written(t)
	if len(said) < 50 {
		t.Fatalf("found only %d formats", len(said))
	}
	pt := NewPrinter(Portuguese, nil)
	for format, err := range fromErrors {
		said[format] = "an error"
		if got := pt.Remark(err.Error()); got == err.Error() {
			t.Errorf("%s stays %q", format, got)
		}
	}
	catalogue := map[string]bool{}
	for _, r := range remarks {
		if r.Stored != "" {
			catalogue[r.Stored] = true
			continue
		}
		catalogue[r.Said[0]] = true
		if r.One != (M{}) {
			catalogue[r.One[0]] = true
		}
	}
	for format, name := range said {
		if !catalogue[format] {
			t.Errorf("%s is not in the catalogue: %q", name, format)
		}
	}
	for format := range catalogue {
		if said[format] == "" {
			t.Errorf("nothing says %q", format)
		}
	}
}

// fill puts arguments into a format, numbers and texts, each as often as there is a place for it.
func fill(format string, number any, texts ...string) string {
	return aVerb.ReplaceAllStringFunc(format, func(verb string) string {
		switch verb {
		case "%d", "%g":
			return fmt.Sprint(number)
		case "%q":
			verb = "\"%s\""
		default:
			verb = "%s"
		}
		text := texts[0]
		texts = texts[1:]
		return fmt.Sprintf(verb, text)
	})
}

// TestRemarksAreRecognised: each format, with numbers and texts in it, is said in both languages.
func TestRemarksAreRecognised(t *testing.T) {
	for _, r := range remarks {
		for n, in := range map[int64][2]string{1: {"1", "1"}, 2: {"2", "2"}, 48_213: {"48,213", "48.213"}} {
			many, stored := r.Said, r.Stored
			if n == 1 && r.One != (M{}) {
				many = r.One
			}
			if stored == "" {
				stored = many[0]
			}
			if verbs := fmt.Sprint(aVerb.FindAllString(stored, -1)); verbs != fmt.Sprint(aVerb.FindAllString(many[1], -1)) && r.Stored == "" {
				t.Errorf("%q takes %s, and in Portuguese not", stored, verbs)
			}
			texts := []string{"aviso-1", "P 2", "x.y"}
			for _, language := range []Language{English, Portuguese} {
				got := NewPrinter(language, nil).Remark(fill(stored, n, texts...))
				if want := fill(many[language], in[language], texts...); got != want {
					t.Errorf("%q\n got %q\nwant %q", fill(stored, n, texts...), got, want)
				}
			}
		}
	}
}

func TestRemark(t *testing.T) {
	en, pt := NewPrinter(English, nil), NewPrinter(Portuguese, nil)
	swept := batch.SweepReport{Uncertain: map[string]int64{"abandonada": 1}, Retried: 1200, LookedUp: 2}.String()
	for _, c := range []struct{ stored, en, pt string }{
		// A remark within a remark.
		{"provider avisos: the rate of 0.5 calls a second is used up", "provider avisos: the rate of 0.5 calls a second is used up", "provedor avisos: o ritmo de 0,5 chamadas por segundo está esgotado"},
		{"provider avisos: it failed 10 times in a row", "provider avisos: it failed 10 times in a row", "provedor avisos: falhou 10 vezes seguidas"},
		{"not sent: the provider answered 503", "not sent: the provider answered 503", "não enviado: o provedor respondeu 503"},
		// A list, late.
		{swept, "1 moved to review, 1,200 brought to an end, 2 looked up", "1 levado à revisão, 1.200 concluídos, 2 consultados"},
		{"nothing to settle", "nothing to settle", "nada a resolver"},
		{"queued simular-2026-10-14 (3m20s late)", "queued simular-2026-10-14 (3m20s late)", "pôs na fila simular-2026-10-14 (3m20s de atraso)"},
		{" (3m20s late)", " (3m20s late)", " (3m20s de atraso)"},
		// The number one, as it was once stored too.
		{"1 events could not be processed (replay show lists them)", "1 event could not be processed (replay show lists it)", "1 evento não pôde ser processado (replay show o lista)"},
		{"the scope holds 1 event, the simulation saw 2", "the scope holds 1 event, the simulation saw 2", "o escopo tem 1 evento, a simulação viu 2"},
		{"the scope holds 2 events, the simulation saw 1", "the scope holds 2 events, the simulation saw 1", "o escopo tem 2 eventos, a simulação viu 1"},
		// What it is about comes first.
		{"ana: a call could still be alive for 3m0s", "ana: a call could still be alive for 3m0s", "ana: uma chamada ainda pode estar viva por 3m0s"},
		// A refusal, with the state in the reader's words; an id that looks like one is none.
		{"pause parcial: it is executando: not allowed in this state", "pause parcial: it is running: not allowed in this state", "pausar parcial: está executando: não é permitido neste estado"},
		{"approve p-1: it is a replay in mode aplicar, concluido; only a finished simulation can be approved: not allowed in this state", "approve p-1: it is a replay in mode apply, done; only a finished simulation can be approved: not allowed in this state", "aprovar p-1: é um replay no modo aplicar, concluído; só se aprova uma simulação terminada: não é permitido neste estado"},
		{"queue p-1: a replay of that id exists with another scope, mode or limit; it is pausado. Choose another id", "queue p-1: a replay of that id exists with another scope, mode or limit; it is paused. Choose another id", "pôr p-1 na fila: já existe um replay com esse id com outro escopo, modo ou limite; está pausado. Escolha outro id"},
		{"run varredura now: it is worked by host-1 since 10:00:00 UTC: held by another", "run varredura now: it is worked by host-1 since 10:00:00 UTC: held by another", "rodar varredura agora: está sendo feito por host-1 desde 10:00:00 UTC: em mãos de outro"},
		{"invalid request: id \"vivo\" names the live consumer; choose another", "invalid request: id \"vivo\" names the live consumer; choose another", "pedido inválido: o id \"vivo\" nomeia o consumidor ao vivo; escolha outro"},
		{"ev-1:x: not uncertain: it is concluido", "ev-1:x: not uncertain: it is done", "ev-1:x: não está incerto: está concluído"},
		{"it was approved before, as parcial (executando)", "it was approved before, as parcial (running)", "já foi aprovada antes, como parcial (executando)"},
		// Of others.
		{"tried again after an error: read archive after 1200: timeout", "tried again after an error: read archive after 1200: timeout", "nova tentativa depois de um erro: read archive after 1200: timeout"},
		{"sem-resposta: context deadline exceeded", "sem-resposta: context deadline exceeded", "sem-resposta: context deadline exceeded"},
		{"12 monkeys, 3 looked up", "12 monkeys, 3 looked up", "12 monkeys, 3 looked up"},
		{"100% of it", "100% of it", "100% of it"},
		{"", "", ""},
		// A line break, and what looks like a place for an argument, are kept.
		{"handler comissao panicked: a\nb %d %s", "handler comissao panicked: a\nb %d %s", "o manipulador comissao entrou em pânico: a\nb %d %s"},
	} {
		if got := en.Remark(c.stored); got != c.en {
			t.Errorf("English of %q is %q, want %q", c.stored, got, c.en)
		}
		if got := pt.Remark(c.stored); got != c.pt {
			t.Errorf("Portuguese of %q is %q, want %q", c.stored, got, c.pt)
		}
	}
}

// TestEveryStateIsSaidInWords: no sentence names one as it is stored, in a language that says it otherwise.
func TestEveryStateIsSaidInWords(t *testing.T) {
	for _, s := range []string{
		string(batch.Queued), string(batch.Running), string(batch.Paused), string(batch.Done), string(batch.Partial), string(batch.Failed),
		string(batch.Cancelled), string(batch.Simulate), string(batch.Apply), string(ledger.Reserved), string(ledger.Done), string(ledger.Uncertain),
	} {
		if words := states[s]; words[English] == "" || words[Portuguese] == "" {
			t.Errorf("%s is not said in words", s)
		}
	}
}

// TestRemarksOfTheCommission: the handler's own words, which are those of the live consumer, are said with their accents.
func TestRemarksOfTheCommission(t *testing.T) {
	en, pt := NewPrinter(English, nil), NewPrinter(Portuguese, nil)
	h := commission.New(commission.Options{Arithmetic: commission.Exact})
	for payload, want := range map[string][2]string{
		`{`:                                      {"it is not JSON", "não é JSON"},
		`[]`:                                     {"it is not an object", "não é um objeto"},
		`{"valorCentavos":1}`:                    {"percentual is missing", "percentual ausente"},
		`{"valorCentavos":"1","percentual":5}`:   {`valorCentavos = "1" is not a number`, `valorCentavos = "1" não é um número`},
		`{"valorCentavos":1.5,"percentual":5}`:   {"valorCentavos = 1.5 is not a whole number", "valorCentavos = 1.5 não é inteiro"},
		`{"valorCentavos":1,"percentual":1e400}`: {"percentual = 1e400 is too large", "percentual = 1e400 é grande demais"},
		`{"valorCentavos":1e18,"percentual":1e9}`: {
			"the commission of valorCentavos = 1e18 and percentual = 1e9 does not fit in 64 bits",
			"a comissão de valorCentavos = 1e18 e percentual = 1e9 não cabe em 64 bits",
		},
	} {
		_, err := h.Project(batch.Event{Type: commission.OrderPaid, Payload: []byte(payload)})
		if err == nil {
			t.Errorf("%s has a commission", payload)
			continue
		}
		if got := en.Remark(err.Error()); got != "payload of pedido.pago is invalid: "+want[0] {
			t.Errorf("English: %q", got)
		}
		if got := pt.Remark(err.Error()); got != "payload de pedido.pago inválido: "+want[1] {
			t.Errorf("Portuguese: %q", got)
		}
	}
}

// TestARemarkCostsLittleHoweverLongOthersTextIs: it is said in every frame, and anybody may have written it.
func TestARemarkCostsLittleHoweverLongOthersTextIs(t *testing.T) {
	pt := NewPrinter(Portuguese, nil)
	for _, piece := range []string{": ", ", ", "a: ", "provider a: ", "tried again after an error: ", "not sent: "} {
		cost := func(pieces int) float64 {
			s := strings.Repeat(piece, pieces) + "x"
			return testing.AllocsPerRun(10, func() { pt.Remark(s) })
		}
		if few, many := cost(20), cost(600); many > 2*few+10 {
			t.Errorf("%q: %v allocations for 600, %v for 20", piece, many, few)
		}
	}
}
