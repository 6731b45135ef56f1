//go:build failpoint

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var (
	name, count, _ = strings.Cut(os.Getenv("REPRISE_FAILPOINT"), ":")
	left           = func() *atomic.Int64 {
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			n = 1
		}
		v := new(atomic.Int64)
		v.Store(n)
		return v
	}()
)

// Hit marks a step and, if it is the one that was asked for, ends the process as a crash would.
func Hit(step string) {
	if step == name && left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal arrives before anything else happens
	}
}
