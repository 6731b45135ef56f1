package schema_test

import (
	"net"
	"syscall"
	"testing"

	"reprise.dev/reprise/schema/pgtest"
)

func TestAConnectionEndsWhenTheServerIsGone(t *testing.T) {
	conn, err := pgtest.New(t).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	raw, err := conn.Conn().PgConn().Conn().(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]struct{ level, option, want int }{
		"keep-alive":                 {syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
		"idle, s":                    {syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, 15},
		"interval, s":                {syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, 5},
		"probes":                     {syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT, 3},
		"unacknowledged at most, ms": {syscall.IPPROTO_TCP, 0x12, 30_000},
	} {
		var got int
		var failed error
		err := raw.Control(func(fd uintptr) { got, failed = syscall.GetsockoptInt(int(fd), option.level, option.option) })
		if err != nil || failed != nil || got != option.want {
			t.Errorf("%s is %d (%v, %v), want %d", name, got, err, failed, option.want)
		}
	}
}
