package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

// binary is the program as users run it, built once, with the failpoints that only tests have.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reprise-test-bin")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "reprise")
	out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if path, err := binary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// site is a database, a counting provider in the test's process, and a configuration file.
type site struct {
	t        *testing.T
	url      string
	pool     *pgxpool.Pool
	provider *faultprovider.Server
	config   string
	env      []string
}

const notify = "notificar-vendedor"

func newSite(t *testing.T, onFailure ledger.OnFailure, more string) *site {
	t.Helper()
	release := onFailure == ledger.Release
	p, err := faultprovider.Start(faultprovider.Options{Dedup: release, KeepBodies: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	s := &site{t: t, url: pgtest.NewURL(t), provider: p, config: filepath.Join(t.TempDir(), "reprise.toml")}
	if s.pool, err = schema.Open(context.Background(), s.url, schema.Options{MaxConns: 4, ApplicationName: "test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.pool.Close)
	text := fmt.Sprintf(`
[run]
slice = "2s"
gap_wait = "1s"
[ledger]
sweep_age = "3s"
margin = "500ms"
[effects.%s]
mode = "aplicar"
on_failure = %q
provider = "p"
[providers.p]
url = %q
timeout = "1s"
concurrency = 8
deduplicates = %v
breaker_after = 100000
%s`, notify, onFailure, p.URL+"/notify", release, more)
	if err := os.WriteFile(s.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// configure changes values of the configuration: pairs of what is written and what is to be.
func (s *site) configure(pairs ...string) {
	s.t.Helper()
	text, err := os.ReadFile(s.config)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			s.t.Fatalf("the configuration has no %s", pairs[i])
		}
	}
	if err := os.WriteFile(s.config, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

type result struct {
	code        int
	out, errout string
}

// output is what a process wrote so far; it may be read meanwhile.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *output) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *output) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts the program with a bare environment, closed standard input and no terminal: as cron would.
func (s *site) start(args ...string) (cmd *exec.Cmd, out, errout *output) {
	s.t.Helper()
	path, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd = exec.Command(path, append([]string{"--config", s.config, "--database", s.url}, args...)...)
	cmd.Env = s.env
	out, errout = new(output), new(output)
	cmd.Stdout, cmd.Stderr = out, errout
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return cmd, out, errout
}

func (s *site) run(args ...string) result {
	s.t.Helper()
	cmd, out, errout := s.start(args...)
	defer endBy(cmd, 90*time.Second).Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errout.String()}
}

// endBy makes a program that hangs say where, and end.
func endBy(cmd *exec.Cmd, limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
}

func (s *site) want(code int, args ...string) result {
	s.t.Helper()
	r := s.run(args...)
	if r.code != code {
		s.t.Fatalf("reprise %s: exit %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.errout)
	}
	return r
}

func (s *site) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.pool.Exec(context.Background(), sql, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) int(sql string, args ...any) int {
	s.t.Helper()
	var n int
	if err := s.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *site) archive(n int) {
	s.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select g, 'ev-' || g, 'pedido.pago', 'P-' || (g % 20), g / 20 + 1, jsonb_build_object('valorCentavos', 1000 + g, 'percentual', 5),
			'2026-10-14T12:00:00Z'::timestamptz + g * interval '1 second'
		from generate_series(1, $1) g`, n)
}

func effectKey(i int) string { return ledger.Key(fmt.Sprintf("ev-%d", i), notify) }

// age makes every reservation older than the sweep age. The server may still be ending the transactions of a
// killed process, in any order.
func (s *site) age() {
	s.t.Helper()
	var err error
	for range 10 {
		_, err = s.pool.Exec(context.Background(), `
			update efeito_aplicado set atualizado_em = atualizado_em - interval '1 minute', tentativa_em = tentativa_em - interval '1 minute'
			where estado = 'reservado'`)
		if err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.t.Fatal(err)
}

// quiet lets everything come to its end: sweep at full age, one more pass, one more replay of the whole.
func (s *site) quiet(id string) {
	s.t.Helper()
	for range 2 {
		s.age()
		if r := s.run("run", "--once"); r.code != exitDone && r.code != exitPartial {
			s.t.Fatalf("run --once: exit %d\n%s%s", r.code, r.out, r.errout)
		}
	}
	if r := s.run("replay", "run", id); r.code != exitDone && r.code != exitPartial {
		s.t.Fatalf("replay run: exit %d\n%s%s", r.code, r.out, r.errout)
	}
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	s := newSite(t, ledger.Keep, "")
	s.archive(20)
	s.want(exitUsage, "replay", "queue", "--positions", "1-10")
	s.want(exitUsage, "replay", "queue", "--from", "2026-10-14")
	s.want(exitUsage, "nonsense")
	s.want(exitUsage, "run", "--nonsense")
	s.want(exitUsage, "--config", "/nowhere.toml", "replay", "list")
	s.want(exitError, "replay", "run", "nobody")
	s.want(exitUsage, "tui")
	s.want(exitDone, "replay", "queue", "--id", "a", "--positions", "1:20", "--apply")
	s.want(exitRefused, "replay", "queue", "--id", "a", "--positions", "1:10", "--apply")
	s.want(exitDone, "replay", "pause", "a")
	s.want(exitRefused, "replay", "run", "a")
	s.want(exitDone, "replay", "resume", "a")
	s.provider.Script(effectKey(3), faultprovider.ActThenHang)
	s.want(exitPartial, "replay", "run", "a")
	s.want(exitRefused, "review", "decide", effectKey(3), "confirm", "--note", "x")
	s.want(exitDone, "review", "decide", effectKey(3), "confirm", "--note", "x", "--force")
	s.want(exitRefused, "review", "decide", effectKey(3), "confirm", "--note", "x", "--force")
	s.want(exitRefused, "review", "decide", "nobody:"+notify, "confirm", "--note", "x")
	for key, refusals := range map[string]int{effectKey(3): 2, "nobody:" + notify: 1} {
		if r := s.want(exitDone, "review", "show", key); strings.Count(r.out, ledger.LogRefusedDecision) != refusals {
			t.Errorf("refusals that are shown for %s, want %d:\n%s", key, refusals, r.out)
		}
	}
	s.want(exitDone, "verify")
	// The test server trades durability for speed; the doctor must say so.
	if r := s.want(exitError, "doctor"); !strings.Contains(r.out, "fsync is off") || strings.Count(r.out, "✗") != 1 {
		t.Error(r.out)
	}
	s.want(exitDone, "config", "check")
	s.want(exitDone, "run", "--once")
	s.want(exitDone, "sweep")
	for _, help := range [][]string{{"--help"}, {"replay", "queue", "--help"}, {"review", "decide", "--help"}, {"import", "--help"}, {"provider", "--help"}} {
		if r := s.want(exitDone, help...); !strings.Contains(r.out, "reprise") {
			t.Errorf("%v: %s", help, r.out)
		}
	}
}

func TestJSONOutput(t *testing.T) {
	t.Parallel()
	s := newSite(t, ledger.Keep, "")
	s.archive(20)
	r := decode[batch.Replay](t, s.want(exitDone, "replay", "queue", "--id", "a", "--positions", "1:20", "--json").out)
	if r.State != batch.Queued || r.Mode != batch.Simulate {
		t.Fatalf("%+v", r)
	}
	r = decode[batch.Replay](t, s.want(exitDone, "replay", "run", "a", "--json").out)
	if r.State != batch.Done || r.Summary.Read != 20 {
		t.Fatalf("%+v", r)
	}
	if list := decode[[]batch.Replay](t, s.want(exitDone, "replay", "list", "--json").out); len(list) != 1 {
		t.Fatalf("%+v", list)
	}
}

// TestP8_RunOnceDrainsTheQueue as a system cron would call it.
func TestP8_RunOnceDrainsTheQueue(t *testing.T) {
	t.Parallel()
	s := newSite(t, ledger.Keep, "")
	s.archive(100)
	s.want(exitDone, "replay", "queue", "--id", "a", "--positions", "1:60", "--apply")
	s.want(exitDone, "replay", "queue", "--id", "b", "--positions", "61:100", "--apply")
	s.want(exitDone, "run", "--once")
	if n := s.int(`select count(*) from reprocessamento where estado = 'concluido'`); n != 2 {
		t.Errorf("%d replays are done", n)
	}
	for i := 1; i <= 100; i++ {
		if n := s.provider.Delivered(effectKey(i)); n != 1 {
			t.Errorf("%s was delivered %d times", effectKey(i), n)
		}
	}
}
