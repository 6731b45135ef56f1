package fake

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

func at(t time.Time) *time.Time { return &t }
func num(n int64) *int64        { return &n }

func rules() map[string]batch.Rule {
	return map[string]batch.Rule{
		"notificar-vendedor": {Mode: batch.ModeApply, When: batch.WhenAlways, Provider: "avisos", Policy: ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 10 * time.Second}},
		"publicar-extrato":   {Mode: batch.ModeApply, When: batch.WhenWritten, Provider: "extratos", Policy: ledger.Policy{OnFailure: ledger.LookUp, CallTimeout: 5 * time.Second}},
	}
}

func simulated() map[string]batch.EffectCounters {
	return map[string]batch.EffectCounters{
		"notificar-vendedor": {Applied: 23_736, Registered: 23_102, Uncertain: 42, Differs: 11_884},
		"publicar-extrato":   {Applied: 46_849, Superseded: 31},
	}
}

func (s *Store) makeReplays() {
	day := func(d int) batch.Scope {
		from := time.Date(2026, 10, d, 0, 0, 0, 0, Zone)
		return batch.Scope{From: at(from), To: at(from.AddDate(0, 0, 1)), Zone: "America/Sao_Paulo"}
	}
	now := s.now()
	add := func(id string, mode batch.Mode, state batch.State, scope batch.Scope, events int64, by string, ago time.Duration) *batch.Replay {
		r := batch.Replay{
			ID: id, Handler: "comissao", Mode: mode, State: state, Scope: scope, Rules: rules(), Partitions: 32, Priority: 2,
			Events: num(events), RequestedBy: s.text(by), CreatedAt: now.Add(-ago), UpdatedAt: at(now.Add(-ago + time.Minute)), CodeVersion: s.text("1.4.0"),
			PlannedAt: at(now.Add(-ago + time.Second)), StartedAt: at(now.Add(-ago + 2*time.Second)),
		}
		s.replays = append(s.replays, r)
		return &s.replays[len(s.replays)-1]
	}
	q := add("simular-2026-10-15-1140", batch.Simulate, batch.Queued, batch.Scope{FirstPos: num(1_252_764), LastPos: num(1_260_000), Types: []string{"pedido.pago"}}, 0, "operador_b", 90*time.Second)
	q.Events, q.PlannedAt, q.StartedAt = nil, nil, nil
	q.Waiting = s.text("tried again after an error: count events: canceling statement due to lock timeout")

	run := add("aplicar-2026-10-14-v2", batch.Apply, batch.Running, day(14), 48_213, "operador_a", 9*time.Minute+12*time.Second)
	run.ApprovedBy, run.Simulation, run.Limits.Effects, run.Partitions = s.text("operador_b"), "simular-2026-10-14", 60_000, 96
	run.Waiting = s.text("provider avisos: the rate of 40 calls a second is used up")

	sim := add("simular-2026-10-14", batch.Simulate, batch.Done, day(14), 48_213, "operador_a", 55*time.Minute)
	sim.FinishedAt = at(now.Add(-52 * time.Minute))
	sim.Summary = &batch.Summary{Counters: batch.Counters{Read: 48_213, Passed: 1_333, Written: 46_842, Unchanged: 7, Newer: 31, Effects: simulated()}, Events: 48_213, Orders: 41_007, Changed: 40_969, Elapsed: 3 * time.Minute}

	part := add("aplicar-2026-10-14-v1", batch.Apply, batch.Partial, day(14), 48_190, "operador_a", 21*time.Hour)
	part.FinishedAt = at(now.Add(-20*time.Hour - 31*time.Minute))
	part.Summary = &batch.Summary{
		Counters: batch.Counters{Read: 48_190, Passed: 1_333, Written: 46_806, Newer: 28, Poison: 23, Effects: map[string]batch.EffectCounters{
			"notificar-vendedor": {Applied: 23_060, Registered: 42, Uncertain: 42, Refused: 3, Differs: 11_884},
			"publicar-extrato":   {Suppressed: 46_806},
		}},
		Events: 48_190, Gaps: []batch.Gap{{First: 1_219_004, Last: 1_219_006}}, GapCount: 3, Late: 2, Orders: 41_007, Changed: 40_958,
		Missing: []string{s.text("23 events could not be processed (replay show lists them)"), s.text("42 effects are uncertain and wait for review")}, Elapsed: 29 * time.Minute,
	}
	held := add("aplicar-2026-10-13-v1", batch.Apply, batch.Paused, day(13), 39_120, "operador_c", 26*time.Hour)
	held.Holder, held.HolderSince = s.text("bastion-2 pid 4188"), at(now.Add(-25*time.Hour))
	bad := add("simular-2026-10-12", batch.Simulate, batch.Failed, day(12), 41_388, "operador_c", 3*24*time.Hour)
	bad.Error = s.text("plan: archive read after 1139002: canceling statement due to statement timeout")
	bad.FinishedAt = at(now.Add(-3*24*time.Hour + 4*time.Minute))
	add("aplicar-2026-10-11-v1", batch.Apply, batch.Cancelled, day(11), 40_001, "operador_b", 4*24*time.Hour).FinishedAt = at(now.Add(-4*24*time.Hour + 8*time.Minute))
	empty := add("simular-2026-10-10-031452-vazio", batch.Simulate, batch.Done, day(10), 0, "operador_b", 5*24*time.Hour)
	empty.Summary = &batch.Summary{}
	empty.FinishedAt = at(now.Add(-5*24*time.Hour + 2*time.Second))
	for i := range 400 {
		r := add(fmt.Sprintf("aplicar-2026-%03d", 400-i), batch.Apply, batch.Done, day(1+i%28), 40_000+int64(i)*37, "operador_a", time.Duration(6+i)*24*time.Hour)
		r.FinishedAt = at(r.CreatedAt.Add(22 * time.Minute))
	}
	for i := range s.replays {
		if s.replays[i].State == batch.Queued {
			continue
		}
		s.replays[i].Scope.Types = nil
	}
}

// Progress is what a person watches; the running replay moves with the clock.
func (s *Store) Progress(ctx context.Context, id string) (batch.Progress, error) {
	if err := s.call(ctx); err != nil {
		return batch.Progress{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	if r == nil {
		return batch.Progress{}, fmt.Errorf("replay %s: %w", id, batch.ErrNotFound)
	}
	p := batch.Progress{Replay: *r, At: s.now(), Hosts: s.hosts()}
	if r.Events == nil {
		return p, nil
	}
	share := 1.0
	switch r.State {
	case batch.Running:
		share = min(0.618+s.now().Sub(s.started).Seconds()/600, 0.999)
	case batch.Paused, batch.Cancelled:
		share = 0.31
	case batch.Failed:
		share = 0.04
	case batch.Queued:
		share = 0
	case batch.Done, batch.Partial:
	}
	rng := rand.New(rand.NewPCG(7, uint64(len(id))))
	each := *r.Events / int64(r.Partitions)
	for i := range r.Partitions {
		first := 1_204_551 + int64(i)*each
		part := batch.Partition{Index: i, First: first, Last: first + each - 1, Events: each, Epoch: int64(1 + i%3)}
		if i == r.Partitions-1 {
			part.Events += *r.Events - each*int64(r.Partitions)
		}
		done := min(max((share*float64(r.Partitions)*1.06-float64(i))/9+0.5+rng.Float64()*0.2, 0), 1)
		if share == 1 {
			done = 1
		}
		read := int64(done * float64(part.Events))
		part.Done = done == 1
		part.Position = first + read
		if done > 0 && done < 1 && r.State == batch.Running {
			part.Owner = []string{"h1", "h2"}[i%2]
		}
		part.Counters = batch.Counters{Read: read, Passed: read / 36, Written: read - read/36, Effects: map[string]batch.EffectCounters{
			"notificar-vendedor": {Applied: read * 49 / 100, Registered: read * 48 / 100, Differs: read / 4},
			"publicar-extrato":   {Applied: read * 94 / 100, Pending: read / 300},
		}}
		if r.Summary != nil && r.Summary.Poison > 0 && i%11 == 5 || r.State == batch.Running && i == 17 {
			part.Counters.Poison, part.Counters.Written = 3, part.Counters.Written-3
		}
		if i%13 == 4 && read > 0 && r.Mode == batch.Apply {
			e := part.Counters.Effects["notificar-vendedor"]
			e.Uncertain++
			part.Counters.Effects["notificar-vendedor"] = e
		}
		part.Settled = read
		p.Partitions = append(p.Partitions, part)
	}
	p.Total = batch.Counters{Effects: map[string]batch.EffectCounters{}}
	for _, part := range p.Partitions {
		c := part.Counters
		p.Total.Read += c.Read
		p.Total.Passed += c.Passed
		p.Total.Written += c.Written
		p.Total.Poison += c.Poison
		for kind, e := range c.Effects {
			sum := p.Total.Effects[kind]
			sum.Applied += e.Applied
			sum.Registered += e.Registered
			sum.Uncertain += e.Uncertain
			sum.Pending += e.Pending
			sum.Differs += e.Differs
			p.Total.Effects[kind] = sum
		}
	}
	if r.Summary != nil {
		p.Total = r.Summary.Counters
	}
	p.Stage, p.Settled, p.StageDone, p.StageAll = batch.Working, p.Total.Read, p.Total.Read, *r.Events
	return p, nil
}

func (s *Store) hosts() []batch.Host {
	now := s.now()
	return []batch.Host{
		{ID: "h1", Machine: s.text("bastion-1"), Role: s.text("run"), Version: s.text("1.4.0"), PID: 2207, StartedAt: now.Add(-51 * time.Hour), SeenAt: now.Add(-2 * time.Second)},
		{ID: "h2", Machine: s.text("bastion-2"), Role: s.text("run"), Version: s.text("1.4.0"), PID: 913, StartedAt: now.Add(-8 * time.Hour), SeenAt: now.Add(-time.Second)},
		{ID: "h3", Machine: s.text("bastion-2"), Role: s.text("live"), Version: s.text("1.4.0"), PID: 977, StartedAt: now.Add(-8 * time.Hour), SeenAt: now.Add(-3 * time.Second)},
		{ID: "h4", Machine: s.text("bastion-3"), Role: s.text("run"), Version: s.text("1.3.9"), PID: 4102, StartedAt: now.Add(-90 * time.Hour), SeenAt: now.Add(-11 * time.Minute)},
	}
}

// Hosts are the processes that run.
func (s *Store) Hosts(ctx context.Context) ([]batch.Host, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	hosts := s.hosts()
	for i := range hosts {
		hosts[i].SeenAt = hosts[i].SeenAt.Truncate(10 * time.Second)
		hosts[i].StartedAt = hosts[i].StartedAt.Truncate(time.Hour)
	}
	return hosts, nil
}

func (s *Store) makeDiff(n int) {
	rng := rand.New(rand.NewPCG(11, 5))
	for i := range n {
		after := 900 + rng.Int64N(9_000)
		if rng.IntN(12) == 0 {
			after *= 11
		}
		row := batch.DiffRow{OrderID: s.text(fmt.Sprintf("P-%d", 1042+i)), After: after, AfterVersion: num(1 + rng.Int64N(3))}
		switch rng.IntN(40) {
		case 0: // new
		case 1:
			row.Before, row.BeforeVersion = num(after), row.AfterVersion
		case 2, 3:
			row.Before, row.BeforeVersion = num(after+rng.Int64N(30_000)), num(*row.AfterVersion)
		default:
			row.Before, row.BeforeVersion = num(after/10), num(max(*row.AfterVersion-rng.Int64N(2), 1))
		}
		s.diff = append(s.diff, row)
	}
}

func (s *Store) makeFailures() {
	reasons := []string{
		"payload de pedido.pago invalido: valorCentavos = 100.5 nao e inteiro",
		"payload de pedido.pago invalido: percentual ausente",
		"payload de pedido.pago invalido: valorCentavos = \"8750\" nao e um numero",
	}
	for i := range 23 {
		n := int64(1_300 + i*17)
		s.failures = append(s.failures, batch.Failure{
			Execution: "aplicar-2026-10-14-v1", Position: 1_204_000 + n, EventID: s.text(fmt.Sprintf("ev-%d", n)), OrderID: s.text(fmt.Sprintf("P-%d", n)),
			Reason: s.text(reasons[i%3]), At: s.now().Add(-20 * time.Hour),
		})
	}
}

// Failures lists the poison events.
func (s *Store) Failures(ctx context.Context, _ string, after int64, limit int) ([]batch.Failure, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	var out []batch.Failure
	for _, f := range s.failures {
		if f.Position > after && len(out) < limit {
			out = append(out, f)
		}
	}
	return out, nil
}

func (s *Store) makeFirings() {
	now := s.now()
	for i := range 300 {
		slot := now.Add(-time.Duration(i) * 5 * time.Minute).Truncate(5 * time.Minute)
		f := batch.Firing{Task: s.text("varredura"), Slot: slot, State: "concluido", Host: s.text([]string{"bastion-1", "bastion-2"}[i%2]), ClaimedAt: slot.Add(300 * time.Millisecond), FinishedAt: at(slot.Add(time.Duration(2+i%5) * time.Second)),
			Detail: s.text("nothing to settle")}
		if n := i % 4; n > 0 {
			f.Detail = s.text(fmt.Sprintf("%d moved to review, %d brought to an end", n, n*1_204))
		}
		switch {
		case i == 0:
			f.State, f.FinishedAt, f.Detail = "executando", nil, ""
		case i == 9:
			f.State, f.Detail = "falhou", s.text("panic: runtime error: index out of range [3] with length 3; stack in the log, run 9f3c")
		case i == 21:
			f.State, f.FinishedAt, f.Detail, f.ClaimedAt = "perdido", nil, s.text("not run in time: nobody was there, or the one before was at work"), slot.Add(22*time.Minute)
		}
		s.firings = append(s.firings, f)
		if i%144 == 30 {
			s.firings = append(s.firings, batch.Firing{Task: s.text("reprocessar-ontem"), Slot: slot.Add(-time.Minute), State: "concluido", Host: s.text("bastion-1"), ClaimedAt: slot.Add(3 * time.Minute), FinishedAt: at(slot.Add(31 * time.Minute)), Detail: s.text("queued simular-2026-10-14 (4m0s late)")})
		}
	}
}

// Firings lists slots, newest first.
func (s *Store) Firings(ctx context.Context, limit int, after *batch.Firing) ([]batch.Firing, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	start := 0
	if after != nil {
		for i, f := range s.firings {
			if f.Task == after.Task && f.Slot.Equal(after.Slot) {
				start = i + 1
			}
		}
	}
	return append([]batch.Firing(nil), s.firings[start:min(len(s.firings), start+limit)]...), nil
}

// NextFirings are the slots to come.
func (s *Store) NextFirings() []batch.NextFiring {
	now := s.now()
	tomorrow := time.Date(now.Year(), now.Month(), now.Day()+1, 2, 0, 0, 0, Zone)
	return []batch.NextFiring{
		{Task: s.text("varredura"), Spec: s.text("*/5 * * * *"), Next: now.Truncate(5 * time.Minute).Add(5 * time.Minute)},
		{Task: s.text("reprocessar-ontem"), Spec: s.text("CRON_TZ=America/Sao_Paulo 0 2 * * *"), Next: tomorrow},
	}
}
