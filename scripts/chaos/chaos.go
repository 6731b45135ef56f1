package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// run carries one plan out. An error means that it could not be carried out; broken promises are in the result.
func run(ctx context.Context, p plan, log io.Writer) (r result, err error) {
	s, err := newSite(ctx, p, log)
	defer func() { s.close(err != nil || len(r.Violations) > 0) }()
	if err != nil {
		return r, err
	}
	if err := s.makeArchive(); err != nil {
		return r, err
	}
	if err := s.insertFirst(ctx); err != nil {
		return r, err
	}
	if p.Control {
		if _, err := s.pool.Exec(ctx, naiveSQL); err != nil {
			return r, err
		}
	}
	s.say("%d events, %s of chaos, seed %d", len(s.archive.events), p.Chaos, p.Seed)
	stop := s.startProcesses(ctx)
	defer func() { _ = stop() }()
	var feeding sync.WaitGroup
	feeding.Go(func() { s.feed(ctx, rand.New(rand.NewPCG(p.Seed, 1<<32))) })
	if err := s.chaos(ctx); err != nil {
		return r, err
	}
	s.say("all is well again")
	if err := s.calm(ctx); err != nil {
		return r, err
	}
	feeding.Wait()
	var a audit
	began := time.Now()
	if p.Control {
		err = stop()
	} else {
		err = s.quiet(ctx, &a, stop)
	}
	if err != nil {
		return r, err
	}
	quiet := time.Since(began)
	if !p.Control {
		if err := s.audit(ctx, &a); err != nil {
			return r, err
		}
	}
	r = s.result(ctx, &a)
	r.Quiet = quiet
	return r, ctx.Err()
}

// startProcesses starts them; stop asks them to end, and may be called again.
func (s *site) startProcesses(ctx context.Context) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for _, p := range s.processes {
		group.Go(func() {
			const limit = 30 * time.Second
			obeyed, err := p.supervise(ctx, limit)
			if !obeyed {
				err = fmt.Errorf("%s did not end within %s of SIGTERM", p.name, limit)
			}
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	return func() error {
		cancel()
		group.Wait()
		return failed
	}
}

// calm ends every fault that may still be on.
func (s *site) calm(ctx context.Context) error {
	s.provider.SetRules(s.rules(nil)...)
	for _, p := range s.proxies {
		if err := p.heal(ctx); err != nil {
			return err
		}
	}
	for _, p := range s.processes {
		p.signal(syscall.SIGCONT)
	}
	return s.server.Start(ctx)
}

// result adds up.
func (s *site) result(ctx context.Context, a *audit) result {
	totals := s.provider.Totals()
	for fault, n := range totals.Faults {
		if fault != "ok" {
			s.tally.add(faults+string(fault), n)
		}
	}
	s.tally.add(archived, int64(len(s.archive.events)))
	s.tally.add(late, int64(len(s.archive.late)))
	s.tally.add(requests, totals.Requests)
	s.tally.add(deliveries, totals.Deliveries)
	r := result{
		Policy: string(s.Policy), Control: s.Control, Seed: s.Seed, Chaos: s.Chaos, Slowest: time.Duration(s.slowest.Load()),
		Counts: s.tally.n, Duplicates: a.duplicates, Violations: a.violations,
	}
	if s.Control {
		r.Duplicates = totals.Twice
		return r
	}
	for name, sql := range map[string]string{
		again:      `select count(*) from efeito_revisao where decisao = 'reenviar'`,
		decisions:  `select count(*) from efeito_revisao`,
		lateAnswer: `select count(*) from efeito_ocorrencia where tipo = 'resposta-tardia'`,
		swept:      `select count(*) from efeito_ocorrencia where tipo = 'varredura'`,
		left:       `select count(*) from efeito_aplicado where estado = 'incerto'`,
	} {
		var n int64
		if err := s.pool.QueryRow(ctx, sql).Scan(&n); err != nil {
			s.say("%v", err)
		}
		s.tally.add(name, n)
	}
	return r
}

// panics finds what a process said on its way out that none may say.
func (s *site) panics(a *audit) {
	for _, p := range s.processes {
		text, err := os.ReadFile(p.log)
		if err != nil {
			continue // it never started
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.Contains(line, "panicked") {
				a.broken("P8", "", "%s: %s", p.name, strings.TrimSpace(line))
			}
		}
	}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
