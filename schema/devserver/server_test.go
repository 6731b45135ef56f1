package devserver_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/schema/devserver"
)

// startVariable makes the test's program start the server in the directory that it names, and end.
const startVariable = "REPRISE_DEVSERVER_TEST_START"

func TestMain(m *testing.M) {
	if dir := os.Getenv(startVariable); dir != "" {
		server, err := devserver.New(devserver.Options{Dir: dir, NoSync: true})
		if err == nil {
			err = server.Start(context.Background())
		}
		if err != nil {
			println(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// stateDir is one that the server's user can enter, also when the test runs as root.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reprise-devserver-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// server names one, without starting it; it is stopped when the test ends.
func server(t *testing.T, options devserver.Options) *devserver.Server {
	t.Helper()
	options.NoSync = true
	s, err := devserver.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func start(t *testing.T, s *devserver.Server) (pid int) {
	t.Helper()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid, ok := s.Running(t.Context())
	if !ok {
		t.Fatal("it does not run after Start")
	}
	return pid
}

func stop(t *testing.T, s *devserver.Server) {
	t.Helper()
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if pid, ok := s.Running(t.Context()); ok {
		t.Fatalf("process %d still runs after Stop", pid)
	}
}

// ask connects, runs statements and returns what the last one answers.
func ask(t *testing.T, url string, statements ...string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	last := len(statements) - 1
	for _, statement := range statements[:last] {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	var answer string
	if err := conn.QueryRow(t.Context(), statements[last]).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", statements[last], err)
	}
	return answer
}

func TestStartAttachStopAndStartAgain(t *testing.T) {
	dir := stateDir(t)
	one := server(t, devserver.Options{Dir: dir})
	if _, ok := one.Running(t.Context()); ok {
		t.Fatal("it runs before Start")
	}
	if err := one.CreateDatabase(t.Context(), "reprise"); !errors.Is(err, devserver.ErrNotRunning) {
		t.Errorf("CreateDatabase before Start: %v, want ErrNotRunning", err)
	}
	pid := start(t, one)
	if again := start(t, one); again != pid {
		t.Errorf("a second Start made process %d, want %d to stay", again, pid)
	}
	for range 2 { // the second time it is there
		if err := one.CreateDatabase(t.Context(), "reprise"); err != nil {
			t.Fatal(err)
		}
	}
	ask(t, one.URL("reprise"), `create table kept (n int)`, `insert into kept values (42)`, `select 'ok'`)

	other := server(t, devserver.Options{Dir: dir + "/."}) // another spelling
	if attached := start(t, other); attached != pid {
		t.Errorf("the other one made process %d, want it to attach to %d", attached, pid)
	}
	if got := ask(t, other.URL("reprise"), `select n::text from kept`); got != "42" {
		t.Errorf("the other one reads %s, want 42", got)
	}
	if got := ask(t, other.URL("reprise"), `show listen_addresses`); got != "" {
		t.Errorf("it listens on %q, want the socket only", got)
	}
	if got := ask(t, other.URL("reprise"), `select version()`); !strings.HasPrefix(got, "PostgreSQL") {
		t.Errorf("version %q", got)
	}

	stop(t, other)
	stop(t, one) // does nothing
	// It has let go of all that it had; the kernel may not have counted it among the dead yet.
	for end := time.Now().Add(30 * time.Second); syscall.Kill(pid, 0) == nil && !zombie(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d is still there", pid)
		}
	}
	start(t, one)
	if got := ask(t, one.URL("reprise"), `select n::text from kept`); got != "42" {
		t.Errorf("after a restart it reads %s, want 42", got)
	}
}

// zombie reports whether a process ended and only waits to be collected.
func zombie(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.HasPrefix(string(out), "Z")
}

func TestManyStartsAtOnceAreOneServer(t *testing.T) {
	dir := stateDir(t)
	var wait sync.WaitGroup
	pids := make([]int, 4)
	problems := make([]error, len(pids))
	for i := range pids {
		s := server(t, devserver.Options{Dir: dir})
		wait.Go(func() {
			problems[i] = s.Start(t.Context())
			pids[i], _ = s.Running(t.Context())
		})
	}
	wait.Wait()
	if err := errors.Join(problems...); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if pid == 0 || pid != pids[0] {
			t.Errorf("processes %v, want one", pids)
		}
	}
}

func TestItOutlivesTheProgramThatStartedIt(t *testing.T) {
	dir := stateDir(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := server(t, devserver.Options{Dir: dir})
	starter := exec.CommandContext(t.Context(), program)
	starter.Env = append(os.Environ(), startVariable+"="+dir)
	// Waits for everybody who holds the output, so it also proves that the server does not.
	if out, err := starter.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pid, ok := s.Running(t.Context())
	if !ok {
		t.Fatal("it ended with the program that started it")
	}
	if session, err := exec.Command("ps", "-o", "sid=", "-p", strconv.Itoa(pid)).Output(); err != nil || strings.TrimSpace(string(session)) != strconv.Itoa(pid) {
		t.Errorf("it is in session %s (%v), want its own: a closed terminal must not reach it", session, err)
	}
	stop(t, s)
}

func TestItStartsAgainAfterACrash(t *testing.T) {
	s := server(t, devserver.Options{Dir: stateDir(t)})
	for round := range 3 {
		pid := start(t, s)
		statements := []string{`insert into kept values (1)`, `select count(*)::text from kept`}
		if round == 0 {
			statements = append([]string{`create table kept (n int)`}, statements...)
		}
		if got, want := ask(t, s.URL("postgres"), statements...), strconv.Itoa(round+1); got != want {
			t.Errorf("round %d: %s rows, want %s", round, got, want)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	start(t, s)
	if got := ask(t, s.URL("postgres"), `select count(*)::text from kept`); got != "3" {
		t.Errorf("%s rows survived, want 3", got)
	}
}

func TestAnotherProcessUnderAnOldNumberIsLeftAlone(t *testing.T) {
	dir := stateDir(t)
	s := server(t, devserver.Options{Dir: dir})
	start(t, s)
	stop(t, s)

	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- bystander.Wait() }()
	defer func() {
		if err := bystander.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-ended //nolint:errcheck // that it ended is what counts
	}()
	pidFile := filepath.Join(dir, "data", "postmaster.pid")
	stale := strconv.Itoa(bystander.Process.Pid) + "\n" + filepath.Join(dir, "data") + "\n1\n5432\n" + filepath.Join(dir, "run") + "\n\n  1 1\nready   \n"
	if err := os.WriteFile(pidFile, []byte(stale), 0o644); err != nil {
		t.Fatal(err)
	}
	if pid, ok := s.Running(t.Context()); ok {
		t.Errorf("process %d is taken for the server", pid)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-ended: //nolint:errcheck // that it ended is what counts
		t.Fatal("Stop ended a process that is not the server")
	case <-time.After(50 * time.Millisecond):
	}
	if err := os.Remove(pidFile); err != nil {
		t.Error(err)
	}
}

func TestTCPNeedsThePassword(t *testing.T) {
	s := server(t, devserver.Options{Dir: stateDir(t), TCP: true})
	start(t, s)
	url := s.URL("postgres")
	if got := ask(t, url, `select host(inet_server_addr())`); got != "127.0.0.1" {
		t.Errorf("connected through %s, want 127.0.0.1", got)
	}
	if got := ask(t, url, `show listen_addresses`); got != "127.0.0.1" {
		t.Errorf("it listens on %q, want loopback only", got)
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(s.Dir(), "password"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the password's file: %v, %v; want it closed to others", info, err)
	}
	config.Password = "wrong"
	if conn, err := pgx.ConnectConfig(t.Context(), config); err == nil {
		_ = conn.Close(t.Context())
		t.Error("a wrong password is let in")
	}
	// Clients keep their URL over a restart.
	stop(t, s)
	start(t, s)
	if s.URL("postgres") != url {
		t.Error("the URL changed with a restart")
	}
	ask(t, url, `select 'ok'`)
}

func TestALongPathGetsItsSocketElsewhere(t *testing.T) {
	dir := filepath.Join(stateDir(t), strings.Repeat("long", 30))
	s := server(t, devserver.Options{Dir: dir})
	start(t, s)
	sockets := ask(t, s.URL("postgres"), `show unix_socket_directories`)
	if !strings.HasPrefix(sockets, "/tmp/reprise-") {
		t.Errorf("socket in %s", sockets)
	}
	stop(t, s)
	if _, err := os.Stat(sockets); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there (%v)", sockets, err)
	}
}

func TestAHalfMadeServerIsMadeAnew(t *testing.T) {
	dir := stateDir(t)
	half := filepath.Join(dir, "data.new")
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(half, "PG_VERSION"), []byte("15\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, server(t, devserver.Options{Dir: dir}))
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	dir := stateDir(t)
	s := server(t, devserver.Options{Dir: dir, Settings: map[string]string{"shared_buffers": "nonsense"}})
	err := s.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "shared_buffers") {
		t.Errorf("got %v, want the server's own words", err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "postgres.log"))
	if err != nil {
		t.Fatal(err)
	}
	if tries := strings.Count(string(log), "FATAL"); tries != 1 {
		t.Errorf("started %d times, although trying again cannot help:\n%s", tries, log)
	}
}

func TestDataOfAnotherMajorVersionIsLeftAlone(t *testing.T) {
	dir := stateDir(t)
	s := server(t, devserver.Options{Dir: dir})
	start(t, s)
	stop(t, s)
	if err := os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "made by PostgreSQL 9") {
		t.Errorf("got %v, want it to name the version to install", err)
	}
}
