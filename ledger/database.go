package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reprise.dev/reprise/schema"
)

// bounded gives a database call its deadline.
func (l *Ledger) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.StatementTimeout)
}

// permanent reports whether the database rejected a statement for what it says, so that repeating it is
// useless, or answered what this program cannot read. Everything else passes: no connection, a lost reply, a shutdown, a deadlock, a full disk, and the
// plan of a cached statement that a migration made obsolete.
func permanent(err error) bool {
	var unreadable pgx.ScanArgError
	if errors.As(err, &unreadable) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	if pg.Code == pgerrcode.FeatureNotSupported {
		return !schema.StalePlan(err)
	}
	return pgerrcode.IsDataException(pg.Code) || pgerrcode.IsCardinalityViolation(pg.Code) ||
		pgerrcode.IsIntegrityConstraintViolation(pg.Code) || pgerrcode.IsSyntaxErrororAccessRuleViolation(pg.Code) ||
		pgerrcode.IsProgramLimitExceeded(pg.Code) || pgerrcode.IsInvalidAuthorizationSpecification(pg.Code) ||
		pgerrcode.IsInvalidCatalogName(pg.Code)
}

// Check returns nil if the database is what this version of the package works with, and says what to do otherwise: it is
// not migrated, was migrated by a newer version, or does not answer. A consumer asks once, when it starts.
func (l *Ledger) Check(ctx context.Context) error {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	return schema.Explain(schema.CheckTables(ctx, l.pool))
}

// explained adds to an error what to do about a database that is not this version's, or refuses to serve.
func (l *Ledger) explained(err error) error {
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return err
	}
	switch said.Code {
	case pgerrcode.UndefinedTable, pgerrcode.UndefinedColumn, pgerrcode.UndefinedFunction:
		ctx, cancel := l.bounded(context.Background())
		defer cancel()
		if why := schema.CheckTables(ctx, l.pool); errors.Is(why, schema.ErrNotMigrated) || errors.Is(why, schema.ErrNewer) {
			return fmt.Errorf("%w: %w", why, err)
		}
	}
	return schema.Explain(err)
}

// planOnceSQL lets a statement's plan be kept on its connection, until the transaction ends.
const planOnceSQL = `select set_config('plan_cache_mode', 'force_generic_plan', true)`

// upsert runs a reservation or a write-back, in one round trip, and reads its rows with read. Its plan is kept: to make
// it takes longer than to carry it out, and it goes by the primary key however large the table is.
func (l *Ledger) upsert(sql string, args []any, read func(pgx.Rows) error) error {
	ctx, cancel := l.bounded(context.Background())
	defer cancel()
	batch := &pgx.Batch{}
	batch.Queue(planOnceSQL)
	batch.Queue(sql, args...).Query(read)
	return l.pool.SendBatch(ctx, batch).Close()
}

// collect runs a query and reads all its rows with scan. It is planned anew each time, with the table as large
// as it is now: a plan from when the ledger was small would read all of it.
func collect[T any](ctx context.Context, l *Ledger, sql string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	list, err := query(ctx, l.pool, sql, scan, args)
	return list, l.explained(err)
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func query[T any](ctx context.Context, q querier, sql string, scan pgx.RowToFunc[T], args []any) ([]T, error) {
	rows, err := q.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scan)
}

// collectPage is collect for a page in the order of an index. A planner without statistics takes what waits for a person
// for a few rows, and would read and sort all of them.
func collectPage[T any](ctx context.Context, l *Ledger, sql string, scan pgx.RowToFunc[T], args ...any) (page []T, err error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	err = pgx.BeginTxFunc(ctx, l.pool, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `set local enable_bitmapscan = off`); err != nil {
			return err
		}
		var err error
		page, err = query(ctx, tx, sql, scan, args)
		return err
	})
	return page, l.explained(err)
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
