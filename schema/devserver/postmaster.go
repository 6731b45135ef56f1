package devserver

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// postmaster is what postmaster.pid, the file that a running server keeps in its data directory, says.
type postmaster struct {
	pid    int
	port   int
	socket string // directory
	tcp    bool   // listens on TCP too
	ready  bool   // accepts connections
}

// readPostmaster reads the file; ok is false if there is none, or only the beginning of one.
// Its lines are: pid, data directory, start time, port, socket directory, listen address, shared memory, status.
func readPostmaster(data string) (p postmaster, ok bool) {
	content, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return p, false
	}
	lines := strings.Split(string(content), "\n")
	for len(lines) < 8 {
		lines = append(lines, "")
	}
	p.pid, err = strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil || p.pid <= 1 {
		return p, false
	}
	p.port, _ = strconv.Atoi(strings.TrimSpace(lines[3])) // 0: not written yet
	p.socket = lines[4]
	p.tcp = strings.TrimSpace(lines[5]) != ""
	p.ready = strings.TrimSpace(lines[7]) == "ready"
	return p, true
}

// serves reports whether the process is a postmaster over this data directory, and not another one that got
// the same number after a crash. A dead process that nobody collected yet (a zombie) has no arguments.
func serves(pid int, data string) bool {
	arguments, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	switch {
	case err == nil:
		fields := bytes.Split(arguments, []byte{0})
		for i := range fields[:len(fields)-1] {
			if string(fields[i]) == "-D" && string(fields[i+1]) == data {
				return true
			}
		}
		return false
	case hasProc():
		return false
	}
	out, err := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), "-D "+data+" ")
}

func hasProc() bool {
	_, err := os.Stat("/proc/self/cmdline")
	return !errors.Is(err, os.ErrNotExist)
}
