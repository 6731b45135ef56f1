package ledger

import (
	"cmp"
	"crypto/rand"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Defaults of [Options].
const (
	DefaultSweepAge         = 5 * time.Minute // the age at which a consumer without tokens takes a reservation for abandoned
	DefaultMargin           = 10 * time.Second
	DefaultFlushSize        = 512
	DefaultFlushers         = 1
	DefaultStatementTimeout = 30 * time.Second
)

// Options configure a [Ledger]. The zero value is fine. All hosts of a database must agree on SweepAge.
type Options struct {
	// SweepAge is how old a reservation must be to count as abandoned.
	SweepAge time.Duration
	// Margin lies between the end of the longest call and the sweep age, and between the end of the last call
	// and the end of a provider's deduplication window. It covers what no deadline does: a process that is not
	// scheduled, a clock that drifts.
	Margin time.Duration
	// FlushSize is how many effects one statement takes at most.
	FlushSize int
	// Flushers is how many group commits run at the same time, for reservations and for write-backs each.
	Flushers int
	// StatementTimeout bounds each database call.
	StatementTimeout time.Duration
	Logger           *slog.Logger
}

func (o Options) withDefaults() Options {
	o.SweepAge = cmp.Or(o.SweepAge, DefaultSweepAge)
	o.Margin = cmp.Or(o.Margin, DefaultMargin)
	o.FlushSize = cmp.Or(o.FlushSize, DefaultFlushSize)
	o.Flushers = cmp.Or(o.Flushers, DefaultFlushers)
	o.StatementTimeout = cmp.Or(o.StatementTimeout, DefaultStatementTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Ledger is a process's access to the ledger of effects. It is safe for concurrent use.
type Ledger struct {
	pool *pgxpool.Pool
	Options
	reservations *collector[*reserving]
	records      *collector[*recording]
	token        func() string

	mu       sync.Mutex
	closed   bool
	inFlight sync.WaitGroup // calls of Do
}

// New makes a ledger over a pool whose database is migrated ("reprise migrate"). It asks the database nothing yet: see
// [Ledger.Check].
func New(pool *pgxpool.Pool, o Options) *Ledger {
	l := &Ledger{pool: pool, Options: o.withDefaults(), token: tokens()}
	l.reservations = newCollector(l.FlushSize, l.Flushers, l.reserveGroup)
	l.records = newCollector(l.FlushSize, l.Flushers, l.recordGroup)
	return l
}

// Close waits for what is under way, calls included; after it the ledger takes no new reservations and
// write-backs. The pool stays open.
func (l *Ledger) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.inFlight.Wait()
	l.reservations.close()
	l.records.close()
}

func (l *Ledger) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	l.inFlight.Add(1)
	return nil
}

// tokens returns a source of owner tokens that no other process and no other attempt uses.
func tokens() func() string {
	prefix := rand.Text() + "-"
	var n atomic.Int64
	return func() string { return prefix + strconv.FormatInt(n.Add(1), 36) }
}

// microseconds is a duration as the statements take it.
func microseconds(d time.Duration) int64 { return d.Microseconds() }
