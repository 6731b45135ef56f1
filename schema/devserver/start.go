package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// patience is how long a start is tried again while the remains of a crashed server are still there.
	patience = 10 * time.Second
	// answerLimit is how long a running server may not answer: one that recovers takes its time.
	answerLimit = time.Minute
	// connectLimit bounds one attempt to connect to it.
	connectLimit = 5 * time.Second
	// poll is how often a starting or stopping server is looked at.
	poll = 15 * time.Millisecond
	// maxLog is the size in bytes at which a start puts the log aside.
	maxLog = 10 << 20
)

// Start makes the server accept connections: it creates it, starts it, or finds it running. The server stays
// when the caller ends.
func (s *Server) Start(ctx context.Context) error {
	unlock, err := lockFile(ctx, filepath.Join(s.dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Lock()
	defer s.mu.Unlock()

	for deadline := time.Now().Add(answerLimit); ; {
		running, ok := s.running()
		if !ok {
			break
		}
		if attached, err := s.attach(ctx, running); attached || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the development server (process %d) does not answer: stop it first, or see %s", running.pid, s.LogFile())
		}
		if err := pause(ctx); err != nil {
			return fmt.Errorf("wait for the development server in %s: %w", s.dir, err)
		}
	}
	binaries, err := s.initialise(ctx)
	if err != nil {
		return err
	}
	if err := s.launchPatiently(ctx, binaries); err != nil {
		return err
	}
	return s.setPassword(ctx)
}

// attach learns where a server that somebody started listens. It reports false if the server does not answer:
// it is still starting, or about to go.
func (s *Server) attach(ctx context.Context, running postmaster) (bool, error) {
	if !running.ready {
		return false, nil
	}
	if s.options.TCP && !running.tcp {
		return false, fmt.Errorf("the development server in %s runs without TCP: stop it first", s.dir)
	}
	s.port = running.port
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.socketURL("postgres"))
	if err != nil {
		return false, nil
	}
	return true, conn.Close(ctx)
}

// initialise returns the binaries to use, and makes the data directory unless there is one. It is made under
// another name first, so that a half-made one is never taken for a whole one.
func (s *Server) initialise(ctx context.Context) (binaries string, err error) {
	version, err := os.ReadFile(filepath.Join(s.data(), "PG_VERSION"))
	if err == nil {
		return findBinaries(strings.TrimSpace(string(version)))
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("look at the data directory: %w", err)
	}
	if binaries, err = findBinaries(""); err != nil {
		return "", err
	}
	half := s.data() + ".new"
	if err := os.RemoveAll(half); err != nil {
		return "", fmt.Errorf("remove half-made data directory: %w", err)
	}
	if err := s.account.mkdir(half); err != nil {
		return "", fmt.Errorf("make data directory: %w", err)
	}
	arguments := []string{
		"-D", half, "-U", superuser, "-E", "UTF8", "--locale=C", "--data-checksums",
		"--auth-local=trust", "--auth-host=scram-sha-256",
	}
	if s.options.NoSync {
		arguments = append(arguments, "--no-sync")
	}
	if out, err := s.command(ctx, binaries, "initdb", arguments...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, tail(out))
	}
	if err := os.Rename(half, s.data()); err != nil {
		return "", fmt.Errorf("put data directory in place: %w", err)
	}
	return binaries, nil
}

// launchPatiently starts the server, again and again for a while if what is in the way is about to go: the
// processes of a crashed server, a zombie that nobody collected yet, a port that was free a moment ago. The
// server's own files are never removed for it.
func (s *Server) launchPatiently(ctx context.Context, binaries string) error {
	fixedPort := s.port != 0
	for deadline := time.Now().Add(patience); ; {
		if !fixedPort {
			port, err := FreePort(ctx)
			if err != nil {
				return err
			}
			s.port = port
		}
		err := s.launch(ctx, binaries)
		var failure *startError
		if err == nil || !errors.As(err, &failure) || !failure.passing() {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w\nif no PostgreSQL uses %s any more, remove %s", err, s.data(), filepath.Join(s.data(), "postmaster.pid"))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// startError is a server that ended before it was ready.
type startError struct {
	err error
	log string // what it said
}

func (e *startError) Error() string {
	return fmt.Sprintf("the development server did not start: %v\n%s", e.err, strings.TrimSpace(e.log))
}

func (e *startError) Unwrap() error { return e.err }

// passing reports whether waiting may help.
func (e *startError) passing() bool {
	return slices.ContainsFunc([]string{
		`lock file "postmaster.pid" already exists`,
		"pre-existing shared memory block",
		"Address already in use",
		"could not create any TCP/IP sockets",
		".lock\" already exists", // of the socket
	}, func(sign string) bool { return strings.Contains(e.log, sign) })
}

// launch starts the server once, and waits until it is ready or has ended.
func (s *Server) launch(ctx context.Context, binaries string) error {
	socket := socketDir(s.dir, s.port)
	if err := s.account.mkdir(socket); err != nil {
		return fmt.Errorf("make socket directory: %w", err)
	}
	log, err := s.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	before, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}

	// Not bound to ctx: the server outlives this call.
	cmd := s.command(context.WithoutCancel(ctx), binaries, "postgres", s.arguments(socket)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // collects it, whenever it ends while this process lives
	for {
		// The file may still be another server's, hence the pid.
		if p, ok := readPostmaster(s.data()); ok && p.pid == cmd.Process.Pid && p.ready {
			return nil
		}
		select {
		case err := <-ended:
			return &startError{err: err, log: readFrom(s.LogFile(), before)}
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGINT)
			<-ended //nolint:errcheck // that it ended is what counts
			return fmt.Errorf("start postgres: %w", ctx.Err())
		case <-time.After(poll):
		}
	}
}

func (s *Server) arguments(socket string) []string {
	settings := map[string]string{
		"listen_addresses":        "",
		"unix_socket_directories": socket,
		"unix_socket_permissions": "0700",
		"log_timezone":            "UTC",
		"timezone":                "UTC",
		"log_line_prefix":         "%m [%p] %q%a ",
	}
	if s.options.TCP {
		settings["listen_addresses"] = "127.0.0.1"
	}
	if s.options.NoSync {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
	}
	maps.Copy(settings, s.options.Settings)
	arguments := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		arguments = append(arguments, "-c", name+"="+settings[name])
	}
	return arguments
}

// keepMemory tells glibc not to give a session's memory back to the kernel after each statement only to ask for it anew:
// on a virtual machine that took a third of a session's processor time.
var keepMemory = []string{"MALLOC_TOP_PAD_=4194304", "MALLOC_TRIM_THRESHOLD_=67108864"}

// command prepares a program of PostgreSQL, as the server's user and in a session of its own: neither Ctrl-C
// nor the end of the terminal reaches it. Nothing of the caller's environment does either.
func (s *Server) command(ctx context.Context, binaries, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(binaries, name), arguments...)
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}, keepMemory...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.account.credential(), Setsid: true}
	return cmd
}

func (s *Server) openLog() (*os.File, error) {
	if info, err := os.Stat(s.LogFile()); err == nil && info.Size() > maxLog {
		if err := os.Rename(s.LogFile(), s.LogFile()+".1"); err != nil {
			return nil, fmt.Errorf("put log aside: %w", err)
		}
	}
	file, err := os.OpenFile(s.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return file, nil
}

// setPassword makes the password in the file the one of the TCP port.
func (s *Server) setPassword(ctx context.Context) error {
	if !s.options.TCP {
		return nil
	}
	conn, err := pgx.Connect(ctx, s.socketURL("postgres"))
	if err != nil {
		return fmt.Errorf("connect to the new server: %w", err)
	}
	defer conn.Close(ctx)
	// A utility statement takes no parameters; the password is letters and digits.
	_, err = conn.Exec(ctx, fmt.Sprintf("alter role %s password '%s'", superuser, s.password))
	if err != nil {
		return fmt.Errorf("set the password of the TCP port: %w", err)
	}
	return nil
}

// FreePort asks the system for a port of the loopback. Somebody else may take it before it is used.
func FreePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(poll):
		return nil
	}
}

func readFrom(path string, offset int64) string {
	content, err := os.ReadFile(path)
	if err != nil || int64(len(content)) < offset {
		return ""
	}
	return tail(content[offset:])
}

// tail is as much of an output as an error message should hold.
func tail(output []byte) string {
	const most = 2000
	return string(output[max(0, len(output)-most):])
}
