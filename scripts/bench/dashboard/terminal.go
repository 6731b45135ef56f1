package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
)

// cursor marks the selected row: a frame that follows a key holds it.
const cursor = "▌"

// terminal is a pseudo-terminal with the dashboard on it.
type terminal struct {
	cmd    *exec.Cmd
	master *os.File
	mu     sync.Mutex
	out    bytes.Buffer // since the last key
	fresh  chan struct{}
	gone   chan struct{}
}

func open(cmd *exec.Cmd) (*terminal, error) {
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor")
	cmd.Stdout, cmd.Stderr = nil, nil
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 200})
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	t := &terminal{cmd: cmd, master: master, fresh: make(chan struct{}, 1), gone: make(chan struct{})}
	go t.read()
	return t, nil
}

func (t *terminal) read() {
	defer close(t.gone)
	buf := make([]byte, 1<<16)
	for {
		n, err := t.master.Read(buf)
		if err != nil {
			return
		}
		t.mu.Lock()
		t.out.Write(buf[:n])
		t.mu.Unlock()
		select {
		case t.fresh <- struct{}{}:
		default:
		}
	}
}

// press sends a key and waits for output that holds a text.
func (t *terminal) press(key, want string) error {
	t.mu.Lock()
	t.out.Reset()
	t.mu.Unlock()
	if _, err := t.master.WriteString(key); err != nil {
		return err
	}
	patience := time.After(20 * time.Second)
	for {
		t.mu.Lock()
		seen := bytes.Contains(t.out.Bytes(), []byte(want))
		t.mu.Unlock()
		if seen {
			return nil
		}
		select {
		case <-t.fresh:
		case <-t.gone:
			return fmt.Errorf("the dashboard ended: %q", tail(t.out.String()))
		case <-patience:
			return fmt.Errorf("no frame with %q after key %q: %q", want, key, tail(t.out.String()))
		}
	}
}

func tail(s string) string { return s[max(0, len(s)-200):] }

// walk presses keys as a person does who holds one down now and then, and measures each up to its frame.
func (t *terminal) walk(ctx context.Context, keys int) ([]time.Duration, error) {
	var times []time.Duration
	for i := range keys {
		if err := wait(ctx, time.Duration(40+i*7%60)*time.Millisecond); err != nil { // out of step with the frames
			return nil, err
		}
		key := "j"
		switch i % 20 {
		case 9:
			key = "\x1b[6~" // page down
		case 19:
			key = "k"
		}
		began := time.Now()
		if err := t.press(key, cursor); err != nil {
			return nil, err
		}
		times = append(times, time.Since(began))
	}
	return times, nil
}

// cpu is the processor time that the dashboard has taken.
func (t *terminal) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", t.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	var ticks int64
	for _, f := range fields[11:13] { // utime, stime
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// peakRSS is the most memory that it held, in bytes.
func (t *terminal) peakRSS() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kilobytes << 10
}

func (t *terminal) close() {
	_ = t.cmd.Process.Signal(syscall.SIGTERM)
	_ = t.cmd.Wait()
	_ = t.master.Close()
}
