package pgtest

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/devserver"
)

// maxConns is the size of a test's pool: enough for a test of several workers, and the server has room for
// many such tests at once.
const maxConns = 16

// New returns a pool to a fresh, migrated database that is dropped when the test ends.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	url := NewURL(t)
	pool, err := schema.Open(t.Context(), url, schema.Options{ApplicationName: t.Name(), MaxConns: maxConns})
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { closePool(t, pool) })
	return pool
}

// NewURL is [New] for those who connect by themselves. The URL is TCP on 127.0.0.1 with a password.
func NewURL(t testing.TB) string {
	t.Helper()
	s, name := create(t, (*sharedServer).clone)
	return inMode(t, s.server.URL(name), filepath.Join(s.server.Dir(), "data"))
}

// NewEmptyURL is [NewURL] without the migrations.
func NewEmptyURL(t testing.TB) string {
	t.Helper()
	s, name := create(t, func(s *sharedServer, ctx context.Context, name string) error {
		return s.server.CreateDatabase(ctx, name)
	})
	return inMode(t, s.server.URL(name), filepath.Join(s.server.Dir(), "data"))
}

func create(t testing.TB, make func(*sharedServer, context.Context, string) error) (*sharedServer, string) {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("pgtest: shared server: %v", err)
	}
	name := databasePrefix + strings.ToLower(rand.Text()[:12])
	if err := make(s, t.Context(), name); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setUpLimit)
		defer cancel()
		if err := s.drop(ctx, name); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return s, name
}

// Database is the one that [Server] makes.
const Database = "reprise"

// Server returns a running server of the test's own, on TCP, with a migrated database [Database]. Stop, Start
// and kill it at will: it comes back on the same port, and keeps what was committed. It ends with the test.
func Server(t testing.TB) *devserver.Server {
	t.Helper()
	// Not t.TempDir: as root, the server's user could not enter it.
	dir, err := os.MkdirTemp("", "reprise-server-")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	server, err := devserver.New(devserver.Options{Dir: dir, TCP: true, NoSync: true})
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), setUpLimit)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	ctx := t.Context()
	if err := server.Start(ctx); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if err := server.CreateDatabase(ctx, Database); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	pool, err := schema.Open(ctx, server.URL(Database), schema.Options{})
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	defer pool.Close()
	if _, err := schema.Migrate(ctx, pool); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return server
}

// closePool tells which test kept a connection, instead of waiting for ever.
func closePool(t testing.TB, pool *pgxpool.Pool) {
	closed := make(chan struct{})
	go func() {
		pool.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Errorf("pgtest: %d connections were not given back (rows not closed, or a transaction not ended)", pool.Stat().AcquiredConns())
	}
}
