package schema

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Once the type of a column changed, the server refuses each statement that returns it and was prepared before, once on
// each connection. stalePlans spares all others what the first found out: every connection is made anew.
type stalePlans struct{ pool atomic.Pointer[pgxpool.Pool] }

// TraceQueryStart is part of [pgx.QueryTracer].
func (s *stalePlans) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd is part of [pgx.QueryTracer].
func (s *stalePlans) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	s.note(data.Err)
}

// TraceBatchStart is part of [pgx.BatchTracer].
func (s *stalePlans) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery is part of [pgx.BatchTracer].
func (s *stalePlans) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd is part of [pgx.BatchTracer].
func (s *stalePlans) TraceBatchEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	s.note(data.Err)
}

// note resets the pool once a plan is stale. Connections in use are closed when they are given back.
func (s *stalePlans) note(err error) {
	if pool := s.pool.Load(); pool != nil && StalePlan(err) {
		pool.Reset()
	}
}

// StalePlan recognizes a statement that was refused, before it did anything, for having been prepared for other types: it is
// worth repeating.
func StalePlan(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == pgerrcode.FeatureNotSupported && strings.Contains(refused.Message, "cached plan")
}
