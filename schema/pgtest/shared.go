package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/devserver"
)

const (
	databasePrefix = "teste_"
	templatePrefix = "modelo_"
	setUpLimit     = 2 * time.Minute
)

// sharedServer is the one server of all test processes, as this process sees it.
type sharedServer struct {
	server   *devserver.Server
	admin    *pgxpool.Pool
	template string
	users    *os.File // the lock that keeps the server alive; never closed
}

// shared starts the server or attaches to it, once per process.
var shared = sync.OnceValues(func() (*sharedServer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), setUpLimit)
	defer cancel()
	dir, err := sharedDir()
	if err != nil {
		return nil, err
	}
	s := new(sharedServer)
	if s.users, err = lock(usersFile(dir), syscall.LOCK_SH); err != nil {
		return nil, err
	}
	// One process at a time starts the server and makes the template.
	setUp, err := lock(filepath.Join(dir, "setup.lock"), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer setUp.Close()
	fresh, err := s.start(ctx, dir)
	if err != nil {
		return nil, err
	}
	if s.admin, err = schema.Open(ctx, s.server.URL("postgres"), schema.Options{MaxConns: 2, StatementTimeout: setUpLimit}); err != nil {
		return nil, err
	}
	return s, s.prepare(ctx, fresh)
})

// sharedDir is per user, so that nobody is in another one's way.
func sharedDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("reprise-test-%d", os.Geteuid()))
	if _, err := devserver.New(serverOptions(dir)); err != nil { // makes it
		return "", err
	}
	return dir, nil
}

func usersFile(dir string) string { return filepath.Join(dir, "users.lock") }

func serverOptions(dir string) devserver.Options {
	return devserver.Options{
		Dir:    dir,
		TCP:    true, // tests put proxies in between
		NoSync: true,
		Settings: map[string]string{
			"max_connections": "500",
			"max_wal_size":    "2GB",
			"autovacuum":      "off", // databases live for seconds
		},
	}
}

// start reports whether it started the server, in contrast to found it running. Data that cannot be started
// from any more is thrown away: without fsync a crash of the machine leaves such.
func (s *sharedServer) start(ctx context.Context, dir string) (fresh bool, err error) {
	if s.server, err = devserver.New(serverOptions(dir)); err != nil {
		return false, err
	}
	if _, running := s.server.Running(ctx); running {
		return false, s.server.Start(ctx)
	}
	err = s.server.Start(ctx)
	if err != nil && !errors.Is(err, devserver.ErrNoBinaries) {
		if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
			return false, err
		}
		err = s.server.Start(ctx)
	}
	if err != nil {
		return false, err
	}
	return true, startGuard(dir)
}

// prepare makes the template of the current migrations unless it is there. On a server that nobody used
// before it also removes what killed tests and former migrations left.
func (s *sharedServer) prepare(ctx context.Context, fresh bool) error {
	digest, err := schema.Digest()
	if err != nil {
		return err
	}
	s.template = templatePrefix + digest[:16]
	names, err := s.databases(ctx)
	if err != nil {
		return err
	}
	found := false
	for _, name := range names {
		switch {
		case name == s.template:
			found = true
		case fresh:
			if err := s.drop(ctx, name); err != nil {
				return err
			}
		}
	}
	if found {
		return nil
	}
	return s.makeTemplate(ctx)
}

// databases lists those made here.
func (s *sharedServer) databases(ctx context.Context) ([]string, error) {
	rows, err := s.admin.Query(ctx,
		"select datname from pg_database where starts_with(datname, $1) or starts_with(datname, $2)",
		databasePrefix, templatePrefix)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// makeTemplate migrates under another name, so that a half-made template is never used.
func (s *sharedServer) makeTemplate(ctx context.Context) error {
	half := databasePrefix + s.template
	if err := s.drop(ctx, half); err != nil {
		return err
	}
	if err := s.server.CreateDatabase(ctx, half); err != nil {
		return err
	}
	pool, err := schema.Open(ctx, s.server.URL(half), schema.Options{})
	if err != nil {
		return err
	}
	_, err = schema.Migrate(ctx, pool)
	pool.Close()
	if err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	return s.exec(ctx, "alter database "+quote(half)+" rename to "+quote(s.template))
}

func (s *sharedServer) clone(ctx context.Context, name string) error {
	return s.exec(ctx, "create database "+quote(name)+" template "+quote(s.template))
}

// drop ends whoever is still connected.
func (s *sharedServer) drop(ctx context.Context, name string) error {
	return s.exec(ctx, "drop database if exists "+quote(name)+" with (force)")
}

func (s *sharedServer) exec(ctx context.Context, statement string) error {
	if _, err := s.admin.Exec(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
