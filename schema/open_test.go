package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

func TestOpenSetsUpEachConnection(t *testing.T) {
	pool, err := schema.Open(t.Context(), pgtest.NewURL(t), schema.Options{ApplicationName: "reprise run", MaxConns: 3, StatementTimeout: 1500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for setting, want := range map[string]string{
		"application_name":                    "reprise run",
		"statement_timeout":                   "1500ms",
		"idle_in_transaction_session_timeout": "1min",
		"TimeZone":                            "UTC",
		"tcp_keepalives_idle":                 "15",
		"tcp_keepalives_interval":             "5",
		"tcp_keepalives_count":                "3",
	} {
		if got := query[string](t, pool, `select current_setting($1)`, setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	if got := pool.Config().MaxConns; got != 3 {
		t.Errorf("MaxConns is %d, want 3", got)
	}
	if got := pool.Config().ConnConfig.ConnectTimeout; got != schema.DefaultConnectTimeout {
		t.Errorf("connect time-out is %v, want %v", got, schema.DefaultConnectTimeout)
	}
	if at := query[time.Time](t, pool, `select timestamptz '2026-10-14 00:00:00-03'`); at.Location() != time.UTC || at.Hour() != 3 {
		t.Errorf("an instant is read as %v, want it in UTC", at)
	}
}

func TestAStalledStatementEnds(t *testing.T) {
	pool, err := schema.Open(t.Context(), pgtest.NewURL(t), schema.Options{StatementTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	_, err = pool.Exec(t.Context(), `select pg_sleep(60)`)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != pgerrcode.QueryCanceled {
		t.Errorf("got %v, want the server to cancel it", err)
	}
}

func TestTheURLWinsOverDefaults(t *testing.T) {
	pool := open(t, pgtest.NewURL(t)+"&statement_timeout=7000&application_name=mine&pool_max_conns=2&connect_timeout=9&timezone=America/Sao_Paulo")
	for setting, want := range map[string]string{
		"statement_timeout": "7s",
		"application_name":  "mine",
		"TimeZone":          "UTC", // except for this one: nothing may depend on it
	} {
		if got := query[string](t, pool, `select current_setting($1)`, setting); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	if config := pool.Config(); config.MaxConns != 2 || config.ConnConfig.ConnectTimeout != 9*time.Second {
		t.Errorf("MaxConns %d, connect time-out %v; want 2 and 9s", config.MaxConns, config.ConnConfig.ConnectTimeout)
	}
}

func TestTheSmallerPoolCounts(t *testing.T) {
	for _, tc := range []struct {
		setting    string
		asked, got int
	}{{"", 7, 7}, {"&pool_max_conns=2", 7, 2}, {"&pool_max_conns=9", 7, 7}, {"&pool_max_conns=9", 0, 9}} {
		pool, err := schema.Open(t.Context(), pgtest.NewURL(t)+tc.setting, schema.Options{MaxConns: tc.asked})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		if got := int(pool.Config().MaxConns); got != tc.got {
			t.Errorf("%d asked for, %q in the URL: %d", tc.asked, tc.setting, got)
		}
	}
}

func TestValuesAreSentAlikeInEveryMode(t *testing.T) {
	type state string
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			pool := open(t, pgtest.NewURL(t)+"&default_query_exec_mode="+mode)
			at := time.Date(2026, 10, 14, 3, 0, 0, 123456000, time.UTC)
			content := json.RawMessage(`{"é": "'\\"}`)
			var (
				gotContent json.RawMessage
				gotList    []json.RawMessage
				gotState   state
				gotHash    []byte
				gotAt      time.Time
				gotIDs     []string
				gotPlaces  []int64
				gotNothing *string
			)
			err := pool.QueryRow(t.Context(), `select $1::jsonb, $2::jsonb[], $3::text, $4::bytea, $5::timestamptz, $6::text[], $7::bigint[], $8::text`,
				content, []json.RawMessage{content, content}, state("incerto"), []byte{0, 255}, at, []string{"a,b", `"c"`}, []int64{1, 2}, nil,
			).Scan(&gotContent, &gotList, &gotState, &gotHash, &gotAt, &gotIDs, &gotPlaces, &gotNothing)
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprint(string(gotContent), len(gotList), gotState, gotHash, gotAt, gotIDs, gotPlaces, gotNothing)
			want := fmt.Sprint(string(content), 2, "incerto", []byte{0, 255}, at, []string{"a,b", `"c"`}, []int64{1, 2}, (*string)(nil))
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestAPoolerIsSentNoParameterThatItRefuses(t *testing.T) {
	pool := open(t, pgtest.NewURL(t)+"&default_query_exec_mode=exec")
	for name := range pool.Config().ConnConfig.RuntimeParams {
		if name != "application_name" && name != "timezone" {
			t.Errorf("the start-up packet holds %s", name)
		}
	}
}

func TestAPoolerThatRefusesParametersIsExplained(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		pooler := pgproto3.NewBackend(conn, conn)
		if _, err := pooler.ReceiveStartupMessage(); err != nil {
			return
		}
		pooler.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: statement_timeout"})
		_ = pooler.Flush() // a lost reply fails the test anyway
	}()
	_, err = schema.Open(t.Context(), "postgres://u@"+listener.Addr().String()+"/d?sslmode=disable", schema.Options{})
	if err == nil || !strings.Contains(err.Error(), "add default_query_exec_mode=exec") {
		t.Errorf("got %v, want the remedy", err)
	}
}

// canary stands for a password, or a part of one.
const canary = "k4n4r10"

func TestNoErrorRepeatsAPassword(t *testing.T) {
	server, err := url.Parse(pgtest.NewURL(t))
	if err != nil {
		t.Fatal(err)
	}
	to := func(password, rest string) string { return "postgres://reprise:" + password + "@" + rest }
	for name, text := range map[string]string{
		"wrong password":                 to(canary, server.Host+"/reprise?sslmode=disable"),
		"wrong password, encoded":        to(canary+"%20%25%27%40%2F", server.Host+"/reprise?sslmode=disable"),
		"nobody listens":                 to(canary, "127.0.0.1:1/reprise"),
		"no such host":                   to(canary, "db.invalid/reprise?sslmode=disable"),
		"no TLS exception":               to(canary, "db.example/reprise"),
		"blank":                          to("a "+canary, "127.0.0.1:1/reprise"),
		"bad percent sign":               to("100%"+canary, "127.0.0.1:1/reprise"),
		"at sign":                        to(canary+"@x", "127.0.0.1:1/reprise"),
		"slash":                          to("a/"+canary, "127.0.0.1:1/reprise"),
		"number and slash":               to("12/"+canary, "127.0.0.1:1/reprise?sslmode=disable"),
		"number and question mark":       to("12?"+canary, "127.0.0.1:1/reprise&sslmode=disable"),
		"number and hash":                to("12#"+canary, "127.0.0.1:1/reprise"),
		"quote and backslash":            to(`'"\`+canary, "127.0.0.1:1/reprise"),
		"colon":                          to("a:"+canary, "127.0.0.1:1/reprise"),
		"bracket":                        to("[a]"+canary, "127.0.0.1:1/reprise"),
		"line break":                     to("a\n"+canary, "127.0.0.1:1/reprise"),
		"bad port":                       to(canary, "127.0.0.1:port/reprise"),
		"bad setting":                    to(canary, "127.0.0.1:1/reprise?sslmode=nonsense"),
		"bad pool setting":               to(canary, "127.0.0.1:1/reprise?pool_max_conns=none"),
		"another scheme":                 "mysql://reprise:" + canary + "@127.0.0.1:1/reprise",
		"no scheme":                      "reprise:" + canary + "@127.0.0.1:1/reprise",
		"password in a query":            "postgres://127.0.0.1:1/reprise?user=reprise&password=" + canary,
		"settings":                       "host=127.0.0.1 port=1 user=reprise password=" + canary,
		"settings, quoted":               "host=127.0.0.1 port=1 user=reprise password='it is " + canary + "'",
		"settings, blank without quotes": "host=127.0.0.1 port=1 user=reprise password=it is " + canary,
		"settings, quote never closed":   "host=127.0.0.1 port=1 user=reprise password='" + canary,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			pool, err := schema.Open(ctx, text, schema.Options{})
			if err == nil {
				pool.Close()
				t.Fatal("Open succeeded")
			}
			for level := err; level != nil; level = errors.Unwrap(level) {
				for _, format := range []string{"%v", "%+v", "%#v", "%q"} {
					if shown := fmt.Sprintf(format, level); strings.Contains(shown, canary) {
						t.Errorf("%s shows it: %s", format, shown)
					}
				}
			}
		})
	}
}

func TestAnEmptyURLIsRefused(t *testing.T) {
	if _, err := schema.Open(t.Context(), "", schema.Options{}); !errors.Is(err, schema.ErrURL) {
		t.Errorf("got %v, want ErrURL", err)
	}
}
