//go:build !linux

package batch

import (
	"os"
	"syscall"
	"time"
)

var started = uint64(time.Now().UnixNano())

func processStart() uint64 { return started }

// startOf cannot tell when another process began; it only tells a dead one (0) from a live one.
func startOf(pid int) uint64 {
	if pid == os.Getpid() {
		return started
	}
	p, err := os.FindProcess(pid)
	if err != nil || p.Signal(syscall.Signal(0)) != nil {
		return 0
	}
	return 1
}
