package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
)

// Provider is one external provider, as the engine needs it.
type Provider interface {
	// Acquire waits until a call may be made: a free place, the rate, sending hours, the circuit breaker. It
	// returns a function that gives the place back, or a [*ClosedError] if no call can be made now.
	Acquire(ctx context.Context) (release func(), err error)
	// Call makes one attempt: at most one request on the wire. Its errors are classified as package ledger says.
	Call(ctx context.Context, kind string, a ledger.Attempt) (json.RawMessage, error)
	// LookUp asks what the provider did with a key.
	LookUp(ctx context.Context, key string) (ledger.LookUpAnswer, error)
}

// ClosedError says that a provider takes no calls now, why, and when it is worth asking again.
type ClosedError struct {
	Why   string
	Until time.Time
	// Failing is true if the provider itself is the reason (its circuit breaker is open), as opposed to a rule
	// of ours (sending hours).
	Failing bool
}

func (c *ClosedError) Error() string { return c.Why }

// Engine executes: it plans replays, works slices, sweeps, follows the archive live.
type Engine struct {
	*Store
	ledger    *ledger.Ledger
	providers map[string]Provider
	log       *slog.Logger
	host      string // identity of this process in the database
	Options
	stopping  chan struct{} // closed when no new work may begin
	stopOnce  sync.Once
	watch     *watcher
	grace     time.Duration // how long a slice may run over its time: its calls in flight, and a margin
	firstLook sync.Map      // schedule name to the instant from which it counts, while it has no slot on record
}

// Options configure an [Engine]. Zero values are replaced by the defaults that are named.
type Options struct {
	Slice       time.Duration // how long a slice works before it yields; 10 s
	Chunk       int           // events per chunk, at most; 20,000
	Workers     int           // slices at the same time in this process; 2 per processor
	GapWait     time.Duration // how long to wait for transactions that may still fill a gap; 30 s
	GiveUpAfter time.Duration // how long a failing provider may hold up a run before it ends partial; 5 min
	PollEvery   time.Duration // how often state is looked at without a notification; 1 s
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Slice, 10*time.Second)
	def(&o.GapWait, 30*time.Second)
	def(&o.GiveUpAfter, 5*time.Minute)
	def(&o.PollEvery, time.Second)
	if o.Chunk == 0 {
		o.Chunk = 20_000
	}
	if o.Workers == 0 {
		o.Workers = 4
	}
	return o
}

// NewEngine makes an engine.
func NewEngine(pool *pgxpool.Pool, store *Store, l *ledger.Ledger, providers map[string]Provider, o Options, log *slog.Logger) *Engine {
	machine, err := os.Hostname()
	if err != nil {
		machine = "unknown"
	}
	e := &Engine{
		Store: store, ledger: l, providers: providers, log: log, Options: o.withDefaults(),
		host: fmt.Sprintf("%s:%d:%x", machine, os.Getpid(), processStart()), stopping: make(chan struct{}),
	}
	e.watch = newWatcher(e)
	longest := 10 * time.Second
	for _, rule := range store.rules {
		longest = max(longest, rule.CallTimeout)
	}
	e.grace = longest + 10*time.Second
	return e
}

// Stop asks everything to end after the calls in flight; it does not wait. A stopped engine does not start again:
// an engine serves one run of the program.
func (e *Engine) Stop() { e.stopOnce.Do(func() { close(e.stopping) }) }

// Host is this process's identity in the database: machine, process id, start.
func (e *Engine) Host() string { return e.host }
