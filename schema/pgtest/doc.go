// Package pgtest gives each test a PostgreSQL database of its own, freshly migrated.
//
//	pool := pgtest.New(t)
//
// All test processes of a user share one server. Each holds a lock while it lives; the server ends when the
// last of them is gone, however it went (see guard.go). A database is a copy of a template that is made once
// per set of migrations, so it takes some tens of milliseconds.
//
// REPRISE_PGTEST_MODE runs all of them in another mode of pgx, such as simple_protocol, or as "pooler" through
// PgBouncer in transaction mode.
//
// A test that must stop, crash or restart its server takes one of its own with [Server].
package pgtest
