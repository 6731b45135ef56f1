package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
)

// doubted makes an effect uncertain.
func doubted(t testing.TB, l *ledger.Ledger, id string) ledger.Effect {
	t.Helper()
	e := effect(id, ledger.Keep)
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
	return e
}

func TestP6_NoDecisionWhileACallCouldBeAlive(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Keep)
	e.Policy.Quarantine = time.Minute
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
	u := uncertain(t, l, e.Key())
	d := ledger.Decision{Key: e.Key(), Verdict: ledger.Resend, Note: "n", Seen: u.Version}
	_, err := l.Decide(t.Context(), d)
	var quarantined *ledger.QuarantineError
	if !errors.Is(err, ledger.ErrQuarantined) || !errors.As(err, &quarantined) || quarantined.Left < 55*time.Second || quarantined.Left > time.Minute {
		t.Errorf("decided in quarantine: %v", err)
	}
	if u.QuarantineLeft < 55*time.Second || u.QuarantineLeft > time.Minute {
		t.Errorf("shown: %s", u.QuarantineLeft)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Uncertain {
		t.Errorf("row %+v", s)
	}
	d.Force = true
	if rec, err := l.Decide(t.Context(), d); err != nil || !rec.Forced {
		t.Errorf("forced: %+v %v", rec, err)
	}
	e = doubted(t, l, "ev-2")
	age(t, pool, 5*time.Minute+time.Second)
	u = uncertain(t, l, e.Key())
	d = ledger.Decision{Key: e.Key(), Verdict: ledger.Resend, Note: "n", Seen: u.Version, Force: true}
	if rec, err := l.Decide(t.Context(), d); err != nil || rec.Forced || u.QuarantineLeft != 0 {
		t.Errorf("after the quarantine: %+v %v", rec, err)
	}
}

// A quarantine longer than the sweep age counts from the attempt that was abandoned.
func TestP6_AnAbandonedAttemptIsQuarantined(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Keep)
	e.Policy.Quarantine = time.Hour
	reserve(t, l, e)
	age(t, pool, 10*time.Minute)
	sweep(t, l, e.Policy)
	if left := uncertain(t, l, e.Key()).QuarantineLeft; left < 45*time.Minute || left > 50*time.Minute {
		t.Errorf("%s left", left)
	}
}

// A consumer without tokens may have retaken a row of which another reports a failure.
func TestP6_ARowWithoutQuarantineWaitsForTheSweepAge(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	execSQL(t, pool, `insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id) values ('e:k', 'e', 'k', 'incerto', 'ao-vivo')`)
	u := uncertain(t, l, "e:k")
	if _, err := l.Decide(t.Context(), ledger.Decision{Key: "e:k", Verdict: ledger.Confirm, Note: "n", Seen: u.Version}); !errors.Is(err, ledger.ErrQuarantined) {
		t.Error(err)
	}
	age(t, pool, 6*time.Minute)
	u = uncertain(t, l, "e:k")
	if _, err := l.Decide(t.Context(), ledger.Decision{Key: "e:k", Verdict: ledger.Confirm, Note: "n", Seen: u.Version}); err != nil {
		t.Error(err)
	}
}

func TestP11_ADecisionAppliesToTheRowThatWasShown(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := doubted(t, l, "ev-1")
	first := uncertain(t, l, e.Key())
	decide(t, l, e.Key(), ledger.Resend)
	stale := ledger.Decision{Key: e.Key(), Verdict: ledger.Discard, Note: "n", Seen: first.Version, Force: true}
	check := func(when string) {
		t.Helper()
		before := read(t, pool, e.Key())
		_, err := l.Decide(t.Context(), stale)
		var s *ledger.StaleError
		if !errors.Is(err, ledger.ErrStale) || !errors.As(err, &s) || s.Decision == nil || s.Decision.Verdict != ledger.Resend || s.Decision.Reviewer == "" {
			t.Errorf("%s: %v", when, err)
		}
		if after := read(t, pool, e.Key()); after != before {
			t.Errorf("%s: changed to %+v", when, after)
		}
	}
	check("free to send again")
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
	check("uncertain again")
	do(t, l, effect("ev-2", ledger.Keep), newProvider(always(nil)).call, ledger.DidApply)
	for _, key := range []string{ledger.Key("ev-2", kind), "absent:" + kind} {
		if _, err := l.Decide(t.Context(), ledger.Decision{Key: key, Verdict: ledger.Confirm, Note: "n"}); !errors.Is(err, ledger.ErrNotUncertain) {
			t.Errorf("%s: %v", key, err)
		}
	}
	// Settled by a look-up, not by a person.
	e3 := effect("ev-3", ledger.LookUp)
	do(t, l, e3, newProvider(always(errTimeout)).call, ledger.DidDoubt)
	u := uncertain(t, l, e3.Key())
	if err := l.RecordLookUp(t.Context(), e3.Key(), u.Version, ledger.LookUpAnswer{Verdict: ledger.NotFound}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Decide(t.Context(), ledger.Decision{Key: e3.Key(), Verdict: ledger.Confirm, Note: "n", Seen: u.Version, Force: true}); !errors.Is(err, ledger.ErrStale) {
		t.Errorf("another reason than the one shown: %v", err)
	}
}

// A look-up settles the row while a decision about it is on its way.
func TestP11_ADecisionWaitsForWhoIsChangingTheRow(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := doubted(t, l, "ev-1")
	version := uncertain(t, l, e.Key()).Version
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), `update efeito_aplicado set estado = 'concluido', desfecho = 'aplicado', motivo = null, atualizado_em = clock_timestamp() where chave = $1`, e.Key()); err != nil {
		t.Fatal(err)
	}
	decided := make(chan error)
	go func() {
		_, err := l.Decide(t.Context(), ledger.Decision{Key: e.Key(), Verdict: ledger.Resend, Note: "n", Seen: version, Force: true})
		decided <- err
	}()
	waitUntil(t, func() bool { return count(t, pool, waitingSQL) == 1 })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-decided; !errors.Is(err, ledger.ErrNotUncertain) {
		t.Errorf("decided on what changed: %v", err)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Done || s.Result != "aplicado" {
		t.Errorf("row %+v", s)
	}
}

func TestOnlyWhatIsFreeIsReleased(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Release)
	released := func() bool {
		_, ok, err := l.Released(t.Context(), e.Key())
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if released() {
		t.Error("no row")
	}
	r := reserve(t, l, e)
	if released() {
		t.Error("somebody's")
	}
	if err := l.GiveBack(t.Context(), r, errNoRoute); err != nil || !released() {
		t.Errorf("given back, and not released: %v", err)
	}
	execSQL(t, pool, `update efeito_aplicado set estado = 'concluido' where chave = $1`, e.Key()) // by a consumer without tokens
	if released() {
		t.Error("done")
	}
}

func TestADecisionNeedsANoteAndAVerdict(t *testing.T) {
	t.Parallel()
	l, _ := open(t, ledger.Options{})
	e := doubted(t, l, "ev-1")
	u := uncertain(t, l, e.Key())
	if _, err := l.Decide(t.Context(), ledger.Decision{Key: e.Key(), Verdict: ledger.Confirm, Note: " \n", Seen: u.Version, Force: true}); !errors.Is(err, ledger.ErrNoNote) {
		t.Error(err)
	}
	if _, err := l.Decide(t.Context(), ledger.Decision{Key: e.Key(), Verdict: "talvez", Note: "n", Seen: u.Version, Force: true}); !errors.Is(err, ledger.ErrInvalid) {
		t.Error(err)
	}
}

func TestP1_EachVerdictDoesWhatItSays(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for verdict, result := range map[ledger.Verdict]string{ledger.Confirm: "confirmado", ledger.Discard: "descartado"} {
		e := doubted(t, l, string(verdict))
		rec := decide(t, l, e.Key(), verdict)
		if rec.Reason != "sem-resposta" || rec.Verdict != verdict || rec.ID == 0 {
			t.Errorf("record %+v", rec)
		}
		if s := read(t, pool, e.Key()); s.State != ledger.Done || s.Result != result || s.Reason != "" || s.LookUp {
			t.Errorf("row %+v", s)
		}
		do(t, l, e, newProvider(always(nil)).call, ledger.DidFind)
	}
	// Sent once more, and not twice, and nothing else than what was seen.
	e, p := doubted(t, l, "resend"), newProvider(always(errTimeout))
	decide(t, l, e.Key(), ledger.Resend)
	row, ok, err := l.Released(t.Context(), e.Key())
	if err != nil || !ok || !row.Resend || string(row.Content) != `{"valorCentavos": 150}` || row.EventID != "resend" || row.Kind != kind {
		t.Errorf("released %+v %v %v", row, ok, err)
	}
	other := e
	other.Content = json.RawMessage(`{"valorCentavos":1500}`)
	if out := do(t, l, other, p.call, ledger.DidWait); out.Standing != ledger.InFlight || !out.Differs {
		t.Errorf("outcome %+v", out)
	}
	if out := do(t, l, e, p.call, ledger.DidDoubt); out.Attempt != 2 {
		t.Errorf("outcome %+v", out)
	}
	if _, ok, err := l.Released(t.Context(), e.Key()); ok || err != nil {
		t.Errorf("still released: %v", err)
	}
	do(t, l, e, p.call, ledger.DidFind)
	if n := p.deliveries(e.Key()); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}

// A permission is for one send: not spent by an attempt that did not leave, spent by one that may have.
func TestP1_APermissionToResendIsSpentOnce(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for name, c := range map[string]struct {
		attempt func(t *testing.T, l *ledger.Ledger, pool *pgxpool.Pool, e ledger.Effect)
		left    bool
	}{
		"not sent": {func(t *testing.T, l *ledger.Ledger, _ *pgxpool.Pool, e ledger.Effect) {
			if err := l.GiveBack(t.Context(), reserve(t, l, e), errNoRoute); err != nil {
				t.Fatal(err)
			}
		}, true},
		"in doubt": {func(t *testing.T, l *ledger.Ledger, _ *pgxpool.Pool, e ledger.Effect) {
			do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
		}, false},
		"abandoned": {func(t *testing.T, l *ledger.Ledger, pool *pgxpool.Pool, e ledger.Effect) {
			reserve(t, l, e)
			age(t, pool, time.Hour)
		}, false},
		"abandoned and swept": {func(t *testing.T, l *ledger.Ledger, pool *pgxpool.Pool, e ledger.Effect) {
			reserve(t, l, e)
			age(t, pool, time.Hour)
			sweep(t, l, e.Policy)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := doubted(t, l, name)
			decide(t, l, e.Key(), ledger.Resend)
			c.attempt(t, l, pool, e)
			p := newProvider(always(nil))
			if _, err := l.Do(t.Context(), e, p.call); err != nil {
				t.Fatal(err)
			}
			if sent := p.deliveries(e.Key()) == 1; sent != c.left {
				t.Errorf("sent: %v", sent)
			}
		})
	}
	// With a provider that deduplicates, a retry by the ordinary rule after the permitted attempt was abandoned
	// does not bring the permission back.
	e := effect("ev-1", ledger.Release)
	e.Policy.MaxAttempts = 1
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
	decide(t, l, e.Key(), ledger.Resend)
	reserve(t, l, e)
	age(t, pool, time.Hour)
	e.Policy.MaxAttempts = 9
	if err := l.GiveBack(t.Context(), reserve(t, l, e), errNoRoute); err != nil {
		t.Fatal(err)
	}
	if s := read(t, pool, e.Key()); s.Resend {
		t.Errorf("row %+v", s)
	}
	// Nor does the retry that follows from a permitted attempt in doubt.
	e.EventID, e.Policy.MaxAttempts = "ev-2", 1
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidDoubt)
	decide(t, l, e.Key(), ledger.Resend)
	e.Policy.MaxAttempts = 9
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidWait)
	if s := read(t, pool, e.Key()); s.Resend || !s.Free {
		t.Errorf("row %+v", s)
	}
}

func TestP12_ReviewersAtOnceDecideOnceAndTheChainHolds(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	const reviewers, effects = 8, 25
	versions := make([]time.Time, effects)
	for i := range effects {
		e := doubted(t, l, fmt.Sprint(i))
		versions[i] = uncertain(t, l, e.Key()).Version
	}
	var decided, refused atomic.Int64
	var group sync.WaitGroup
	for r := range reviewers {
		verdict := []ledger.Verdict{ledger.Confirm, ledger.Resend, ledger.Discard}[r%3]
		group.Go(func() {
			for n := range versions { // some on the same effects, some on others at the same time
				i := (n + r*3) % effects
				_, err := l.Decide(t.Context(), ledger.Decision{Key: ledger.Key(fmt.Sprint(i), kind), Verdict: verdict, Note: "n", Seen: versions[i], Force: true})
				switch {
				case err == nil:
					decided.Add(1)
				case errors.Is(err, ledger.ErrStale) && strings.Contains(err.Error(), "decided"):
					refused.Add(1)
				default:
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if decided.Load() != effects || refused.Load() != effects*(reviewers-1) {
		t.Errorf("%d decided, %d refused", decided.Load(), refused.Load())
	}
	chain, err := l.VerifyChain(t.Context())
	if err != nil || !chain.OK() || chain.Decisions != effects {
		t.Errorf("chain: %s, %v", chain, err)
	}
	if n := count(t, pool, `select count(distinct hash_anterior) from efeito_revisao`); n != effects {
		t.Errorf("the chain forks: %d links", n)
	}
}

// A decision that is not committed yet is the end of the chain already: the next one waits for it.
func TestP12_ADecisionWaitsForTheOneBeforeIt(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	decision := func(id string) ledger.Decision {
		e := doubted(t, l, id)
		return ledger.Decision{Key: e.Key(), Verdict: ledger.Confirm, Note: "n", Seen: uncertain(t, l, e.Key()).Version, Force: true}
	}
	one, two := decision("ev-1"), decision("ev-2")
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := l.DecideTx(t.Context(), tx, one); err != nil {
		t.Fatal(err)
	}
	var decided atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		defer decided.Store(true)
		if _, err := l.Decide(t.Context(), two); err != nil {
			t.Error(err)
		}
	})
	waitUntil(t, func() bool { return decided.Load() || count(t, pool, waitingSQL) > 0 })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if chain, err := l.VerifyChain(t.Context()); err != nil || !chain.OK() || chain.Decisions != 2 {
		t.Errorf("chain: %s, %v", chain, err)
	}
}

func TestP12_TheFirstRecordThatWasTamperedWithIsNamed(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for i := range 5 {
		decide(t, l, doubted(t, l, fmt.Sprint(i)).Key(), ledger.Confirm)
	}
	execSQL(t, pool, `alter table efeito_revisao disable trigger all; alter table efeito_revisao alter column id set generated by default;
		create table original as table efeito_revisao`)
	for name, tamper := range map[string]string{
		"changed note":     `update efeito_revisao set nota = 'other' where id = $1`,
		"changed reviewer": `update efeito_revisao set revisor = 'other' where id = $1`,
		"changed verdict":  `update efeito_revisao set decisao = 'descartar' where id = $1`,
		"changed key":      `update efeito_revisao set chave = 'other' where id = $1`,
		"changed origin":   `update efeito_revisao set origem = 'other' where id = $1`,
		"changed force":    `update efeito_revisao set forcada = not forcada where id = $1`,
		"changed reason":   `update efeito_revisao set motivo_antes = null where id = $1`,
		"changed state":    `update efeito_revisao set estado_antes = 'other' where id = $1`,
		"changed version":  `update efeito_revisao set versao_vista = versao_vista + interval '1 second' where id = $1`,
		"changed time":     `update efeito_revisao set criado_em = criado_em + interval '1 second' where id = $1`,
		"changed link":     `update efeito_revisao set hash_anterior = 'x' where id = $1`,
		"changed hash":     `update efeito_revisao set hash = 'x' where id = $1`,
		"removed":          `delete from efeito_revisao where id = $1 - 1`,
		"moved":            `update efeito_revisao set id = id + 1000 where id = $1 - 1`,
		"put in": `insert into efeito_revisao (id, chave, decisao, revisor, nota, estado_antes, versao_vista, criado_em, hash_anterior, hash)
			select 1000, chave, decisao, revisor, nota, estado_antes, versao_vista, criado_em, hash, 'y' from efeito_revisao where id = $1`,
	} {
		t.Run(name, func(t *testing.T) {
			const victim = 3
			execSQL(t, pool, `delete from efeito_revisao; insert into efeito_revisao table original`)
			if chain, err := l.VerifyChain(t.Context()); err != nil || !chain.OK() {
				t.Fatalf("before: %s %v", chain, err)
			}
			execSQL(t, pool, tamper, victim)
			chain, err := l.VerifyChain(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := int64(victim)
			if name == "put in" {
				want = 1000
			}
			if chain.OK() || chain.BadID != want || !strings.Contains(chain.String(), fmt.Sprintf("decision %d", want)) {
				t.Errorf("chain: %s", chain)
			}
		})
	}
}

func TestP12_AnEmptyChainIsInOrder(t *testing.T) {
	t.Parallel()
	l, _ := open(t, ledger.Options{})
	if chain, err := l.VerifyChain(t.Context()); err != nil || !chain.OK() || chain.String() != "none recorded" {
		t.Errorf("%s %v", chain, err)
	}
}

func TestP12_DecisionsAreAttributable(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := doubted(t, l, "ev-1")
	var role string
	if err := pool.QueryRow(t.Context(), `select session_user::text`).Scan(&role); err != nil {
		t.Fatal(err)
	}
	rec, err := l.Decide(t.Context(), ledger.Decision{Key: e.Key(), Verdict: ledger.Resend, Note: "asked the\x00 seller ", Origin: "reprise 1.0 ana desk\x00", Seen: uncertain(t, l, e.Key()).Version, Force: true})
	if err != nil || rec.Reviewer != role || rec.Origin != "reprise 1.0 ana desk\uFFFD" || rec.Note != "asked the\uFFFD seller" {
		t.Errorf("%+v %v", rec, err)
	}
	list, err := l.Decisions(t.Context(), e.Key())
	if err != nil || len(list) != 1 || fmt.Sprint(list[0]) != fmt.Sprint(rec) {
		t.Errorf("%+v\n%+v %v", list, rec, err)
	}
}

func TestP12_ATransactionWithAnOldSnapshotCannotDecide(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := doubted(t, l, "ev-1")
	tx, err := pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := l.DecideTx(t.Context(), tx, ledger.Decision{Key: e.Key(), Verdict: ledger.Confirm, Note: "n", Seen: uncertain(t, l, e.Key()).Version, Force: true}); err == nil {
		t.Error("decided")
	}
}

// TestP12_AnEffectsHistoryIsItsOwn: decisions and occurrences of another effect are not shown with it.
func TestP12_AnEffectsHistoryIsItsOwn(t *testing.T) {
	t.Parallel()
	l, _ := open(t, ledger.Options{})
	for _, id := range []string{"ev-1", "ev-2"} {
		e := effect(id, ledger.Keep)
		if _, _, err := l.Doubt(t.Context(), reserve(t, l, e), errTimeout); err != nil {
			t.Fatal(err)
		}
		decide(t, l, e.Key(), ledger.Confirm)
	}
	key := effect("ev-1", ledger.Keep).Key()
	decisions, err := l.Decisions(t.Context(), key)
	if err != nil || len(decisions) != 1 || decisions[0].Key != key {
		t.Errorf("decisions %+v, %v", decisions, err)
	}
	occurrences, err := l.Occurrences(t.Context(), key)
	if err != nil || len(occurrences) != 1 || occurrences[0].Key != key {
		t.Errorf("occurrences %+v, %v", occurrences, err)
	}
}

// A chain of more than a page is followed from page to page to its end.
func TestP12_TheChainIsFollowedFromPageToPage(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	const decisions = 1001 // a page holds 1000
	execSQL(t, pool, `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id)
		select 'ev-' || i || ':' || $1, 'ev-' || i, $1, 'incerto', 'ao-vivo' from generate_series(1, $2::int) i`, kind, decisions)
	for i := range decisions {
		decide(t, l, ledger.Key(fmt.Sprintf("ev-%d", i+1), kind), ledger.Confirm)
	}
	if chain, err := l.VerifyChain(t.Context()); err != nil || !chain.OK() || chain.Decisions != decisions {
		t.Errorf("chain: %s, %v", chain, err)
	}
}
