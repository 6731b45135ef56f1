// Package schema owns the database: its tables, as embedded migrations, and how to connect to it.
//
//	pool, err := schema.Open(ctx, url, schema.Options{})
//	err = schema.Check(ctx, pool)            // is it migrated, and not newer than this program?
//	report, err := schema.Migrate(ctx, pool) // or make it so
//
// Five tables are shared with a live consumer that need not know of Reprise: its statements keep working on
// the migrated schema, and what it does is seen by Reprise. All else is additive. Triggers stand between the
// two where the consumer's statements would break a promise (see migrations/00003_ledger.sql): P4, what
// Reprise attempted is not deleted; P5, a late failure of a former owner changes nothing.
//
// The job queue's tables are migrated too, into a schema of their own ([QueueSchema]).
//
// Subpackage devserver runs a server for development, pgtest gives tests a database each, and seedsql is the
// consumer that need not know, for tests.
package schema
