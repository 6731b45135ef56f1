package schema

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	// QueueSchema is the database schema that holds the tables of the job queue.
	QueueSchema = "river"

	// versionTable is where the versions of our own migrations are kept.
	versionTable = "reprise_migracao"

	// lockPatience bounds how long a migration waits for a table in use. A waiting "alter table" blocks
	// everybody behind it, the live consumer too, so it gives up rather than to wait for a long query.
	lockPatience = "10s"
)

//go:embed migrations/*.sql
var embedded embed.FS

// migrationFiles holds the migrations at its root.
var migrationFiles = must(fs.Sub(embedded, "migrations"))

func must[T any](value T, err error) T {
	if err != nil {
		panic(err) // the embedded directory is part of the program
	}
	return value
}

// Report is what a migration did.
type Report struct {
	Adopted bool     `json:"adopted"` // the database already had tables of a live consumer
	From    int64    `json:"from"`    // our own version before
	To      int64    `json:"to"`      // and after
	Applied []string `json:"applied"` // in order: our own migrations, then "river <n> <name>"
}

// String is one line for people.
func (r Report) String() string {
	if len(r.Applied) == 0 {
		return fmt.Sprintf("the database is at version %d: nothing to do", r.To)
	}
	adopted := ""
	if r.Adopted {
		adopted = ", the existing tables were adopted with their rows"
	}
	return fmt.Sprintf("the database is at version %d: %d migrations applied%s", r.To, len(r.Applied), adopted)
}

// Migrate brings the database to the version of this program. It does nothing if it is there already, and
// refuses one that is newer. Tables of a live consumer are adopted with their rows. Two hosts may call it at
// once: one waits for the other.
//
// It connects by itself, with the pool's configuration but without its statement time-out: an index over a
// large archive takes what it takes.
func Migrate(ctx context.Context, pool *pgxpool.Pool) (Report, error) {
	own, err := migrationPool(ctx, pool)
	if err != nil {
		return Report{}, err
	}
	defer own.Close()

	unlock, err := lockMigration(ctx, own)
	if err != nil {
		return Report{}, err
	}
	defer unlock()

	before, err := ReadStatus(ctx, own)
	if err != nil {
		return Report{}, err
	}
	if before.newer() {
		return Report{}, before.Err()
	}
	report := Report{From: before.Database, To: before.Database}
	if before.Database == 0 {
		if report.Adopted, err = checkAdoption(ctx, own); err != nil {
			return report, err
		}
	}
	if err := migrateOwn(ctx, own, &report); err != nil {
		return report, err
	}
	return report, migrateQueue(ctx, own, &report)
}

// migrationPool holds two connections: one for the lock, one for the work.
func migrationPool(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Pool, error) {
	config := pool.Config()
	config.MinConns, config.MinIdleConns, config.MaxConns = 0, 0, 3
	prepare := config.AfterConnect
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if prepare != nil {
			if err := prepare(ctx, conn); err != nil {
				return err
			}
		}
		if behindPooler(conn.Config()) {
			return nil // the settings would stay with the pooler's connection, for others to find
		}
		_, err := conn.Exec(ctx, "set statement_timeout = 0; set lock_timeout = '"+lockPatience+"'", pgx.QueryExecModeSimpleProtocol)
		return err
	}
	own, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect for the migration: %w", err)
	}
	return own, nil
}

// lockMigration waits until no other host migrates. The lock belongs to a transaction and not to a session,
// so that it holds behind a pooler, and ends with the connection at the latest.
func lockMigration(ctx context.Context, pool *pgxpool.Pool) (unlock func(), err error) {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock the migration: %w", err)
	}
	unlock = func() { _ = tx.Rollback(context.WithoutCancel(ctx)) } // it changed nothing
	for _, statement := range []string{
		"set local lock_timeout = 0",
		"set local idle_in_transaction_session_timeout = 0",
		"select pg_advisory_xact_lock(hashtextextended('" + versionTable + "', 0))",
	} {
		if _, err := tx.Exec(ctx, statement); err != nil {
			unlock()
			return nil, fmt.Errorf("lock the migration: %w", err)
		}
	}
	return unlock, nil
}

func migrateOwn(ctx context.Context, pool *pgxpool.Pool, report *Report) error {
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrationFiles,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	results, err := provider.Up(ctx)
	for _, result := range results {
		report.Applied = append(report.Applied, migrationName(result.Source))
		report.To = result.Source.Version
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

func migrateQueue(ctx context.Context, pool *pgxpool.Pool, report *Report) error {
	if err := createQueueSchema(ctx, pool); err != nil {
		return fmt.Errorf("create schema %s: %w", QueueSchema, err)
	}
	migrator, err := queueMigrator(pool)
	if err != nil {
		return err
	}
	result, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	if err != nil {
		return fmt.Errorf("migrate the job queue: %w", err)
	}
	for _, version := range result.Versions {
		report.Applied = append(report.Applied, fmt.Sprintf("%s %d %s", QueueSchema, version.Version, version.Name))
	}
	return nil
}

// createQueueSchema needs the right to create schemas only if there is none yet; "if not exists" needs it always.
func createQueueSchema(ctx context.Context, pool *pgxpool.Pool) error {
	var missing bool
	err := pool.QueryRow(ctx, "select to_regnamespace($1::text) is null", QueueSchema).Scan(&missing)
	if err == nil && missing {
		_, err = pool.Exec(ctx, "create schema "+QueueSchema)
	}
	return err
}

func queueMigrator(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{
		Schema: QueueSchema,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fmt.Errorf("read the migrations of the job queue: %w", err)
	}
	return migrator, nil
}

func migrationName(source *goose.Source) string {
	return strings.TrimSuffix(path.Base(source.Path), ".sql")
}
