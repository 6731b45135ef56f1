package schema

import (
	"strings"
	"syscall"
)

const (
	tcpUserTimeout   = 0x12 // TCP_USER_TIMEOUT, which package syscall does not name
	unacknowledgedMs = 30_000
)

// boundUnacknowledged bounds how long sent bytes may stay unacknowledged. Keep-alive does not cover that
// case, and the system's own limit is about a quarter of an hour.
func boundUnacknowledged(network, _ string, raw syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, unacknowledgedMs)
	})
	if err != nil {
		return err
	}
	return failed
}
