package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/ledger"
)

// task is one effect that an event of the chunk wants.
type task struct {
	event   int // index in the chunk
	effect  ledger.Effect
	rule    Rule
	outcome outcome
	status  ledger.Status
}

// outcome is what became of an effect. An event is settled when none of its effects is undecided or pending.
type outcome byte

const (
	undecided outcome = iota
	pending           // in flight elsewhere, or given back: look again
	elsewhere         // in flight elsewhere, and only counted: in a simulation
	applied
	registered
	refused
	uncertain
	suppressed
	superseded
)

func (o outcome) settled() bool { return o > pending }

// ruledOut is the outcome of an effect that the policy decides by itself, or undecided.
func ruledOut(rule Rule, p *projected) outcome {
	switch {
	case rule.Mode != ModeApply:
		return suppressed
	case rule.When == WhenWritten && p.fate == newer:
		return superseded
	}
	return undecided
}

// tasksOf lists what the chunk's events want and the policy does not rule out, in the order of the log.
func tasksOf(execution string, rules map[string]Rule, chunk []projected) []task {
	tasks := make([]task, 0, len(chunk)) // as a rule an event wants one
	for i := range chunk {
		p := &chunk[i]
		for _, w := range p.effects {
			rule, _ := policyOf(rules, w.Kind)
			if ruledOut(rule, p) == undecided {
				tasks = append(tasks, task{event: i, rule: rule, effect: ledger.Effect{
					EventID: p.id, Kind: w.Kind, Execution: execution, Content: w.Content, Policy: rule.Policy,
				}})
			}
		}
	}
	return tasks
}

// look asks the ledger about every task that is not settled, in one round trip, and settles what needs no call.
func (e *Engine) look(ctx context.Context, tasks []task) error {
	var open []int
	for i := range tasks {
		if !tasks[i].outcome.settled() {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return nil
	}
	effects := make([]ledger.Effect, len(open))
	for j, i := range open {
		effects[j] = tasks[i].effect
	}
	statuses, err := e.ledger.Look(ctx, effects)
	if err != nil {
		return fmt.Errorf("look at the ledger: %w", err)
	}
	for j, i := range open {
		tasks[i].effect = effects[j]
		tasks[i].settle(statuses[j])
	}
	return nil
}

// settle turns what the ledger says into an outcome. Done by this very run counts as applied: the run was
// interrupted after it, and before its checkpoint.
func (t *task) settle(s ledger.Status) {
	t.status = s
	switch s.Standing {
	case ledger.AlreadyDone:
		switch {
		case s.Execution != t.effect.Execution:
			t.outcome = registered
		case s.Result == ledger.Refused:
			t.outcome = refused
		default:
			t.outcome = applied
		}
	case ledger.InDoubt:
		t.outcome = uncertain
	case ledger.InFlight, ledger.NeedsReview:
		t.outcome = pending
	default:
		t.outcome = undecided
	}
}

// applyEffects brings the chunk's effects about, in the order of the log, as many at a time as each provider
// takes. It returns when all are settled, or at the deadline, or when told to halt; why says what it waits for.
func (e *Engine) applyEffects(ctx context.Context, r *run, tasks []task) (why string, err error) {
	for round := 0; ; round++ {
		if err := e.look(ctx, tasks); err != nil {
			return "", err
		}
		if err := e.sweepStale(ctx, r, tasks); err != nil {
			return "", err
		}
		r.inHand.begin(tasks)
		why, err = e.callAll(ctx, r, tasks)
		if err != nil {
			return "", err
		}
		left := 0
		for i := range tasks {
			if !tasks[i].outcome.settled() {
				left++
			}
		}
		if left == 0 {
			return "", nil
		}
		if why != "" || r.halted() {
			return why, nil
		}
		why = fmt.Sprintf(Counted(left, remarkInFlightOne, remarkInFlight), left)
		if !r.pause(ctx, min(100*time.Millisecond<<min(round, 4), time.Second)) {
			return why, nil
		}
	}
}

// sweepStale settles reservations that somebody abandoned and that must not be retaken: they become uncertain
// now rather than with the next sweep.
func (e *Engine) sweepStale(ctx context.Context, r *run, tasks []task) error {
	var keys []string
	for i := range tasks {
		if tasks[i].outcome == pending && tasks[i].status.Standing == ledger.NeedsReview {
			keys = append(keys, tasks[i].effect.Key())
		}
	}
	if len(keys) == 0 {
		return nil
	}
	if _, err := e.ledger.Sweep(ctx, ledger.SweepScope{Policies: policies(r.rules), Keys: keys}); err != nil {
		return fmt.Errorf("settle abandoned reservations: %w", err)
	}
	return e.look(ctx, tasks)
}

func policies(rules map[string]Rule) map[string]ledger.Policy {
	p := make(map[string]ledger.Policy, len(rules))
	for kind, rule := range rules {
		p[kind] = rule.Policy
	}
	return p
}

func (e *Engine) callAll(ctx context.Context, r *run, tasks []task) (why string, err error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var failed error
	defer group.Wait()
	for i := range tasks {
		t := &tasks[i]
		if t.outcome != undecided {
			continue
		}
		if r.halted() {
			break
		}
		provider, ok := e.providers[t.rule.Provider]
		if !ok {
			return "", fmt.Errorf(remarkNoProvider, t.effect.Kind, t.rule.Provider, t.rule.Provider)
		}
		release, err := provider.Acquire(ctx)
		if err != nil {
			var closed *ClosedError
			if errors.As(err, &closed) {
				r.closed = closed
				why = fmt.Sprintf(remarkProvider, t.rule.Provider, closed.Why)
				break
			}
			return "", fmt.Errorf("provider %s: %w", t.rule.Provider, err)
		}
		if r.halted() {
			release()
			break
		}
		allowed, err := e.takePermit(ctx, r)
		if err != nil || !allowed {
			release()
			if err != nil {
				return "", err
			}
			r.limited = true
			return fmt.Sprintf(Counted(r.limits.Effects, remarkLimitOne, remarkLimit), r.limits.Effects), nil
		}
		group.Go(func() {
			if err := e.callOne(ctx, r, t, provider, release); err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
			r.inHand.count(t)
		})
	}
	group.Wait()
	return why, failed
}

// callOne runs the ledger's protocol for one effect. The error is the database's, never the provider's. The place
// at the provider is held from before the reservation until the answer is recorded: a crash leaves no more effects
// in doubt than there are places.
func (e *Engine) callOne(ctx context.Context, r *run, t *task, provider Provider, release func()) error {
	defer release()
	out, err := e.ledger.Do(ctx, t.effect, func(ctx context.Context, a ledger.Attempt) (json.RawMessage, error) {
		return provider.Call(ctx, t.effect.Kind, a)
	})
	if err != nil {
		t.outcome = pending
		if errors.Is(err, ledger.ErrLostOwnership) {
			return nil // logged by the ledger; the row tells what became of it
		}
		return fmt.Errorf("effect %s: %w", t.effect.Key(), err)
	}
	t.status = out.Status
	switch out.Did {
	case ledger.DidApply:
		t.outcome = applied
	case ledger.DidRefuse:
		t.outcome = refused
	case ledger.DidDoubt:
		t.outcome = uncertain
	default:
		t.settle(out.Status)
		if t.outcome == undecided {
			t.outcome = pending
		}
		return e.returnPermit(ctx, r)
	}
	return nil
}

// takePermit takes one effect from the run's limit, across all hosts, so that it stops exactly there.
func (e *Engine) takePermit(ctx context.Context, r *run) (bool, error) {
	if r.limits.Effects == 0 {
		return true, nil
	}
	tag, err := e.pool.Exec(ctx, `
		update reprocessamento set efeitos_tomados = efeitos_tomados + 1 where id = $1 and efeitos_tomados < $2`, r.execution, r.limits.Effects)
	if err != nil {
		return false, fmt.Errorf("limit of effects of %s: %w", r.execution, err)
	}
	return tag.RowsAffected() == 1, nil
}

func (e *Engine) returnPermit(ctx context.Context, r *run) error {
	if r.limits.Effects == 0 {
		return nil
	}
	if _, err := e.pool.Exec(ctx, `
		update reprocessamento set efeitos_tomados = efeitos_tomados - 1 where id = $1 and efeitos_tomados > 0`, r.execution); err != nil {
		return fmt.Errorf("limit of effects of %s: %w", r.execution, err)
	}
	return nil
}

// simulateEffects asks the ledger what an apply would find.
func (e *Engine) simulateEffects(ctx context.Context, tasks []task) error {
	if err := e.look(ctx, tasks); err != nil {
		return err
	}
	for i := range tasks {
		switch tasks[i].outcome {
		case undecided:
			tasks[i].outcome = applied
		case pending:
			tasks[i].outcome = elsewhere
		}
	}
	return nil
}

// count adds what became of one effect.
func (c *EffectCounters) count(o outcome) {
	switch o {
	case applied:
		c.Applied++
	case registered:
		c.Registered++
	case refused:
		c.Refused++
	case uncertain:
		c.Uncertain++
	case suppressed:
		c.Suppressed++
	case superseded:
		c.Superseded++
	default:
		c.Pending++
	}
}

const recordDivergenceSQL = `
	insert into reprocessamento_divergencia (execucao_id, chave, pedido_id, enviado, enviaria)
	select $1, u.chave, u.pedido_id, u.enviado::jsonb, u.enviaria::jsonb
	from unnest($2::text[], $3::text[], $4::text[], $5::text[]) u(chave, pedido_id, enviado, enviaria)
	on conflict (execucao_id, chave) do nothing`

// recordDivergence lists the effects that already went out with another content than they would have now.
func recordDivergence(ctx context.Context, tx pgx.Tx, execution string, chunk []projected, tasks []task) error {
	var keys, orders, would []string
	var sent []*string
	for i := range tasks {
		t := &tasks[i]
		if !t.status.Differs {
			continue
		}
		var was *string
		if len(t.status.Content) > 0 {
			s := string(t.status.Content)
			was = &s
		}
		keys, orders = append(keys, t.effect.Key()), append(orders, chunk[t.event].order)
		sent, would = append(sent, was), append(would, string(t.effect.Content))
	}
	if len(keys) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, recordDivergenceSQL, execution, keys, orders, sent, would); err != nil {
		return fmt.Errorf("record what was told otherwise: %w", err)
	}
	return nil
}

// unknownKinds are the kinds that a run met and has no rule for.
func unknownKinds(rules map[string]Rule, c Counters) []string {
	var unknown []string
	for kind := range c.Effects {
		if _, ok := rules[kind]; !ok {
			unknown = append(unknown, kind)
		}
	}
	return unknown
}

func kindList(kinds []string) string { return strings.Join(kinds, ", ") }
