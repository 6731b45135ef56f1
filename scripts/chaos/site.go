package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/devserver"
)

// Ages are short, so that what is abandoned is dealt with many times in one run.
const (
	sweepAge    = 4 * time.Second
	sweepPeriod = 2 * time.Second
	callTimeout = time.Second
	notify      = "notificar-vendedor"
	database    = "chaos"
)

// site is what one run works on: a server, a provider, the ways to them, and the processes.
type site struct {
	plan
	dir       string
	log       io.Writer
	server    *devserver.Server
	url       string // the direct way to the database
	pool      *pgxpool.Pool
	provider  *faultprovider.Server
	gateway   *proxy // everybody's way to the provider
	commands  *proxy // the way to the database of whoever is no process below
	proxies   []*proxy
	processes []*process
	archive   archive
	tally     tally
	fixed     atomic.Bool // the live consumer's bug is mended
	slowest   atomic.Int64
	noted     notes
}

func newSite(ctx context.Context, p plan, log io.Writer) (s *site, err error) {
	s = &site{plan: p, log: log, tally: tally{n: map[string]int64{}}, noted: notes{delivered: map[string]int{}}}
	if s.dir, err = os.MkdirTemp("", "reprise-chaos-"); err != nil {
		return s, err
	}
	if err := os.Chmod(s.dir, 0o755); err != nil { // the server runs as another user if this is root
		return s, err
	}
	s.server, err = devserver.New(devserver.Options{Dir: filepath.Join(s.dir, "server"), TCP: true, NoSync: true, Settings: map[string]string{
		"max_connections": "300", "max_wal_size": "2GB",
	}})
	if err != nil {
		return s, err
	}
	if err := s.server.Start(ctx); err != nil {
		return s, err
	}
	if err := s.server.CreateDatabase(ctx, database); err != nil {
		return s, err
	}
	s.url = s.server.URL(database)
	if s.pool, err = schema.Open(ctx, s.url, schema.Options{MaxConns: 12, StatementTimeout: -1}); err != nil {
		return s, err
	}
	if _, err := schema.Migrate(ctx, s.pool); err != nil {
		return s, err
	}
	if _, err := s.pool.Exec(ctx, watchSQL); err != nil {
		return s, fmt.Errorf("watch the tables: %w", err)
	}
	s.provider, err = faultprovider.Start(faultprovider.Options{Dedup: s.Policy == ledger.Release, Seed: p.Seed, Delay: 10 * time.Millisecond})
	if err != nil {
		return s, err
	}
	return s, s.connect()
}

// connect makes the ways and the processes that use them; it starts none of these.
func (s *site) connect() (err error) {
	hub := newProxies()
	way := func(name, to string) *proxy {
		p, failed := newProxy(hub, name, to)
		err = errors.Join(err, failed)
		s.proxies = append(s.proxies, p)
		return p
	}
	s.gateway = way("provider", s.provider.URL)
	s.commands = way("commands", s.url)
	self, failed := os.Executable()
	err = errors.Join(err, failed)
	names := []string{"live", "run-1", "run-2"}
	for i, name := range names {
		p := way(name, s.url)
		command := func() *exec.Cmd { return s.program(p, s.config(name), "run") }
		switch {
		case s.Control:
			command = func() *exec.Cmd { return naiveCommand(self, p.url, s.gateway.url, i, len(names)) }
		case name == "live":
			command = func() *exec.Cmd { return s.program(p, s.config(name), "live", "--from", "0") }
		}
		s.processes = append(s.processes, &process{name: name, command: command, log: filepath.Join(s.dir, name+".log"), tally: &s.tally})
	}
	if err != nil {
		return err
	}
	return errors.Join(s.writeConfig("bug", 1000), s.writeConfig("fixed", 100))
}

// config is the file that a process starts with: the live consumer has the bug until it is mended.
func (s *site) config(name string) string {
	if name == "live" && !s.fixed.Load() {
		name = "bug"
	} else {
		name = "fixed"
	}
	return filepath.Join(s.dir, name+".toml")
}

func (s *site) writeConfig(name string, divisor int) error {
	text := fmt.Sprintf(`
[run]
workers = 2
slice = "2s"
give_up_after = "1h"
[ledger]
sweep_age = %q
margin = "500ms"
[commission]
divisor = %d
[effects.%s]
mode = "aplicar"
on_failure = %q
provider = "p"
[providers.p]
url = %q
timeout = %q
concurrency = 8
deduplicates = %v
receipt = "recibo"
refused_statuses = [422]
not_sent_statuses = [503]
breaker_after = 20
breaker_wait = "2s"
[[schedule]]
name = "sweep"
spec = "@every %s"
task = "sweep"
`, sweepAge, divisor, notify, s.Policy, s.gateway.url+"/notify", callTimeout, s.Policy == ledger.Release, sweepPeriod)
	return os.WriteFile(filepath.Join(s.dir, name+".toml"), []byte(text), 0o600)
}

// program is a command of the program, with a bare environment, closed standard input and no terminal.
func (s *site) program(way *proxy, config string, args ...string) *exec.Cmd {
	cmd := exec.Command(s.Binary, append([]string{"--config", config, "--database", way.url}, args...)...)
	cmd.Env = []string{}
	return cmd
}

// reprise runs one command to its end, and gives up on it after a while.
func (s *site) reprise(ctx context.Context, args ...string) (code int, out string) {
	cmd := s.program(s.commands, s.config("command"), args...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Start(); err != nil {
		return -1, err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
	_ = cmd.Wait() // the exit code tells
	return cmd.ProcessState.ExitCode(), text.String()
}

// say tells whoever waits how it goes.
func (s *site) say(format string, args ...any) {
	name := string(s.Policy)
	if s.Control {
		name = "control"
	}
	fmt.Fprintf(s.log, "%s %-8s %s\n", time.Now().Format(time.TimeOnly), name, fmt.Sprintf(format, args...))
}

// close ends everything; keep leaves the directory, with the logs, behind.
func (s *site) close(keep bool) {
	for _, p := range s.proxies {
		if p != nil {
			p.Stop()
		}
	}
	if s.provider != nil {
		s.provider.Close()
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.server.Stop(ctx); err != nil {
			s.say("%v", err)
		}
	}
	if keep {
		s.say("logs and data are left in %s", s.dir)
		return
	}
	_ = os.RemoveAll(s.dir)
}
