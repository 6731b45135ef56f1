package ledger_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

// Whatever is refused leaves who tried what on which row, when and why not, and the chain of decisions as it was.
func TestP12_WhatIsRefusedIsOnRecord(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, l *ledger.Ledger) ledger.Decision
		refusal error
		why     string
	}{
		"another decided first": {func(t *testing.T, l *ledger.Ledger) ledger.Decision {
			e := doubted(t, l, "ev-1")
			seen := uncertain(t, l, e.Key()).Version
			decide(t, l, e.Key(), ledger.Confirm)
			return ledger.Decision{Key: e.Key(), Seen: seen, Force: true}
		}, ledger.ErrStale, `decided "confirmar"`},
		"the row changed": {func(t *testing.T, l *ledger.Ledger) ledger.Decision {
			e := effect("ev-1", ledger.LookUp)
			do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
			seen := uncertain(t, l, e.Key()).Version
			if err := l.RecordLookUp(t.Context(), e.Key(), seen, ledger.LookUpAnswer{Verdict: ledger.NotFound}); err != nil {
				t.Fatal(err)
			}
			return ledger.Decision{Key: e.Key(), Seen: seen, Force: true}
		}, ledger.ErrStale, "it is incerto now"},
		"the quarantine is not over": {func(t *testing.T, l *ledger.Ledger) ledger.Decision {
			e := effect("ev-1", ledger.Keep)
			e.Policy.Quarantine = time.Hour
			do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
			return ledger.Decision{Key: e.Key(), Seen: uncertain(t, l, e.Key()).Version}
		}, ledger.ErrQuarantined, "still be alive for"},
		"it is done": {func(t *testing.T, l *ledger.Ledger) ledger.Decision {
			e := effect("ev-1", ledger.Keep)
			do(t, l, e, newProvider(always(nil)).call, ledger.DidApply)
			return ledger.Decision{Key: e.Key(), Seen: time.Now()}
		}, ledger.ErrNotUncertain, "it is concluido"},
		"there is no row": {func(*testing.T, *ledger.Ledger) ledger.Decision {
			return ledger.Decision{Key: "absent:" + kind}
		}, ledger.ErrNotUncertain, "not uncertain"},
		"no note": {func(t *testing.T, l *ledger.Ledger) ledger.Decision {
			e := doubted(t, l, "ev-1")
			return ledger.Decision{Key: e.Key(), Seen: uncertain(t, l, e.Key()).Version, Force: true, Note: " "}
		}, ledger.ErrNoNote, "needs a note"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, pool := open(t, ledger.Options{})
			d := c.prepare(t, l)
			d.Verdict, d.Origin = ledger.Resend, "reprise 1.0 ana desk\x00"
			if d.Note == "" {
				d.Note = "seller says \"no\"\x00"
			}
			before, decisions := logged(t, l, d.Key), count(t, pool, `select count(*) from efeito_revisao`)
			if _, err := l.Decide(t.Context(), d); !errors.Is(err, c.refusal) {
				t.Fatalf("refused with %v, want %v", err, c.refusal)
			}
			list, err := l.Occurrences(t.Context(), d.Key)
			if err != nil || len(list) != len(before)+1 {
				t.Fatalf("on record: %+v %v", list, err)
			}
			var role string
			if err := pool.QueryRow(t.Context(), `select session_user::text`).Scan(&role); err != nil {
				t.Fatal(err)
			}
			o := list[len(list)-1]
			if o.Kind != ledger.LogRefusedDecision || !strings.HasPrefix(o.Text, role+": ") || !strings.Contains(o.Text, c.why) || time.Since(o.At) > time.Minute {
				t.Errorf("on record: %+v", o)
			}
			var tried struct {
				Reviewer string    `json:"revisor"`
				Verdict  string    `json:"decisao"`
				Note     string    `json:"nota"`
				Origin   string    `json:"origem"`
				Seen     time.Time `json:"versao_vista"`
				Force    bool      `json:"forcada"`
			}
			if err := json.Unmarshal(o.Answer, &tried); err != nil {
				t.Fatal(err)
			}
			if tried.Reviewer != role || tried.Verdict != "reenviar" || tried.Note != strings.ReplaceAll(d.Note, "\x00", "\uFFFD") ||
				tried.Origin != "reprise 1.0 ana desk\uFFFD" || !tried.Seen.Equal(d.Seen) || tried.Force != d.Force {
				t.Errorf("on record: %s", o.Answer)
			}
			chain, err := l.VerifyChain(t.Context())
			if err != nil || !chain.OK() || int(chain.Decisions) != decisions {
				t.Errorf("chain: %s, %v", chain, err)
			}
		})
	}
}

// A refusal that cannot be recorded is a refusal all the same, and says so.
func TestP12_ARefusalThatCannotBeRecordedSaysSo(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	execSQL(t, pool, `alter table efeito_ocorrencia rename to elsewhere`)
	_, err := l.Decide(t.Context(), ledger.Decision{Key: "absent:" + kind, Verdict: ledger.Confirm, Note: "n"})
	if !errors.Is(err, ledger.ErrNotUncertain) || !strings.Contains(err.Error(), "could not be recorded") {
		t.Error(err)
	}
}

// A failure of the database is no refusal.
func TestP12_OnlyRefusalsAreRecordedAsSuch(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := doubted(t, l, "ev-1")
	seen := uncertain(t, l, e.Key()).Version
	execSQL(t, pool, `alter table efeito_revisao rename to elsewhere`)
	if _, err := l.Decide(t.Context(), ledger.Decision{Key: e.Key(), Verdict: ledger.Confirm, Note: "n", Seen: seen, Force: true}); err == nil {
		t.Error("decided")
	}
	if got := strings.Join(logged(t, l, e.Key()), " "); got != "falha-ambigua" {
		t.Errorf("on record: %s", got)
	}
}
