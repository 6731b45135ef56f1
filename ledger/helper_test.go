package ledger_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

// TestMain lets REPRISE_RAPID_CHECKS say how many random sequences each property is tried with.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", cmp.Or(os.Getenv("REPRISE_RAPID_CHECKS"), "30")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	code := m.Run()
	if code == 0 {
		// The server that tests share lives on, with the pool that makes their databases; the proxy of tests leaves some behind.
		if err := goleak.Find(
			goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*ToxicStub).Run"),
			goleak.IgnoreAnyFunction("reprise.dev/reprise/schema/devserver.(*Server).launch.func1"),
			goleak.IgnoreAnyFunction("github.com/jackc/pgx/v5/pgxpool.(*Pool).backgroundHealthCheck"),
		); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

const kind = "notificar-vendedor"

var (
	errTimeout = &ledger.AmbiguousError{Reason: "sem-resposta", Err: errors.New("timed out")}
	errRefused = ledger.RefusedBy("destinatario-inexistente", json.RawMessage(`{"code":404}`))
	errNoRoute = ledger.NotSent(errors.New("connection refused"))
)

func policy(onFailure ledger.OnFailure) ledger.Policy {
	return ledger.Policy{OnFailure: onFailure, CallTimeout: time.Second}
}

func effect(id string, onFailure ledger.OnFailure) ledger.Effect {
	return ledger.Effect{EventID: id, Kind: kind, Execution: ledger.Live, Content: json.RawMessage(`{"valorCentavos":150}`), Policy: policy(onFailure)}
}

// open returns a ledger on a database of its own.
func open(t testing.TB, o ledger.Options) (*ledger.Ledger, *pgxpool.Pool) {
	t.Helper()
	pool := pgtest.New(t)
	return with(t, pool, o), pool
}

func with(t testing.TB, pool *pgxpool.Pool, o ledger.Options) *ledger.Ledger {
	t.Helper()
	l := ledger.New(pool, o)
	t.Cleanup(l.Close)
	return l
}

// example stands in for the test that an example has not got.
type example struct {
	testing.TB
	cleanups []func()
}

func (*example) Helper()                           {}
func (*example) Name() string                      { return "example" }
func (*example) Context() context.Context          { return context.Background() }
func (e *example) Cleanup(f func())                { e.cleanups = append(e.cleanups, f) }
func (*example) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (*example) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func exampleDatabase() (pool *pgxpool.Pool, drop func()) {
	e := &example{}
	return pgtest.New(e), func() {
		for _, f := range slices.Backward(e.cleanups) {
			f()
		}
	}
}

// provider counts deliveries. It answers with what next returns.
type provider struct {
	mu      sync.Mutex
	count   map[string]int
	content map[string]string
	next    func(a ledger.Attempt) error
}

func newProvider(next func(ledger.Attempt) error) *provider {
	return &provider{count: map[string]int{}, content: map[string]string{}, next: next}
}

func always(err error) func(ledger.Attempt) error {
	return func(ledger.Attempt) error { return err }
}

// script answers the attempts in turn, and the last answer for ever.
func script(errs ...error) func(ledger.Attempt) error {
	i := 0
	return func(ledger.Attempt) error {
		err := errs[min(i, len(errs)-1)]
		i++
		return err
	}
}

func (p *provider) call(_ context.Context, a ledger.Attempt) (json.RawMessage, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.next(a)
	var unsent *ledger.NotSentError
	if !errors.As(err, &unsent) {
		p.count[a.Key]++
		p.content[a.Key] = string(a.Content)
	}
	if err != nil {
		return nil, err
	}
	return json.RawMessage(`{"recibo":1}`), nil
}

func (p *provider) deliveries(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count[key]
}

// stored is an effect's row.
type stored struct {
	State                  ledger.State
	Execution              string
	Result, Reason, Answer string
	Owner                  bool
	Attempts               int
	MayHaveRun             bool
	Free, Resend           bool
	OnFailure              string
	Content                string
	LookUp                 bool
}

func read(t testing.TB, pool *pgxpool.Pool, key string) stored {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		select estado, execucao_id, coalesce(desfecho, ''), coalesce(motivo, ''), coalesce(resultado::text, ''), dono is not null, tentativas,
		       pode_ter_saido, livre, reenvio, coalesce(ao_falhar, ''), coalesce(conteudo::text, ''), consultar_em is not null
		from efeito_aplicado where chave = $1`, key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[stored])
	if err != nil {
		t.Fatalf("row of %s: %v", key, err)
	}
	return s
}

// age makes everything that is known of all effects older, as if time had passed.
func age(t testing.TB, pool *pgxpool.Pool, by time.Duration) {
	t.Helper()
	execSQL(t, pool, `
		update efeito_aplicado set criado_em = criado_em - $1::interval, atualizado_em = atualizado_em - $1::interval,
		    tentativa_em = tentativa_em - $1::interval, primeira_tentativa_em = primeira_tentativa_em - $1::interval,
		    deduplica_ate = deduplica_ate - $1::interval, quarentena_ate = quarentena_ate - $1::interval, consultar_em = consultar_em - $1::interval`, by)
}

func execSQL(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// do runs the protocol and checks what it did.
func do(t testing.TB, l *ledger.Ledger, e ledger.Effect, call ledger.Call, want string) ledger.Outcome {
	t.Helper()
	out, err := l.Do(t.Context(), e, call)
	if err != nil {
		t.Fatalf("%s: %v", e.Key(), err)
	}
	if out.Did != want {
		t.Fatalf("%s: did %q (%+v), want %q", e.Key(), out.Did, out, want)
	}
	return out
}

// reserve takes an effect that must be free.
func reserve(t testing.TB, l *ledger.Ledger, e ledger.Effect) ledger.Reservation {
	t.Helper()
	r, status, err := l.Reserve(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if status.Standing != ledger.Mine {
		t.Fatalf("%s: standing %+v, want to own it", e.Key(), status)
	}
	return r
}

func look(t testing.TB, l *ledger.Ledger, e ledger.Effect) ledger.Status {
	t.Helper()
	s, err := l.Look(t.Context(), []ledger.Effect{e})
	if err != nil {
		t.Fatal(err)
	}
	return s[0]
}

func policies(p ledger.Policy) map[string]ledger.Policy { return map[string]ledger.Policy{kind: p} }

// sweep runs a sweep that retries nothing and returns what it could retry.
func sweep(t testing.TB, l *ledger.Ledger, p ledger.Policy) (ledger.SweepReport, []ledger.Retakable) {
	t.Helper()
	var retakable []ledger.Retakable
	report, err := l.Sweep(t.Context(), ledger.SweepScope{Policies: policies(p), Retry: func(r ledger.Retakable) error {
		retakable = append(retakable, r)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return report, retakable
}

// uncertain reads an effect of the review queue.
func uncertain(t testing.TB, l *ledger.Ledger, key string) ledger.UncertainEffect {
	t.Helper()
	e, found, err := l.UncertainByKey(t.Context(), key)
	if err != nil || !found {
		t.Fatalf("%s is not uncertain (%v)", key, err)
	}
	return e
}

// decide decides on the row as it is now, in spite of a quarantine.
func decide(t testing.TB, l *ledger.Ledger, key string, v ledger.Verdict) ledger.DecisionRecord {
	t.Helper()
	rec, err := l.Decide(t.Context(), ledger.Decision{Key: key, Verdict: v, Note: "checked with the seller", Seen: uncertain(t, l, key).Version, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// logged are the kinds of occurrence of an effect, in order.
func logged(t testing.TB, l *ledger.Ledger, key string) []string {
	t.Helper()
	list, err := l.Occurrences(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{}
	for _, o := range list {
		kinds = append(kinds, o.Kind)
	}
	return kinds
}

// link is a connection to a database that can be made to fail.
type link struct {
	*toxiproxy.Proxy
	t testing.TB
}

// openLinked returns a ledger that reaches its database by a link, and a pool that does not.
func openLinked(t testing.TB, o ledger.Options) (*ledger.Ledger, *link, *pgxpool.Pool) {
	t.Helper()
	url := pgtest.NewURL(t)
	direct, err := schema.Open(t.Context(), url, schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(direct.Close)
	config := direct.Config()
	address := net.JoinHostPort(config.ConnConfig.Host, fmt.Sprint(config.ConnConfig.Port))
	proxy := toxiproxy.NewProxy(toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()), "database", "127.0.0.1:0", address)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	_, port, err := net.SplitHostPort(proxy.Listen)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	config.ConnConfig.Host, config.ConnConfig.Port = "127.0.0.1", uint16(number)
	// A request goes out as a whole, at once: before it no reply is needed to a ping or to a preparation.
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return with(t, pool, o), &link{Proxy: proxy, t: t}, direct
}

// loseReplies lets requests through and nothing back until heal, which first cuts what still waits for a reply.
func (l *link) loseReplies() (heal func()) {
	restore := l.toxic(`{"name":"lost","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`)
	return func() {
		l.Stop()
		restore()
		if err := l.Start(); err != nil {
			l.t.Error(err)
		}
	}
}

func (l *link) toxic(attributes string) (heal func()) {
	l.t.Helper()
	toxic, err := l.Toxics.AddToxicJson(strings.NewReader(attributes))
	if err != nil {
		l.t.Fatal(err)
	}
	return func() {
		if err := l.Toxics.RemoveToxic(context.Background(), toxic.Name); err != nil {
			l.t.Error(err)
		}
	}
}
