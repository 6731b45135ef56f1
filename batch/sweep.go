package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/failpoint"
)

// SweepReport says what one sweep did.
type SweepReport struct {
	Uncertain map[string]int64 // moved to incerto, by reason
	Retried   int64            // abandoned or given back, and brought to an end now
	LeftOver  int64            // abandoned or given back, and still not at an end
	LookedUp  int64            // answers of providers about uncertain effects
	Unknown   map[string]int64 // kinds that this host has no policy for: left alone
	NoEvent   int64            // their event is not in the archive: left alone
	Waiting   string           // why something was left over
}

// Sweep deals with abandoned reservations: what must not be repeated becomes uncertain; what may be is brought
// to its end from the archived event, so that it needs no new replay. Then it asks providers about uncertain
// effects whose look-up is due.
func (e *Engine) Sweep(ctx context.Context) (SweepReport, error) {
	report := SweepReport{}
	var mu sync.Mutex
	var group sync.WaitGroup
	var silent error // the database stopped answering
	places := make(chan struct{}, 64)
	found, err := e.ledger.Sweep(ctx, ledger.SweepScope{Policies: policies(e.rules), Retry: func(row ledger.Retakable) error {
		select {
		case <-e.stopping:
			return errStopped
		case <-ctx.Done():
			return ctx.Err()
		case places <- struct{}{}:
		}
		mu.Lock()
		down := silent
		mu.Unlock()
		if down != nil {
			<-places
			return down
		}
		group.Go(func() {
			defer func() { <-places }()
			failpoint.Hit(failpoint.MidSweep)
			ctx, cancel := context.WithTimeout(ctx, e.grace)
			defer cancel()
			ended, why, err := e.redrive(ctx, row)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && ctx.Err() != nil {
				silent = err
			}
			switch {
			case errors.Is(err, ErrNotFound):
				report.NoEvent++
			case ended && err == nil:
				report.Retried++
			default:
				report.LeftOver++
				if err != nil {
					why = err.Error()
				}
				if why != "" {
					report.Waiting = why
				}
			}
		})
		return nil
	}})
	group.Wait()
	report.Uncertain, report.Unknown = found.Uncertain, found.Unknown
	if errors.Is(err, errStopped) {
		return report, nil
	}
	if err == nil {
		err = silent
	}
	if err != nil {
		return report, fmt.Errorf("sweep: %w", err)
	}
	report.LookedUp, err = e.lookUp(ctx)
	return report, err
}

// redrive brings one effect to its end from its archived event.
func (e *Engine) redrive(ctx context.Context, row ledger.Retakable) (ended bool, why string, err error) {
	rule, ok := e.rules[row.Kind]
	if !ok {
		return false, "no policy for effects of kind " + row.Kind, nil
	}
	// What may have gone out already, or was seen by a person, is sent as it was; everything else follows the archive.
	content := row.Content
	if content == nil {
		if content, err = e.contentOf(ctx, row.EventID, row.Kind); err != nil {
			return false, "", err
		}
		if content == nil {
			return false, fmt.Sprintf("event %s wants no effect of kind %s any more", row.EventID, row.Kind), nil
		}
	}
	t := task{rule: rule, effect: ledger.Effect{
		EventID: row.EventID, Kind: row.Kind, Execution: row.Execution, Content: content, Policy: rule.Policy,
	}}
	r := &run{execution: row.Execution, rules: e.rules}
	provider, ok := e.providers[rule.Provider]
	if !ok {
		return false, "unknown provider " + rule.Provider, nil
	}
	release, err := provider.Acquire(ctx)
	if err != nil {
		var closed *ClosedError
		if errors.As(err, &closed) {
			return false, closed.Why, nil
		}
		return false, "", err
	}
	if err := e.callOne(ctx, r, &t, provider, release); err != nil {
		return false, "", err
	}
	return t.outcome.settled(), t.status.Reason, nil
}

// contentOf computes what an archived event wants sent as an effect of one kind; nil if it wants none.
func (e *Engine) contentOf(ctx context.Context, eventID, kind string) (json.RawMessage, error) {
	ev, err := e.Event(ctx, eventID)
	if err != nil {
		return nil, err
	}
	for _, h := range e.handlers {
		for _, t := range h.Types() {
			if t != ev.Type {
				continue
			}
			p, err := h.Project(ev)
			if err != nil {
				return nil, fmt.Errorf("event %s: %w", eventID, err)
			}
			for _, w := range p.Effects {
				if w.Kind == kind {
					return w.Content, nil
				}
			}
		}
	}
	return nil, nil
}

// lookUp asks providers about the uncertain effects whose look-up is due. A provider that cannot be reached is one
// incident, not one for each effect: after some failures in a row the rest waits for the next sweep.
func (e *Engine) lookUp(ctx context.Context) (answered int64, err error) {
	const atOnce, most, enough = 16, 500, 16
	due, err := e.ledger.DueLookUps(ctx, most)
	if err != nil {
		return 0, fmt.Errorf("due look-ups: %w", err)
	}
	var done, unreachable atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, u := range due {
		provider, ok := e.providers[e.rules[u.Kind].Provider]
		if !ok || unreachable.Load() >= enough {
			continue
		}
		group.Go(func() error {
			answer, err := provider.LookUp(ctx, u.Key)
			if err != nil {
				return fmt.Errorf("look up %s: %w", u.Key, err)
			}
			if answer.Verdict == ledger.Unreachable {
				unreachable.Add(1)
			} else {
				unreachable.Store(0)
				done.Add(1)
			}
			return e.ledger.RecordLookUp(ctx, u.Key, u.Version, answer)
		})
	}
	err = group.Wait()
	return done.Load(), err
}

// resend makes the one send that a reviewer allowed; wait says that it cannot be made now.
func (e *Engine) resend(ctx context.Context, key string) (wait bool, err error) {
	row, ok, err := e.ledger.Released(ctx, key)
	if err != nil || !ok || !row.Resend {
		return false, err // somebody made it already, or it was decided anew
	}
	ended, why, err := e.redrive(ctx, row)
	if !ended && why != "" {
		e.log.Info("re-send waits", "effect", key, "why", why)
	}
	return !ended, err
}

// Decide records a reviewer's decision and, for a re-send, hands out the job that makes it, in one transaction.
// The reviewer's own process sends nothing and needs no provider secret. What is refused is on record as well.
func (s *Store) Decide(ctx context.Context, l *ledger.Ledger, d ledger.Decision) (ledger.DecisionRecord, error) {
	var rec ledger.DecisionRecord
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		if rec, err = l.DecideTx(ctx, tx, d); err != nil || d.Verdict != ledger.Resend {
			return err
		}
		if _, err = s.jobs.InsertTx(ctx, tx, ResendArgs{Key: d.Key, Decision: rec.ID}, insertOpts(controlQueue, 1)); err != nil {
			return fmt.Errorf("hand out the re-send of %s: %w", d.Key, err)
		}
		return nil
	})
	if err != nil {
		return rec, l.RecordRefusal(ctx, d, err)
	}
	failpoint.Hit(failpoint.AfterDecision)
	return rec, nil
}

type sweepWorker struct {
	river.WorkerDefaults[SweepArgs]
	e *Engine
}

func (*sweepWorker) Timeout(*river.Job[SweepArgs]) time.Duration { return 10 * time.Minute }

// Work sweeps for a schedule slot and writes how it went into the slot's row.
func (w *sweepWorker) Work(ctx context.Context, job *river.Job[SweepArgs]) error {
	report, failure := w.e.Sweep(ctx)
	state, detail := "concluido", report.String()
	if failure != nil {
		state, detail = "falhou", clean(failure.Error())
		w.e.log.Error("sweep", "error", failure)
	}
	slot, err := time.Parse(time.RFC3339Nano, job.Args.Slot)
	if err != nil {
		return river.JobCancel(err)
	}
	_, err = w.e.pool.Exec(ctx, `
		update agenda_disparo set estado = $3, detalhe = $4, resumo = $5, terminado_em = clock_timestamp()
		where tarefa = $1 and previsto_para = $2`, job.Args.Task, slot, state, detail, asJSON{report})
	return err
}

// String says on one line what a sweep did.
func (r SweepReport) String() string {
	var moved, unknown int64
	for _, n := range r.Uncertain {
		moved += n
	}
	for _, n := range r.Unknown {
		unknown += n
	}
	var parts []string
	for _, p := range []struct {
		n      int64
		remark string
	}{
		{moved, remarkSwept}, {r.Retried, remarkRetried}, {r.LeftOver, remarkLeftOver},
		{r.LookedUp, remarkLookedUp}, {unknown, remarkStrange}, {r.NoEvent, remarkNoEvent},
	} {
		if p.n != 0 {
			parts = append(parts, fmt.Sprintf(p.remark, p.n))
		}
	}
	if len(parts) == 0 {
		return remarkNothing
	}
	return strings.Join(parts, ", ")
}
