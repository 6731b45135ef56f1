package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
)

// refusals are ways in which a server that is there refuses to serve, each with its end and with what people are told.
var refusals = []struct {
	name, on, off string // of a role
	said, advice  string
}{
	{
		"no writes", `alter role %s set default_transaction_read_only = on`, `alter role %s reset default_transaction_read_only`,
		"read-only transaction", "name the primary in the database URL",
	},
	{
		"no connections", `alter role %s connection limit 0`, `alter role %s connection limit -1`,
		"too many connections for role", "lower run.pool_size of the runners",
	},
}

// asRole makes the program connect as a role of its own, without the privileges of a superuser.
func (s *site) asRole() (role string) {
	s.t.Helper()
	role = "papel_" + strings.ToLower(rand.Text())
	s.exec(`create role ` + role + ` login password 'p' in role ` + s.text(`select quote_ident(current_user)`))
	s.t.Cleanup(func() {
		s.exec(`select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`, role)
		s.waitUntil("nobody is connected as "+role, func() bool { return s.int(`select count(*) from pg_stat_activity where usename = $1`, role) == 0 })
		s.exec(`drop owned by ` + role)
		s.exec(`drop role ` + role)
	})
	u, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	u.User = url.UserPassword(role, "p")
	s.url = u.String()
	return role
}

func (s *site) text(sql string) (text string) {
	s.t.Helper()
	if err := s.pool.QueryRow(context.Background(), sql).Scan(&text); err != nil {
		s.t.Fatal(err)
	}
	return text
}

// set changes a role for everybody who is connected as it.
func (s *site) set(sql, role string) {
	s.exec(fmt.Sprintf(sql, role))
	s.exec(`select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`, role)
}

// TestP1_P8_AServerThatRefuses: commands say so, and what to do; nothing is lost; a runner carries on by itself once
// the server serves again.
func TestP1_P8_AServerThatRefuses(t *testing.T) {
	t.Parallel()
	const events = 120
	for _, refusal := range refusals {
		t.Run(refusal.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, ledger.Keep, "")
			s.configure(`sweep_age = "3s"`, `sweep_age = "5m"`) // an answer waits as long to be recorded
			role := s.asRole()
			s.queue(events)

			s.set(refusal.on, role)
			for _, command := range []string{"replay queue --id b --positions 1:10", "replay run a", "replay pause a", "run --once", "sweep", "live --from 0"} {
				r := s.want(exitError, strings.Fields(command)...)
				if !strings.Contains(r.errout, refusal.said) || !strings.Contains(r.errout, refusal.advice) {
					t.Errorf("%s says\n%s", command, r.errout)
				}
			}
			s.set(refusal.off, role)
			if n := s.int(`select count(*) from reprocessamento`); n != 1 {
				t.Errorf("%d replays", n)
			}

			var requests atomic.Int64
			began := make(chan struct{})
			s.provider.OnRequest(func(string) {
				if requests.Add(1) == 30 {
					s.set(refusal.on, role)
					close(began)
				}
			})
			runner := s.background("run")
			<-began
			s.waitUntil("the runner says why and what to do", func() bool {
				return strings.Contains(runner.errout.String(), refusal.said) && strings.Contains(runner.errout.String(), refusal.advice)
			})
			if n := s.provider.Totals().Keys; n >= events {
				t.Errorf("all %d effects went out", n)
			}
			s.set(refusal.off, role)
			s.waitUntil("the replay ends", func() bool { return s.state("a") == "concluido" || s.state("a") == "parcial" })
			runner.signal(syscall.SIGTERM)
			if code := runner.wait(30 * time.Second); code != exitDone && code != exitInterrupted {
				t.Errorf("exit %d\n%s", code, runner.errout)
			}
			s.wantPromises(ledger.Keep, events)
			if n := s.int(`select count(*) from efeito_aplicado where estado <> 'concluido'`); n != 0 {
				t.Errorf("%d effects are not done", n)
			}
		})
	}
}

// TestADashboardStartsWhileTheServerRefuses: without connections it waits for some; without writes it reads.
func TestADashboardStartsWhileTheServerRefuses(t *testing.T) {
	t.Parallel()
	for _, refusal := range refusals {
		t.Run(refusal.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, ledger.Keep, "")
			s.queue(3)
			role := s.asRole()
			s.set(refusal.on, role)
			pool, err := schema.Open(t.Context(), s.url, schema.Options{Lazy: true})
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			d := desk{app: &app{pool: pool}}
			if _, err := d.Identity(t.Context()); err != nil && !away(err) {
				t.Errorf("the dashboard ends: %v", err)
			}
			s.set(refusal.off, role)
			s.waitUntil("it is served", func() bool {
				who, err := d.Identity(t.Context())
				return err == nil && who.Role == role
			})
		})
	}
}
