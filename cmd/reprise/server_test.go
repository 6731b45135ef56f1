package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/devserver"
	"reprise.dev/reprise/schema/pgtest"
)

// ownServer gives the site a database server that the test may stop, kill and fill.
func (s *site) ownServer() *devserver.Server {
	s.t.Helper()
	server := pgtest.Server(s.t)
	s.url = server.URL(pgtest.Database)
	pool, err := schema.Open(context.Background(), s.url, schema.Options{MaxConns: 4})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(pool.Close)
	s.pool = pool
	return server
}

// serverFaults are the ways in which a database server goes away.
var serverFaults = []struct {
	name string
	stop func(*devserver.Server, int) error
}{
	{"stopped", func(s *devserver.Server, _ int) error { return s.Stop(context.Background()) }},
	{"stopped at once", func(_ *devserver.Server, pid int) error { return syscall.Kill(pid, syscall.SIGQUIT) }},
	{"killed", func(_ *devserver.Server, pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }},
}

// TestP1_P8_DatabaseRestarts: the server goes away in the middle of an apply and comes back.
func TestP1_P8_DatabaseRestarts(t *testing.T) {
	t.Parallel()
	const events = 80
	for i, fault := range serverFaults {
		for _, policy := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
			t.Run(fmt.Sprintf("%s/%s", fault.name, policy), func(t *testing.T) {
				t.Parallel()
				s := newSite(t, policy, "")
				server := s.ownServer()
				s.archive(events)
				s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "4")
				healed := s.atRequest(int64(10+20*i), func() { s.stop(server, fault.stop) }, func() {
					time.Sleep(500 * time.Millisecond)
					s.startAgain(server)
				})
				s.run("replay", "run", "a")
				<-healed
				s.wantSettledBehindCheckpoints()
				s.quiet("a")
				s.wantPromises(policy, events)
			})
		}
	}
}

func (s *site) stop(server *devserver.Server, how func(*devserver.Server, int) error) {
	pid, ok := server.Running(context.Background())
	if !ok {
		s.t.Error("the server does not run")
		return
	}
	if err := how(server, pid); err != nil {
		s.t.Errorf("stop the server: %v", err)
	}
}

// startAgain starts the server and waits until it answers.
func (s *site) startAgain(server *devserver.Server) {
	if err := server.Start(context.Background()); err != nil {
		s.t.Errorf("start the server again: %v", err)
	}
}

// TestP1_P8_LiveSurvivesADatabaseRestart without being started again.
func TestP1_P8_LiveSurvivesADatabaseRestart(t *testing.T) {
	t.Parallel()
	const events = 80
	s := newSite(t, ledger.Release, "")
	server := s.ownServer()
	s.archive(events)
	healed := s.atRequest(25, func() { s.stop(server, serverFaults[2].stop) }, func() {
		time.Sleep(500 * time.Millisecond)
		s.startAgain(server)
	})
	live, out, errout := s.start("live", "--from", "0")
	defer func() { _ = live.Process.Kill() }()
	<-healed
	s.waitUntil("the live consumer is at the end", func() bool {
		var at int
		err := s.pool.QueryRow(context.Background(), `select ultima_posicao from reprocessamento_checkpoint where execucao_id = 'ao-vivo'`).Scan(&at)
		return err == nil && at == events // a connection may be one from before
	})
	if err := live.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := live.Wait(); err != nil && live.ProcessState.ExitCode() != exitInterrupted {
		t.Fatalf("%v\n%s%s", err, out, errout)
	}
	s.settle()
	for i := 1; i <= events; i++ {
		if n := s.provider.Delivered(effectKey(i)); n != 1 {
			t.Errorf("%s was delivered %d times", effectKey(i), n)
		}
	}
}

// TestP1_P8_BackendsTerminated at random while an apply runs.
func TestP1_P8_BackendsTerminated(t *testing.T) {
	t.Parallel()
	const events = 200
	for _, policy := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, policy, "")
			s.archive(events)
			s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "4")
			began := s.atRequest(5, func() {}, func() {})
			ctx, cancel := context.WithCancel(context.Background())
			var monkey sync.WaitGroup
			terminated := 0
			monkey.Go(func() {
				<-began
				for ctx.Err() == nil && terminated < 25 { // each failure of a job makes the pause before its next try longer
					terminated += s.terminateOne()
					time.Sleep(time.Duration(20+rand.IntN(60)) * time.Millisecond)
				}
			})
			r := s.run("replay", "run", "a")
			cancel()
			monkey.Wait()
			if terminated < 5 {
				t.Errorf("only %d backends were terminated: exit %d\n%s%s", terminated, r.code, r.out, r.errout)
			}
			s.wantSettledBehindCheckpoints()
			s.quiet("a")
			s.wantPromises(policy, events)
		})
	}
}

func (s *site) terminateOne() int {
	return s.int(`
		select count(pg_terminate_backend(pid)) from (
			select pid from pg_stat_activity where datname = current_database() and application_name = 'reprise'
			order by random() limit 1) b`)
}
