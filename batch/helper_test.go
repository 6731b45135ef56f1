package batch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/commission"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/batch/provider"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/pgtest"
)

type rawMessage = json.RawMessage

const notify = commission.NotifySeller

// bench is a database, a counting provider that runs in the test's own process, and what a deployment wires.
type bench struct {
	t        *testing.T
	pool     *pgxpool.Pool
	provider *faultprovider.Server
	config   provider.Config
	rules    map[string]batch.Rule
	handlers batch.Handlers
	ledger   ledger.Options
	engine   batch.Options
	fourEyes bool
}

// newBench is a bench whose provider does not deduplicate: the hard case.
func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchWith(t, faultprovider.Options{KeepBodies: true}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second})
}

func newBenchWith(t *testing.T, o faultprovider.Options, policy ledger.Policy) *bench {
	t.Helper()
	p, err := faultprovider.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	h := commission.New(commission.Options{})
	return &bench{
		t: t, pool: pgtest.New(t), provider: p,
		config:   provider.Config{Name: "p", URL: p.URL + "/notify", Timeout: policy.CallTimeout, Concurrency: 16, BreakerAfter: 1 << 30},
		rules:    map[string]batch.Rule{notify: {Mode: batch.ModeApply, When: batch.WhenAlways, Provider: "p", Policy: policy}},
		handlers: batch.Handlers{h.Name(): h},
		ledger:   ledger.Options{SweepAge: 3 * time.Second, Margin: 500 * time.Millisecond},
		engine:   batch.Options{Slice: 2 * time.Second, GapWait: 2 * time.Second, PollEvery: 100 * time.Millisecond},
	}
}

func (b *bench) store() *batch.Store {
	b.t.Helper()
	s, err := batch.NewStore(b.pool, batch.StoreOptions{Handlers: b.handlers, Rules: b.rules, FourEyes: b.fourEyes, CodeVersion: "test"})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// host is a process of its own, as far as the database can tell: its own engine, ledger and provider client.
func (b *bench) host() *batch.Engine {
	b.t.Helper()
	return b.hostOf(map[string]batch.Provider{"p": b.client(b.config)})
}

func (b *bench) client(c provider.Config) *provider.Provider {
	b.t.Helper()
	p, err := provider.New(c)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) hostOf(providers map[string]batch.Provider) *batch.Engine {
	b.t.Helper()
	return b.hostWith(providers, slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
}

// hostLogging is a host whose log the test reads.
func (b *bench) hostLogging(log *slog.Logger) *batch.Engine {
	b.t.Helper()
	return b.hostWith(map[string]batch.Provider{"p": b.client(b.config)}, log)
}

func (b *bench) hostWith(providers map[string]batch.Provider, log *slog.Logger) *batch.Engine {
	b.t.Helper()
	o := b.ledger
	o.Logger = log
	l := ledger.New(b.pool, o)
	b.t.Cleanup(l.Close)
	return batch.NewEngine(b.pool, b.store(), l, providers, b.engine, log)
}

func (b *bench) books() *ledger.Ledger {
	l := ledger.New(b.pool, b.ledger)
	b.t.Cleanup(l.Close)
	return l
}

// archive inserts paid orders at positions; each is an order of its own worth 5 % of 100.00.
func (b *bench) archive(positions ...int64) {
	b.t.Helper()
	for _, p := range positions {
		b.event(p, fmt.Sprintf("P-%d", p), 1, `{"valorCentavos":10000,"percentual":5}`)
	}
}

func upTo(n int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i) + 1
	}
	return list
}

func (b *bench) event(position int64, order string, version int64, payload string) {
	b.t.Helper()
	b.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		values ($1::bigint, $2, 'pedido.pago', $3, $4, $5, '2026-10-14T12:00:00Z'::timestamptz + $1::bigint * interval '1 second')`,
		position, eventID(position), order, version, payload)
}

func eventID(position int64) string { return fmt.Sprintf("ev-%d", position) }

func key(position int64) string { return ledger.Key(eventID(position), notify) }

func (b *bench) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.pool.Exec(context.Background(), sql, args...); err != nil {
		b.t.Fatal(err)
	}
}

func scan[T any](b *bench, sql string, args ...any) T {
	b.t.Helper()
	var v T
	if err := b.pool.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		b.t.Fatal(err)
	}
	return v
}

func positions(first, last int64) batch.Scope { return batch.Scope{FirstPos: &first, LastPos: &last} }

// queue queues a replay over positions 1 to last.
func (b *bench) queue(mode batch.Mode, last int64) string {
	b.t.Helper()
	return b.queueWith(batch.Request{Mode: mode, Scope: positions(1, last)})
}

func (b *bench) queueWith(q batch.Request) string {
	b.t.Helper()
	if q.ID == "" {
		q.ID = fmt.Sprintf("%s-%x", q.Mode, rand.Uint64())
	}
	if q.Partitions == 0 {
		q.Partitions = 4
	}
	r, err := b.store().Queue(context.Background(), q)
	if err != nil {
		b.t.Fatal(err)
	}
	return r.ID
}

// run works a replay on a host of its own and returns how it ended.
func (b *bench) run(id string) batch.Replay {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := b.host().RunReplay(ctx, id, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if r.Summary != nil && !r.Summary.Balanced() {
		b.t.Errorf("%s: its account of events does not add up: %+v", id, r.Summary)
	}
	return r
}

// replay queues and runs in one go.
func (b *bench) replay(mode batch.Mode, last int64) batch.Replay {
	b.t.Helper()
	return b.run(b.queue(mode, last))
}

func (b *bench) sweep() batch.SweepReport {
	b.t.Helper()
	r, err := b.host().Sweep(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// age makes every reservation older than the sweep age, as if nobody had touched it for that long.
func (b *bench) age() {
	b.t.Helper()
	b.exec(`update efeito_aplicado set atualizado_em = atualizado_em - interval '1 hour', tentativa_em = tentativa_em - interval '1 hour',
		primeira_tentativa_em = primeira_tentativa_em - interval '1 hour', tentativas = tentativas where estado = 'reservado'`)
}

func (b *bench) wantState(r batch.Replay, want batch.State) {
	b.t.Helper()
	if r.State != want {
		b.t.Fatalf("%s is %s, want %s; %+v %s", r.ID, r.State, want, r.Summary, r.Error)
	}
}

// wantDelivered asserts what the provider counted for each position.
func (b *bench) wantDelivered(want int, positions ...int64) {
	b.t.Helper()
	for _, p := range positions {
		if got := b.provider.Delivered(key(p)); got != want {
			b.t.Errorf("provider counted %d deliveries of %s, want %d", got, key(p), want)
		}
	}
}

func (b *bench) wantEffect(position int64, state ledger.State) {
	b.t.Helper()
	if got := scan[string](b, `select coalesce((select estado from efeito_aplicado where chave = $1), 'no row')`, key(position)); got != string(state) {
		b.t.Errorf("effect of position %d is %s, want %s", position, got, state)
	}
}

// until waits for a condition of the database.
func (b *bench) until(sql string, args ...any) {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); !scan[bool](b, sql, args...); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("never: %s", sql)
		}
	}
}
