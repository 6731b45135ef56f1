package ledger_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

// TestP1_P2_P3_P4_P5_P6_WhateverHappens: random histories of one effect, on a real database and at a provider that counts:
// attempts in every order, each with any answer or none, processes that vanish at every step and report late, replies of
// the database that get lost, sweeps, look-ups, decisions, other configurations, time. Every promise holds after each step.
func TestP1_P2_P3_P4_P5_P6_WhateverHappens(t *testing.T) {
	t.Parallel()
	url := pgtest.NewURL(t)
	pool, err := schema.Open(t.Context(), url, schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	faulty := &replies{}
	l := with(t, faulty.pool(t, pool), ledger.Options{})
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{t: t, l: l, replies: faulty, pool: pool, id: rand.Text()}
		h.onFailure = rapid.SampledFrom([]ledger.OnFailure{ledger.Release, ledger.Keep, ledger.LookUp}).Draw(rt, "policy")
		h.windowed = h.onFailure == ledger.Release && rapid.Bool().Draw(rt, "windowed")
		rt.Repeat(map[string]func(*rapid.T){
			"attempt":       h.attempt,
			"reserve":       h.reserve,
			"reserve too":   h.reserve,
			"call":          h.call,
			"call too":      h.call,
			"record":        h.record,
			"crash":         h.crash,
			"sweep":         h.sweep,
			"look":          h.look,
			"look up":       h.lookUp,
			"decide":        h.decide,
			"time passes":   h.timePasses,
			"more time":     h.timePasses,
			"another event": h.next,
			"on the wire":   h.arrive,
			"window closes": h.windowCloses,
			"":              h.check,
		})
		h.quiet(rt)
	})
	if chain, err := l.VerifyChain(t.Context()); err != nil || !chain.OK() {
		t.Errorf("chain: %s %v", chain, err)
	}
}

// replies are those of the database; the next one can be lost: the statement is executed, and the connection ends.
type replies struct{ lose atomic.Bool }

type brittle struct {
	net.Conn
	*replies
}

func (c brittle) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.lose.CompareAndSwap(true, false) {
		_ = c.Close()
		return 0, syscall.ECONNRESET
	}
	return n, err
}

func (r *replies) pool(t *testing.T, like *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	config := like.Config()
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return brittle{conn, r}, err
	}
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // a statement is one round trip
	config.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

const (
	historyWindow   = time.Hour
	historyAttempts = 3
)

// history is one effect, those who deal with it, and what the provider counted.
type history struct {
	t         *testing.T
	l         *ledger.Ledger
	replies   *replies
	pool      *pgxpool.Pool
	id        string
	onFailure ledger.OnFailure
	windowed  bool

	clock     time.Duration // that has passed
	acted     string        // content that the provider acted on first; "": it did not
	actedAt   time.Duration
	delivered int
	broken    string // a promise that a request broke
	wire      []request

	processes []process
	seen      []time.Time
	permitted int
	left      bool // a request may have left
	before    row
}

// request is one whose caller gave up, and which may still arrive.
type request struct {
	content   string
	automatic bool
}

// process owns, or once owned, a reservation.
type process struct {
	r      ledger.Reservation
	token  string
	old    bool // as old as the sweep age: it may begin no call
	called bool
	answer answer
}

type row struct {
	exists                bool
	state, token, content string
	version               time.Time
	left, resend          bool
}

func (h *history) key() string { return ledger.Key(h.id, kind) }

func (h *history) read(rt *rapid.T) (r row) {
	err := h.pool.QueryRow(h.t.Context(), `
		select true, estado, coalesce(dono, ''), coalesce(conteudo::text, ''), atualizado_em, pode_ter_saido, reenvio
		from efeito_aplicado where chave = $1`, h.key()).Scan(&r.exists, &r.state, &r.token, &r.content, &r.version, &r.left, &r.resend)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		rt.Fatal(err)
	}
	return r
}

// draw is an effect as a live consumer or a replay would ask for it, perhaps under another configuration.
func (h *history) draw(rt *rapid.T) ledger.Effect {
	e := effect(h.id, h.onFailure)
	e.Execution = rapid.SampledFrom([]string{ledger.Live, "replay-1", "replay-2"}).Draw(rt, "execution")
	e.Content = json.RawMessage(rapid.SampledFrom([]string{`{"v":1}`, `{"v":1}`, `{"v":1}`, `{"v":2}`}).Draw(rt, "content"))
	e.Policy.MaxAttempts = historyAttempts
	if h.windowed {
		e.Policy.DedupWindow = historyWindow
	}
	// Who takes a provider that deduplicates for one that does not errs on the safe side.
	if h.onFailure == ledger.Release && rapid.IntRange(0, 9).Draw(rt, "configured otherwise") == 0 {
		e.Policy.OnFailure, e.Policy.DedupWindow = ledger.Keep, 0
	}
	return e
}

func (h *history) loseReply(rt *rapid.T) {
	h.replies.lose.Store(rapid.IntRange(0, 4).Draw(rt, "reply lost") == 0)
}

// behaviour is what the provider will do with a request.
func behaviour(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"acts", "acts", "refuses", "acts, no answer", "nothing, no answer", "later"}).Draw(rt, "provider")
}

// request is what a call does at the provider; the answer is what its caller learns.
func (h *history) request(rt *rapid.T, behaviour, content string) (answer, error) {
	automatic := !h.read(rt).resend
	switch behaviour {
	case "acts":
		h.left = true
		h.act(content, automatic)
		return acted, nil
	case "refuses":
		h.left = true
		return refusedIt, errRefused
	case "acts, no answer":
		h.left = true
		h.act(content, automatic)
	case "nothing, no answer":
		h.left = true
	case "later":
		h.left = true
		h.wire = append(h.wire, request{content, automatic})
	}
	return ambiguous, errTimeout
}

func (h *history) act(content string, automatic bool) {
	forgotten := h.windowed && h.clock-h.actedAt >= historyWindow
	switch {
	case h.acted == "":
		h.acted, h.actedAt = content, h.clock
		h.delivered++
	case automatic && content != h.acted:
		h.broken = "P2: another content was sent under the same key"
	case h.onFailure == ledger.Release && !forgotten:
	case automatic && h.onFailure == ledger.Release:
		h.broken = "P2: sent again after the window"
	default:
		h.delivered++
	}
}

func (h *history) attempt(rt *rapid.T) {
	h.loseReply(rt)
	h.do(rt, h.draw(rt))
}

func (h *history) do(rt *rapid.T, e ledger.Effect) {
	before, provider, lose := h.read(rt), behaviour(rt), rapid.IntRange(0, 4).Draw(rt, "reply to the record lost") == 0
	_, err := h.l.Do(h.t.Context(), e, func(_ context.Context, a ledger.Attempt) (json.RawMessage, error) {
		h.taken(before)
		_, err := h.request(rt, provider, string(a.Content))
		h.replies.lose.Store(lose)
		return nil, err
	})
	h.replies.lose.Store(false)
	if err != nil {
		rt.Fatal(err)
	}
}

func (h *history) reserve(rt *rapid.T) {
	before, e := h.read(rt), h.draw(rt)
	h.loseReply(rt)
	r, status, err := h.l.Reserve(h.t.Context(), e)
	h.replies.lose.Store(false)
	if err != nil {
		rt.Fatal(err)
	}
	if lost := h.read(rt); status.Standing != ledger.Mine && lost.token != before.token && lost.token != "" {
		rt.Fatalf("P1: the reply was lost, and the reservation is nobody's: %+v", lost)
	}
	if status.Standing == ledger.Mine {
		h.taken(before)
		h.processes = append(h.processes, process{r: r, token: h.read(rt).token, answer: unsent})
	}
}

// taken: a reservation was taken from who may have had it before.
func (h *history) taken(before row) {
	for _, p := range h.processes {
		if before.state == string(ledger.Reserved) && p.token == before.token && !p.old {
			h.broken = "P5: a young reservation was taken from its owner"
		}
	}
}

// next begins with another event, once all is settled for this one.
func (h *history) next(rt *rapid.T) {
	if !h.before.exists || h.before.state != string(ledger.Done) {
		rt.Skip("not done")
	}
	*h = history{t: h.t, l: h.l, replies: h.replies, pool: h.pool, onFailure: h.onFailure, windowed: h.windowed, id: rand.Text()}
}

// pick draws a process that is fit for something, or ends the step.
func (h *history) pick(rt *rapid.T, fit func(process) bool) *process {
	var those []int
	for i, p := range h.processes {
		if fit(p) {
			those = append(those, i)
		}
	}
	if len(those) == 0 {
		rt.Skip("no such process")
	}
	return &h.processes[rapid.SampledFrom(those).Draw(rt, "process")]
}

func (h *history) call(rt *rapid.T) {
	p := h.pick(rt, func(p process) bool { return !p.called && !p.old && h.l.TimeLeft(p.r) > 0 })
	p.called = true
	p.answer, _ = h.request(rt, behaviour(rt), string(p.r.Content))
}

// record reports what is known, also once more, also late.
func (h *history) record(rt *rapid.T) {
	p := h.pick(rt, func(process) bool { return true })
	before := h.read(rt)
	owner := before.token == p.token && before.state == string(ledger.Reserved)
	h.loseReply(rt)
	ctx := h.t.Context()
	var err error
	switch p.answer {
	case acted:
		err = h.l.Complete(ctx, p.r, nil)
	case refusedIt:
		err = h.l.Refuse(ctx, p.r, &ledger.RefusedError{Reason: "nao"})
	case ambiguous:
		_, _, err = h.l.Doubt(ctx, p.r, errTimeout)
	default:
		err = h.l.GiveBack(ctx, p.r, errNoRoute)
	}
	h.replies.lose.Store(false)
	if err != nil && (owner || !errors.Is(err, ledger.ErrLostOwnership)) {
		rt.Fatalf("record: %v", err)
	}
	if after := h.read(rt); !owner && after != before {
		rt.Fatalf("P5: a former owner changed %+v to %+v", before, after)
	} else if owner && after.state == before.state && after.token == before.token {
		rt.Fatalf("the owner changed nothing: %+v", after)
	}
	p.called = true
}

func (h *history) crash(rt *rapid.T) {
	p := h.pick(rt, func(process) bool { return true })
	*p = h.processes[len(h.processes)-1]
	h.processes = h.processes[:len(h.processes)-1]
}

func (h *history) sweep(rt *rapid.T) {
	e := h.draw(rt)
	h.settle(rt, e, func(e ledger.Effect) { h.do(rt, e) })
}

func (h *history) settle(rt *rapid.T, e ledger.Effect, retry func(ledger.Effect)) {
	before := h.read(rt)
	report, err := h.l.Sweep(h.t.Context(), ledger.SweepScope{
		Policies: policies(e.Policy), Keys: []string{h.key()}, Retry: func(r ledger.Retakable) error {
			if r.Content != nil {
				e.Content = r.Content
			}
			retry(e)
			return nil
		},
	})
	if err != nil {
		rt.Fatal(err)
	}
	if allowed := before.resend && before.token == ""; allowed && len(report.Uncertain) > 0 {
		rt.Fatal("P12: what a person allowed was undone")
	}
}

func (h *history) look(rt *rapid.T) {
	r := h.read(rt)
	if !r.exists {
		rt.Skip("no row")
	}
	h.seen = append(h.seen, r.version)
}

func (h *history) version(rt *rapid.T) time.Time {
	if now := h.read(rt); now.exists && rapid.Bool().Draw(rt, "as it is now") {
		return now.version
	}
	if len(h.seen) == 0 {
		rt.Skip("nothing was seen")
	}
	return rapid.SampledFrom(h.seen).Draw(rt, "seen")
}

func (h *history) lookUp(rt *rapid.T) {
	if h.onFailure != ledger.LookUp {
		rt.Skip("nobody to ask")
	}
	verdict := ledger.NotFound
	if h.acted != "" {
		verdict = ledger.Found
	}
	if rapid.Bool().Draw(rt, "outage") {
		verdict = ledger.Unreachable
	}
	if err := h.l.RecordLookUp(h.t.Context(), h.key(), h.version(rt), ledger.LookUpAnswer{Verdict: verdict}); err != nil {
		rt.Fatal(err)
	}
}

func (h *history) decide(rt *rapid.T) {
	before := h.read(rt)
	d := ledger.Decision{Key: h.key(), Note: "n", Seen: h.version(rt)}
	d.Verdict = rapid.SampledFrom([]ledger.Verdict{ledger.Confirm, ledger.Resend, ledger.Resend, ledger.Discard}).Draw(rt, "verdict")
	_, err := h.l.Decide(h.t.Context(), d)
	if err != nil {
		if after := h.read(rt); after != before {
			rt.Fatalf("a refused decision changed %+v to %+v", before, after)
		}
		return
	}
	if !d.Seen.Equal(before.version) || before.state != string(ledger.Uncertain) {
		rt.Fatalf("P11: decided on another row than %+v", before)
	}
	for _, p := range h.processes {
		if !p.called && !p.old && p.token == before.token {
			rt.Fatal("P6: decided while a call could begin")
		}
	}
	if len(h.wire) > 0 {
		rt.Fatal("P6: decided while a call is alive")
	}
	if d.Verdict == ledger.Resend {
		h.permitted++
	}
}

// timePasses: the sweep age. No call is alive at its end, nor can one begin under an older reservation.
func (h *history) timePasses(rt *rapid.T) { h.age(rt, 6*time.Minute) }

// windowCloses: the provider forgets what it deduplicates.
func (h *history) windowCloses(rt *rapid.T) { h.age(rt, 2*historyWindow) }

func (h *history) age(rt *rapid.T, by time.Duration) {
	for len(h.wire) > 0 {
		h.arrive(rt)
	}
	for i := range h.processes {
		h.processes[i].old = true
	}
	for i := range h.seen {
		h.seen[i] = h.seen[i].Add(-by) // the same rows still
	}
	h.clock += by
	if _, err := h.pool.Exec(h.t.Context(), `
		update efeito_aplicado set criado_em = criado_em - $1::interval, atualizado_em = atualizado_em - $1::interval,
			tentativa_em = tentativa_em - $1::interval, deduplica_ate = deduplica_ate - $1::interval, quarentena_ate = quarentena_ate - $1::interval
		where chave = $2`, by, h.key()); err != nil {
		rt.Fatal(err)
	}
}

// arrive lets a request on the wire reach the provider, or get lost.
func (h *history) arrive(rt *rapid.T) {
	if len(h.wire) == 0 {
		rt.Skip("nothing on the wire")
	}
	r := h.wire[0]
	h.wire = h.wire[1:]
	if rapid.Bool().Draw(rt, "arrives") {
		h.act(r.content, r.automatic)
	}
}

func (h *history) check(rt *rapid.T) {
	r := h.read(rt)
	switch {
	case h.broken != "":
		rt.Fatal(h.broken)
	case h.delivered > 1+h.permitted:
		rt.Fatalf("P1, P2: delivered %d times, %d by a person's decision", h.delivered, h.permitted)
	case h.left && !r.exists:
		rt.Fatal("P4: the row is forgotten")
	case h.left && r.state == string(ledger.Reserved) && !r.left:
		rt.Fatal("P4: that something may have left is forgotten")
	case h.before.state == string(ledger.Done) && r.state != string(ledger.Done):
		rt.Fatal("P5: something finished is changed")
	}
	h.before = r
}

// quiet: all processes are gone, time passes, and a sweep brings everything to an end.
func (h *history) quiet(rt *rapid.T) {
	h.processes = nil
	h.age(rt, 6*time.Minute)
	e := effect(h.id, h.onFailure)
	e.Content, e.Policy.MaxAttempts = json.RawMessage(`{"v":1}`), historyAttempts
	if h.windowed {
		e.Policy.DedupWindow = historyWindow
	}
	h.settle(rt, e, func(e ledger.Effect) {
		if _, err := h.l.Do(h.t.Context(), e, func(_ context.Context, a ledger.Attempt) (json.RawMessage, error) {
			h.act(string(a.Content), !h.read(rt).resend)
			return nil, nil
		}); err != nil {
			rt.Fatal(err)
		}
	})
	h.check(rt)
	if r := h.read(rt); r.state == string(ledger.Reserved) {
		rt.Fatalf("P3: still reserved: %+v", r)
	}
}
