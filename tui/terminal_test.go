package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/fake"
)

// The tests below run the dashboard in a process of its own on a real pseudo-terminal: this test binary, started
// again with a task in its environment.

const taskVariable = "REPRISE_TUI_TEST_TASK"

func TestMain(m *testing.M) {
	if task := os.Getenv(taskVariable); task != "" {
		os.Exit(child(task))
	}
	os.Exit(m.Run())
}

// bursting panics when it is asked for the schedule, in a command.
type bursting struct{ *fake.Store }

func (bursting) UncertainCounts(context.Context, ledger.UncertainQuery) ([]ledger.UncertainCount, error) {
	panic("boom in a command")
}

// child is the dashboard in the other process. The task says where it panics, if anywhere.
func child(task string) int {
	began := time.Now()
	clock := func() time.Time { return fake.Noon.Add(time.Since(began)) }
	n := 0
	if task == "large" {
		n = 100_000
	}
	o := Options{
		Data: fake.New(fake.Options{Now: clock, Uncertain: n}), Language: "en", Theme: "dark", Zone: fake.Zone,
		CrashDir: os.Getenv("CRASH_DIR"),
	}
	switch task {
	case "command":
		o.Data = bursting{fake.New(fake.Options{Now: clock})}
	case "Update", "View", "newApp":
		o.Local = func() time.Time {
			if (task == "newApp" || time.Since(began) > 300*time.Millisecond) && calledFrom("tui.(*app)."+task, "tui."+task) {
				panic("boom in " + task)
			}
			return time.Now()
		}
	}
	if task == "newApp" {
		o.Data = nil
	}
	err := Run(context.Background(), o)
	switch {
	case errors.Is(err, ErrInterrupted):
		return 130
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func calledFrom(names ...string) bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		for _, name := range names {
			if strings.HasSuffix(f.Function, name) {
				return true
			}
		}
		if !more {
			return false
		}
	}
}

// console is a pseudo-terminal with a dashboard on it.
type console struct {
	t        *testing.T
	cmd      *exec.Cmd
	master   *os.File
	tty      *os.File
	before   *term.State
	crashDir string
	mu       sync.Mutex
	out      bytes.Buffer
	gone     chan error
}

func start(t *testing.T, task string, shell ...string) *console {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	c := &console{t: t, master: master, tty: tty, crashDir: filepath.Join(t.TempDir(), "crash"), gone: make(chan error, 1)}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		_ = master.Close()
		_ = tty.Close()
	})
	if err := pty.Setsize(master, &pty.Winsize{Rows: 30, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	if c.before, err = term.GetState(tty.Fd()); err != nil {
		t.Fatal(err)
	}
	args := append(shell, os.Args[0])
	c.cmd = exec.Command(args[0], args[1:]...)
	c.cmd.Env = append(os.Environ(), taskVariable+"="+task, "CRASH_DIR="+c.crashDir, "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, err := master.Read(buf)
			c.mu.Lock()
			c.out.Write(buf[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() { c.gone <- c.cmd.Wait() }()
	return c
}

func (c *console) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

func (c *console) waitFor(part string) {
	c.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(c.output(), part); {
		if time.Now().After(deadline) {
			c.t.Fatalf("never saw %q in\n%q", part, c.output())
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (c *console) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.Reset()
}

func (c *console) types(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.master, s); err != nil {
		c.t.Fatal(err)
	}
}

// ends waits for the process and returns its exit code; it has two seconds.
func (c *console) ends() int {
	c.t.Helper()
	began := time.Now()
	select {
	case err := <-c.gone:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		if err != nil {
			c.t.Fatal(err)
		}
		return 0
	case <-time.After(10 * time.Second):
		c.t.Fatalf("still there after %v", time.Since(began))
		return -1
	}
}

// restored checks that the terminal is as it was: its modes, the main screen, a cursor.
func (c *console) restored() {
	c.t.Helper()
	after, err := term.GetState(c.tty.Fd())
	if err != nil {
		c.t.Fatal(err)
	}
	if *after != *c.before {
		c.t.Fatalf("terminal modes changed: %+v, were %+v", after, c.before)
	}
	time.Sleep(20 * time.Millisecond)
	out := c.output()
	for on, off := range map[string]string{"\x1b[?1049h": "\x1b[?1049l", "\x1b[?25l": "\x1b[?25h", "\x1b[?2004h": "\x1b[?2004l"} {
		if strings.LastIndex(out, off) < strings.LastIndex(out, on) {
			c.t.Fatalf("%q was not undone by %q", on, off)
		}
	}
}

func TestQuitRestoresTheTerminal(t *testing.T) {
	for _, key := range []string{"q", "\x03", ":quit\r"} {
		c := start(t, "plain")
		c.waitFor("aplicar-2026-10-14-v2")
		c.types("4")
		c.waitFor("ev-1042")
		c.types(key)
		if code := c.ends(); code != 0 {
			t.Fatalf("%q: exit code %d", key, code)
		}
		c.restored()
	}
}

func TestPanicAnywhereRestoresTheTerminalAndLeavesItsStackInAFile(t *testing.T) {
	for _, where := range []string{"command", "Update", "View", "newApp"} {
		t.Run(where, func(t *testing.T) {
			c := start(t, where)
			if code := c.ends(); code != 1 {
				t.Fatalf("exit code %d\n%q", code, c.output())
			}
			c.restored()
			files, err := filepath.Glob(filepath.Join(c.crashDir, "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("crash files: %v %v\n%q", files, err, c.output())
			}
			c.waitFor(files[0])
			info, err := os.Stat(files[0])
			if err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("%v %v", info.Mode(), err)
			}
			content, err := os.ReadFile(files[0])
			if err != nil || !bytes.Contains(content, []byte("goroutine")) || !bytes.Contains(content, []byte("panic:")) {
				t.Fatalf("%s: %v", content, err)
			}
		})
	}
}

func TestSignalsEndItAtOnce(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGTERM} {
		c := start(t, "plain")
		c.waitFor("aplicar-2026-10-14-v2")
		began := time.Now()
		if err := c.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if code := c.ends(); code != 130 {
			t.Fatalf("%v: exit code %d", sig, code)
		}
		t.Logf("%v: ended after %v", sig, time.Since(began))
		c.restored()
	}
}

func TestAClosedTerminalEndsIt(t *testing.T) {
	c := start(t, "plain")
	c.waitFor("aplicar-2026-10-14-v2")
	began := time.Now()
	_ = c.tty.Close()
	_ = c.master.Close()
	c.ends()
	t.Logf("ended after %v", time.Since(began))
}

func TestSuspendAndContinue(t *testing.T) {
	c := start(t, "plain", "/bin/sh", "-mc", `"$0"; echo "sto""pped"; fg >/dev/null; echo "en""ded $?"`)
	c.waitFor("aplicar-2026-10-14-v2")
	c.forget()
	c.types("\x1a")
	c.waitFor("stopped")
	c.waitFor("\x1b[?1049h")
	c.waitFor("aplicar-2026-10-14-v2")
	c.types("q")
	c.waitFor("ended 0")
	c.ends()
	c.restored()
}

func TestSuspendIsRefusedWithoutAShell(t *testing.T) {
	c := start(t, "plain")
	c.waitFor("aplicar-2026-10-14-v2")
	c.types("\x1a")
	c.waitFor("There is no shell to come back from.")
	c.types("q")
	if code := c.ends(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

// query is what asks a terminal something: a device status report or an OSC with a question mark.
var query = regexp.MustCompile(`\x1b\[6n|\x1b\][0-9;]*\?`)

func TestTheTerminalIsAskedNothing(t *testing.T) {
	c := start(t, "plain")
	c.waitFor("aplicar-2026-10-14-v2")
	c.types("q")
	c.ends()
	if q := query.FindString(c.output()); q != "" {
		t.Fatalf("asked %q: a late answer would be taken for keys", q)
	}
}

// The time from a key to its frame on a real terminal, with a hundred thousand rows to review. It is printed, not
// judged: the machine may be busy. What is judged is the work done, in TestAHundredThousandRows.
func TestKeyToFrame(t *testing.T) {
	c := start(t, "large")
	c.waitFor("aplicar-2026-10-14-v2")
	c.types("4")
	c.waitFor("ev-1042")
	var times []time.Duration
	for i := range 60 {
		time.Sleep(time.Duration(20+i%7) * time.Millisecond)
		c.forget()
		began := time.Now()
		c.types("j")
		for c.output() == "" && time.Since(began) < 5*time.Second {
			time.Sleep(time.Millisecond)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	t.Logf("key to frame on a terminal: median %v, p95 %v, worst %v", times[30], times[57], times[59])
	c.types("q")
	if code := c.ends(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
}

func TestWithoutATerminal(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), taskVariable+"=plain")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "needs a terminal") || strings.Contains(string(out), "\x1b") {
		t.Fatalf("%v %q", err, out)
	}
}
