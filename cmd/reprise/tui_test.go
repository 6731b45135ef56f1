package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"reprise.dev/reprise/schema"
)

// The dashboard waits for a database that is away; what only a person can mend ends it with its reason.
func TestAway(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil { // nobody listens there any more
		t.Fatal(err)
	}
	pool, err := schema.Open(ctx, "postgres://reprise@"+address+"/reprise?sslmode=disable", schema.Options{Lazy: true})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	refused := schema.Check(ctx, pool)
	for _, c := range []struct {
		err  error
		want bool
	}{
		{refused, true},
		{fmt.Errorf("read: %w", context.DeadlineExceeded), true},
		{&pgconn.PgError{Code: "57P03"}, true},  // it is starting up
		{&pgconn.PgError{Code: "53300"}, true},  // too many connections
		{&pgconn.PgError{Code: "3D000"}, false}, // no such database
		{&pgconn.PgError{Code: "28P01"}, false}, // wrong password
		{schema.ErrNotMigrated, false},
		{schema.ErrNewer, false},
		{errors.New("anything else"), false},
	} {
		if got := away(c.err); got != c.want {
			t.Errorf("away(%v) = %v", c.err, got)
		}
	}
}
