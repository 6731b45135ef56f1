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

// TraceQueryEnd is part of [pgx.QueryTracer]. Connections in use are closed when they are given back.
func (s *stalePlans) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if pool := s.pool.Load(); pool != nil && StalePlan(data.Err) {
		pool.Reset()
	}
}

// StalePlan recognizes a statement that was refused, before it did anything, for having been prepared for other types: it is
// worth repeating.
func StalePlan(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == pgerrcode.FeatureNotSupported && strings.Contains(refused.Message, "cached plan")
}
