package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"reprise.dev/reprise/batch/faultprovider"
)

// monkey does something at random times, between lo and hi apart, until ctx ends. Short runs have busier monkeys.
type monkey struct {
	lo, hi time.Duration
	act    func(ctx context.Context, random *rand.Rand) error
}

// chaos lets things go wrong for as long as planned.
func (s *site) chaos(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.Chaos)
	defer cancel()
	monkeys := []monkey{
		{time.Second, 8 * time.Second, s.endProcess},
		{2 * time.Second, 15 * time.Second, s.freezeProcess},
		{5 * time.Second, 40 * time.Second, s.hurtDatabase},
		{500 * time.Millisecond, 8 * time.Second, s.endSessions},
		{2 * time.Second, 15 * time.Second, s.hurtNetwork},
		{3 * time.Second, 15 * time.Second, s.hurtProvider},
	}
	if !s.Control {
		monkeys = append(monkeys,
			monkey{time.Second, 8 * time.Second, s.queueReplay},
			monkey{5 * time.Second, 20 * time.Second, s.commandReplay},
			monkey{time.Second, 3 * time.Second, s.review})
	}
	var group sync.WaitGroup
	failed := make(chan error, len(monkeys))
	for i, m := range monkeys {
		group.Go(func() {
			if err := s.unleash(ctx, m, rand.New(rand.NewPCG(s.Seed, uint64(i)))); err != nil {
				failed <- err
				cancel()
			}
		})
	}
	if !s.Control {
		group.Go(func() {
			if wait(ctx, s.Chaos/2) {
				s.fixed.Store(true) // from its next start
			}
		})
	}
	group.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func (s *site) unleash(ctx context.Context, m monkey, random *rand.Rand) error {
	scale := min(1, max(0.1, s.Chaos.Seconds()/60))
	for {
		pause := time.Duration((float64(m.lo) + random.Float64()*float64(m.hi-m.lo)) * scale)
		if !wait(ctx, pause) {
			return nil
		}
		if err := m.act(ctx, random); err != nil {
			return err
		}
	}
}

func (s *site) endProcess(_ context.Context, random *rand.Rand) error {
	p := s.processes[random.IntN(len(s.processes))]
	if random.IntN(7) == 0 {
		if p.signal(syscall.SIGTERM) {
			s.tally.add(terminated, 1)
		}
	} else if p.signal(syscall.SIGKILL) {
		s.tally.add(killed, 1)
	}
	return nil
}

// freezeProcess stops a process, often for longer than the sweep age: it wakes up as the former owner of what it reserved.
func (s *site) freezeProcess(ctx context.Context, random *rand.Rand) error {
	p := s.processes[random.IntN(len(s.processes))]
	if p.signal(syscall.SIGSTOP) {
		s.tally.add(frozen, 1)
		wait(ctx, 200*time.Millisecond+time.Duration(random.Int64N(int64(2*sweepAge))))
		p.signal(syscall.SIGCONT)
	}
	return nil
}

func (s *site) endSessions(ctx context.Context, random *rand.Rand) error {
	const sql = `
		select count(pg_terminate_backend(pid)) from (
			select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() order by random() limit $1) a`
	var n int64
	if s.ask(ctx, sql, []any{1 + random.IntN(4)}, &n) {
		s.tally.add(backends, n)
	}
	return nil
}

func (s *site) hurtNetwork(ctx context.Context, random *rand.Rand) error {
	p, t := s.proxies[random.IntN(len(s.proxies))], toxics[random.IntN(len(toxics))]
	s.tally.add(cuts+t.name, 1)
	if err := p.befall(t); err != nil {
		return err
	}
	wait(ctx, 100*time.Millisecond+time.Duration(random.Int64N(int64(6*time.Second))))
	return p.heal(ctx)
}

// moods are how the provider behaves for a while: shares of what befalls a request.
var moods = [][]faultprovider.Rule{
	nil,
	{{Fault: faultprovider.Refuse, Share: 0.02}, {Fault: faultprovider.Unavailable, Share: 0.1}},
	{{Fault: faultprovider.ActThenFail, Share: 0.02}, {Fault: faultprovider.ActThenDrop, Share: 0.02}, {Fault: faultprovider.Drop, Share: 0.02}, {Fault: faultprovider.Empty, Share: 0.01}},
	{{Fault: faultprovider.ActThenHang, Share: 0.01}, {Fault: faultprovider.Hang, Share: 0.01}},
	{{Fault: faultprovider.OK, Share: 0.2, Delay: 400 * time.Millisecond}, {Fault: faultprovider.OK, Share: 0.02, Delay: callTimeout}},
	{{Fault: faultprovider.Unavailable}},
	{
		{Fault: faultprovider.Refuse, Share: 0.005}, {Fault: faultprovider.Unavailable, Share: 0.02}, {Fault: faultprovider.Drop, Share: 0.01},
		{Fault: faultprovider.ActThenFail, Share: 0.01}, {Fault: faultprovider.ActThenDrop, Share: 0.01}, {Fault: faultprovider.ActThenHang, Share: 0.01},
		{Fault: faultprovider.OK, Share: 0.1, Delay: 200 * time.Millisecond},
	},
}

func (s *site) hurtProvider(_ context.Context, random *rand.Rand) error {
	s.provider.SetRules(s.rules(moods[random.IntN(len(moods))])...)
	return nil
}

// rules end in one that tells if a key that was acted on comes with another content.
func (s *site) rules(mood []faultprovider.Rule) []faultprovider.Rule {
	if !s.deduplicates() {
		return mood
	}
	return append(append([]faultprovider.Rule{}, mood...), faultprovider.Rule{Fault: faultprovider.Conflict})
}
