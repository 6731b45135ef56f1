package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"reprise.dev/reprise/schema/devserver"
)

// guardVariable makes a test binary the guard of the shared server in the directory that it names.
const guardVariable = "REPRISE_PGTEST_GUARD"

// The shared server must outlive the process that started it and must not outlive the last one that uses it,
// even if that one is killed. So whoever starts it also starts its own program once more as a guard, which
// waits for the lock that every user of the server shares, and then stops the server.
func init() {
	dir := os.Getenv(guardVariable)
	if dir == "" {
		return
	}
	if err := guard(dir); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func guard(dir string) error {
	// Taken exclusively once no test process shares it any more. A new one waits for its share until the
	// guard is gone, and then starts the server again.
	users, err := lock(usersFile(dir), syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer users.Close()
	server, err := devserver.New(serverOptions(dir))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return server.Stop(ctx)
}

// startGuard detaches it: "go test" waits for everybody who holds its output.
func startGuard(dir string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the test's program: %w", err)
	}
	cmd := exec.Command(program)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), guardVariable+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the guard: %w", err)
	}
	return cmd.Process.Release()
}

// lock waits for a lock on a file, which ends when the file is closed.
func lock(path string, how int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}
