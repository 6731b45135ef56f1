// Package rig is what a measurement needs around the program: a server of its own, and the program itself.
package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/devserver"
	"reprise.dev/reprise/schema/seedsql"
)

// Rig is a migrated database on a private server.
type Rig struct {
	Pool   *pgxpool.Pool
	url    string
	dir    string
	binary string
	server *devserver.Server
}

// Start starts the server. binary is the path of the program.
func Start(ctx context.Context, binary string) (r *Rig, err error) {
	r = &Rig{}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.binary, err = filepath.Abs(binary); err != nil {
		return nil, err
	}
	if r.dir, err = os.MkdirTemp("", "reprise-bench"); err != nil {
		return nil, err
	}
	if err := os.Chmod(r.dir, 0o755); err != nil { // the server runs as another user if this is root
		return nil, err
	}
	server, err := devserver.New(devserver.Options{Dir: filepath.Join(r.dir, "server"), Settings: map[string]string{
		"shared_buffers": "512MB", "max_wal_size": "8GB", "max_connections": "400",
	}})
	if err != nil {
		return nil, err
	}
	r.server = server
	if err := server.Start(ctx); err != nil {
		return nil, err
	}
	if err := server.CreateDatabase(ctx, "bench"); err != nil {
		return nil, err
	}
	r.url = server.URL("bench")
	if r.Pool, err = schema.Open(ctx, r.url, schema.Options{MaxConns: 40, StatementTimeout: -1}); err != nil {
		return nil, err
	}
	_, err = schema.Migrate(ctx, r.Pool)
	return r, err
}

// DataDir is where the server keeps its files.
func (r *Rig) DataDir() string { return filepath.Join(r.dir, "server", "data") }

// Close stops the server and removes what it kept.
func (r *Rig) Close() {
	if r.Pool != nil {
		r.Pool.Close()
	}
	if r.server != nil {
		_ = r.server.Stop(context.Background())
	}
	_ = os.RemoveAll(r.dir)
}

// Effects is a configuration under which the provider at a URL is told of every commission.
func Effects(url string, concurrency int, more string) string {
	return fmt.Sprintf("%s\n[effects.%s]\nmode = \"aplicar\"\nprovider = \"p\"\n[providers.p]\nurl = %q\ntimeout = \"5s\"\nconcurrency = %d\n",
		more, seedsql.NotifySeller, url+"/notify", concurrency)
}

// Exec runs a statement as a person would, under the server's own settings and not the program's.
func (r *Rig) Exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, r.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

// Configure writes the program's configuration.
func (r *Rig) Configure(text string) error { return os.WriteFile(r.config(), []byte(text), 0o600) }

func (r *Rig) config() string { return filepath.Join(r.dir, "reprise.toml") }

// Command is the program on this database, not started yet.
func (r *Rig) Command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, r.binary, append([]string{"--config", r.config(), "--database", r.url, "--json"}, args...)...)
}

// Run runs the program to its end.
func (r *Rig) Run(ctx context.Context, args ...string) ([]byte, error) {
	return Output(r.Command(ctx, args...))
}

// Output runs a command to its end. That something needs a person is not an error.
func Output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if exit.ExitCode() == 3 {
			return out, nil
		}
		err = fmt.Errorf("%v: %w\n%s", cmd.Args, err, exit.Stderr)
	}
	return out, err
}

// Report ends a program: with its results, as JSON or as print writes them, or with its error.
func Report(name string, asJSON bool, results any, print func(io.Writer) error, err error) {
	switch {
	case err != nil:
	case asJSON:
		err = json.NewEncoder(os.Stdout).Encode(results)
	default:
		err = print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Archive appends paid orders: an event each, at positions first to last.
func (r *Rig) Archive(ctx context.Context, first, last int) error {
	_, err := r.Pool.Exec(ctx, `
		insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select i, 'ev-' || i, 'pedido.pago', 'P-' || i, 1, '{"valorCentavos": 15990, "percentual": 5}', '2026-10-14'::timestamptz + i * interval '1 millisecond'
		from generate_series($1::bigint, $2::bigint) i`, first, last)
	return err
}
