package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// serverCPU is the processor time that the server's processes have taken so far; zero where /proc does not tell. On a
// shared machine it says more than the clock.
func serverCPU(dataDir string) time.Duration {
	text, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if err != nil {
		return 0
	}
	postmaster, _, _ := strings.Cut(string(text), "\n")
	var ticks int64
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		f := strings.Fields(rest) // from the third field on: state, parent, …, utime, stime, cutime, cstime
		if len(f) < 15 || f[1] != postmaster && filepath.Base(filepath.Dir(path)) != postmaster {
			continue
		}
		for _, t := range f[11:15] {
			n, _ := strconv.ParseInt(t, 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / 100
}
