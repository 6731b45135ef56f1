package schema

import (
	"errors"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
)

// explained is an error of a database with what to do about it.
type explained struct {
	error
	advice string
}

func (e *explained) Error() string { return e.error.Error() + ": " + e.advice }
func (e *explained) Unwrap() error { return e.error }

// Explain adds to an error what to do about a server that refuses to serve. What it knows nothing of it returns as it is.
func Explain(err error) error {
	var done *explained
	if err == nil || errors.As(err, &done) {
		return err
	}
	if advice := refusalAdvice(err); advice != "" {
		return &explained{err, advice}
	}
	return err
}

func refusalAdvice(err error) string {
	var said *pgconn.PgError
	switch {
	case refusesParameters(err):
		return "is this a pooler? Then add default_query_exec_mode=exec to the database URL"
	case !errors.As(err, &said):
		return ""
	case said.Code == pgerrcode.TooManyConnections:
		return "it has none left; raise max_connections or the role's connection limit, or lower run.pool_size of the runners"
	case said.Code == pgerrcode.ReadOnlySQLTransaction:
		return "it takes no writes; name the primary in the database URL, or end default_transaction_read_only"
	}
	return ""
}

// refusesParameters recognizes what a pooler says to settings in the start-up packet. It says so under the
// code of a protocol violation, which others use too.
func refusesParameters(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == pgerrcode.ProtocolViolation &&
		strings.Contains(pgErr.Message, "startup parameter")
}
