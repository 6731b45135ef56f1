package ledger

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
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
		return !strings.Contains(pg.Message, "cached plan")
	}
	return pgerrcode.IsDataException(pg.Code) || pgerrcode.IsCardinalityViolation(pg.Code) ||
		pgerrcode.IsIntegrityConstraintViolation(pg.Code) || pgerrcode.IsSyntaxErrororAccessRuleViolation(pg.Code) ||
		pgerrcode.IsProgramLimitExceeded(pg.Code) || pgerrcode.IsInvalidAuthorizationSpecification(pg.Code) ||
		pgerrcode.IsInvalidCatalogName(pg.Code)
}

// collect runs a query and reads all its rows with scan. It is planned anew each time, with the table as large
// as it is now: a plan from when the ledger was small would read all of it.
func collect[T any](ctx context.Context, l *Ledger, sql string, scan pgx.RowToFunc[T], args ...any) ([]T, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	rows, err := l.pool.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
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
		rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
		if err != nil {
			return err
		}
		page, err = pgx.CollectRows(rows, scan)
		return err
	})
	return page, err
}

func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
