package schema

import (
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

// dialer makes connections that end when the other side is gone: after 30 s of silence in which nobody
// answers, be it that we wait for an answer or that our own bytes are not acknowledged.
func dialer(conn *pgx.ConnConfig) *net.Dialer {
	return &net.Dialer{
		Timeout: conn.ConnectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable:   true,
			Idle:     15 * time.Second,
			Interval: 5 * time.Second,
			Count:    3,
		},
		Control: boundUnacknowledged,
	}
}
