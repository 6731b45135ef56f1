package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Defaults of [Options].
const (
	DefaultStatementTimeout = 30 * time.Second
	DefaultConnectTimeout   = 5 * time.Second
)

// Options are what a caller may want otherwise. The zero value is fine.
type Options struct {
	// ApplicationName tells whose connection it is, in pg_stat_activity. "" means "reprise".
	ApplicationName string
	// MaxConns bounds the pool; a pool_max_conns in the URL may bound it further. 0 means that one, else pgx's
	// default.
	MaxConns int
	// StatementTimeout is after how long the server ends a statement, so that a stalled one ends although
	// nobody waits for it any more. 0 means DefaultStatementTimeout, negative none. A statement_timeout in
	// the URL wins. Callers that need longer say "set local statement_timeout" in their transaction.
	StatementTimeout time.Duration
	// ConnectTimeout bounds one attempt to connect. 0 means the URL's connect_timeout, else
	// DefaultConnectTimeout.
	ConnectTimeout time.Duration
	// Lazy leaves the connection untried: for a program that starts while the database is away and waits for it.
	Lazy bool
}

// Open connects to the database at url and returns a pool, set up as the whole program needs it. It tries
// the connection once, unless told not to. No error of it repeats a password.
func Open(ctx context.Context, url string, options Options) (*pgxpool.Pool, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	if bounded(url) && options.MaxConns > int(config.MaxConns) {
		options.MaxConns = int(config.MaxConns)
	}
	options.apply(config)
	plans := new(stalePlans)
	config.ConnConfig.Tracer = plans
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("set up the database pool: %w", err)
	}
	plans.pool.Store(pool)
	if options.Lazy {
		return pool, nil
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, unreachable(err)
	}
	return pool, nil
}

// unreachable is an error of the first connection with what to do about it.
func unreachable(err error) error {
	err = fmt.Errorf("connect to the database: %w", err)
	var said *pgconn.PgError
	if errors.As(err, &said) {
		return Explain(err)
	}
	return &explained{err, "is it running, and does it answer at the host and port of the database URL?"}
}

func (o Options) apply(config *pgxpool.Config) {
	conn := config.ConnConfig
	conn.DialFunc = dialer(conn).DialContext
	switch {
	case o.ConnectTimeout > 0:
		conn.ConnectTimeout = o.ConnectTimeout
	case conn.ConnectTimeout == 0:
		conn.ConnectTimeout = DefaultConnectTimeout
	}
	if o.MaxConns > 0 {
		config.MaxConns = int32(o.MaxConns)
	}
	config.AfterConnect = registerTypes

	parameter := func(name, value string) {
		if _, named := conn.RuntimeParams[name]; !named {
			conn.RuntimeParams[name] = value
		}
	}
	if o.ApplicationName == "" {
		o.ApplicationName = "reprise"
	}
	parameter("application_name", o.ApplicationName)
	conn.RuntimeParams["timezone"] = "UTC"
	if behindPooler(conn) {
		return // a pooler refuses parameters that it does not know
	}
	switch {
	case o.StatementTimeout > 0:
	case o.StatementTimeout == 0:
		o.StatementTimeout = DefaultStatementTimeout
	default:
		o.StatementTimeout = 0
	}
	parameter("statement_timeout", strconv.FormatInt(o.StatementTimeout.Milliseconds(), 10))
	// A process that froze inside a transaction keeps its locks from others no longer than this.
	parameter("idle_in_transaction_session_timeout", "60000")
	// A plan that was kept from when a table was small would read the whole of it for each key.
	parameter("plan_cache_mode", "force_custom_plan")
	// Compiling a statement takes longer than it saves where the largest count a window once.
	parameter("jit", "off")
	// The server notices a client that vanished, and gives back its locks.
	parameter("tcp_keepalives_idle", "15")
	parameter("tcp_keepalives_interval", "5")
	parameter("tcp_keepalives_count", "3")
}

// behindPooler reports whether the URL asks for a mode without prepared statements, which is what a pooler
// in transaction mode needs.
func behindPooler(conn *pgx.ConnConfig) bool {
	return conn.DefaultQueryExecMode == pgx.QueryExecModeExec ||
		conn.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol
}

// registerTypes makes every mode of pgx treat values alike: without prepared statements the type of a
// parameter follows from its Go type, and JSON would be sent as bytea. Instants are read as UTC.
func registerTypes(_ context.Context, conn *pgx.Conn) error {
	types := conn.TypeMap()
	types.RegisterDefaultPgType(json.RawMessage(nil), "jsonb")
	types.RegisterDefaultPgType([]json.RawMessage(nil), "_jsonb")
	instant := &pgtype.Type{
		Name:  "timestamptz",
		OID:   pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	}
	types.RegisterType(instant)
	types.RegisterType(&pgtype.Type{
		Name:  "_timestamptz",
		OID:   pgtype.TimestamptzArrayOID,
		Codec: &pgtype.ArrayCodec{ElementType: instant},
	})
	return nil
}
