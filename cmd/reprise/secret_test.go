package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestSecretsAreNowhere: neither the database's password nor the provider's secret appears in what is printed or logged,
// in the process list or in a table, whatever fails.
func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	const secret = "Bearer k4n4r10"
	s := newSite(t, ledger.Keep, `secret = "env:TOKEN"`+"\n")
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	s.env = []string{"REPRISE_DATABASE_URL=" + s.url, "TOKEN=" + secret}
	s.url = ""
	var said strings.Builder
	run := func(args ...string) {
		r := s.run(append([]string{"-v"}, args...)...)
		fmt.Fprintln(&said, args, r.code, r.out, r.errout)
	}
	s.archive(12)
	for i, fault := range []faultprovider.Fault{faultprovider.Drop, faultprovider.Hang, faultprovider.ActThenFail, faultprovider.Refuse, faultprovider.Unavailable, faultprovider.Empty} {
		s.provider.Script(effectKey(i+1), fault)
	}
	var listed atomic.Value
	s.provider.OnRequest(func(string) { listed.CompareAndSwap(nil, s.processes()) })
	run("doctor")
	run("config", "check")
	run("replay", "queue", "--id", "a", "--positions", "1:6", "--apply")
	run("replay", "run", "a", "--json")
	run("review", "list")
	run("review", "show", effectKey(1))
	address := s.provider.URL
	s.configure(address, "http://127.0.0.1:1")
	run("replay", "queue", "--id", "b", "--positions", "7:12", "--apply", "--limit-effects", "1")
	run("replay", "run", "b")
	run("run", "--once")
	run("verify")
	s.env[0] += "&sslmode=nonsense"
	run("verify")
	s.env[0] = strings.Replace(s.env[0], "@"+u.Host, "@127.0.0.1:1", 1)
	s.env[0] = strings.TrimSuffix(s.env[0], "&sslmode=nonsense")
	run("verify")
	list, _ := listed.Load().(string)
	if !strings.Contains(list, "replay\x00run\x00a") {
		t.Errorf("the process is not listed: %q", list)
	}
	for _, failure := range []string{"conexao-caiu", "resposta-500", "nao-enviado", "unusable database URL", "connection refused"} {
		if !strings.Contains(said.String(), failure) {
			t.Errorf("no %s:\n%s", failure, &said)
		}
	}
	for _, canary := range []string{password, secret, "k4n4r10"} {
		if strings.Contains(said.String(), canary) {
			t.Errorf("%q was printed:\n%s", canary, &said)
		}
		if strings.Contains(list, canary) {
			t.Errorf("%q is in the process list", canary)
		}
		for _, table := range s.tables() {
			if n := s.int(`select count(*) from ` + table + ` t where position('` + canary + `' in t::text) > 0`); n != 0 {
				t.Errorf("%q is in %s", canary, table)
			}
		}
	}
}

// processes is what anybody may read of the processes that run the program.
func (s *site) processes() string {
	path, err := binary()
	if err != nil {
		return err.Error()
	}
	var list strings.Builder
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return err.Error()
	}
	for _, d := range dirs {
		if line, err := os.ReadFile("/proc/" + d.Name() + "/cmdline"); err == nil && strings.HasPrefix(string(line), path+"\x00") && strings.Contains(string(line), s.config) {
			list.Write(line)
		}
	}
	return list.String()
}

func (s *site) tables() []string {
	s.t.Helper()
	rows, err := s.pool.Query(context.Background(), `
		select format('%I.%I', schemaname, tablename) from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`)
	if err != nil {
		s.t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatal(err)
	}
	return names
}
