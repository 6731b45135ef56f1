package schema

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Status compares the database with this program. Versions are those of the migrations; 0 is none.
type Status struct {
	Database, Program           int64 // our own
	QueueDatabase, QueueProgram int64 // the job queue's
}

// Err is nil if the program can work with the database, and says what to do otherwise.
func (s Status) Err() error {
	switch {
	case s.newer():
		return fmt.Errorf("%w (%s)", ErrNewer, s)
	case s.Database < s.Program || s.QueueDatabase < s.QueueProgram:
		return fmt.Errorf("%w (%s)", ErrNotMigrated, s)
	}
	return nil
}

func (s Status) newer() bool {
	return s.Database > s.Program || s.QueueDatabase > s.QueueProgram
}

// String names the versions.
func (s Status) String() string {
	if s.QueueProgram == 0 { // it was not asked for
		return fmt.Sprintf("database at version %d; this program has %d", s.Database, s.Program)
	}
	return fmt.Sprintf("database at version %d, job queue %d; this program has %d, %d",
		s.Database, s.QueueDatabase, s.Program, s.QueueProgram)
}

// Check returns nil if the program can work with the database, and an error that says what to do otherwise.
func Check(ctx context.Context, pool *pgxpool.Pool) error {
	status, err := ReadStatus(ctx, pool)
	if err != nil {
		return err
	}
	return status.Err()
}

// CheckTables is [Check] for who works with the tables and not with the job queue, and needs no right to that.
func CheckTables(ctx context.Context, pool *pgxpool.Pool) error {
	var status Status
	var err error
	if status.Program, err = newestMigration(); err != nil {
		return err
	}
	if status.Database, err = versionOf(ctx, pool, ownVersion); err != nil {
		return err
	}
	return status.Err()
}

const (
	ownVersion   = `select coalesce(max(version_id), 0) from ` + versionTable + ` where is_applied`
	queueVersion = `select coalesce(max(version), 0) from ` + QueueSchema + `.river_migration where line = 'main'`
)

// ReadStatus asks the database for its versions. It changes nothing.
func ReadStatus(ctx context.Context, pool *pgxpool.Pool) (Status, error) {
	var status Status
	var err error
	if status.Program, err = newestMigration(); err != nil {
		return status, err
	}
	migrator, err := queueMigrator(pool)
	if err != nil {
		return status, err
	}
	versions := migrator.AllVersions()
	status.QueueProgram = int64(versions[len(versions)-1].Version)

	if status.Database, err = versionOf(ctx, pool, ownVersion); err != nil {
		return status, err
	}
	status.QueueDatabase, err = versionOf(ctx, pool, queueVersion)
	return status, err
}

// versionOf runs one of the queries above; a missing table is version 0.
func versionOf(ctx context.Context, pool *pgxpool.Pool, query string) (version int64, err error) {
	err = pool.QueryRow(ctx, query).Scan(&version)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && (pgErr.Code == pgerrcode.UndefinedTable || pgErr.Code == pgerrcode.InvalidSchemaName) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the database: %w", err)
	}
	return version, nil
}

func newestMigration() (int64, error) {
	files, err := fs.Glob(migrationFiles, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("list the migrations: %w", err)
	}
	number, _, _ := strings.Cut(files[len(files)-1], "_") // sorted by name
	version, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("migration %s: %w", files[len(files)-1], err)
	}
	return version, nil
}

// Digest names the set of migrations of this program, the job queue's included: it changes whenever one of
// them does. Hexadecimal.
func Digest() (string, error) {
	hash := sha256.New()
	files, err := fs.Glob(migrationFiles, "*.sql")
	if err != nil {
		return "", fmt.Errorf("list the migrations: %w", err)
	}
	for _, file := range files {
		content, err := fs.ReadFile(migrationFiles, file)
		if err != nil {
			return "", fmt.Errorf("read migration %s: %w", file, err)
		}
		_, _ = fmt.Fprintf(hash, "%s\n%d\n%s\n", file, len(content), content) // a hash never fails
	}
	migrator, err := queueMigrator(nil) // the list needs no connection
	if err != nil {
		return "", err
	}
	for _, version := range migrator.AllVersions() {
		_, _ = fmt.Fprintf(hash, "%d\n%s\n", version.Version, version.SQLUp)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
