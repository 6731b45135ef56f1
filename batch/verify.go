package batch

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/ledger"
)

// VerifyReport reconciles the archive with state, ledger and run counters.
type VerifyReport struct {
	Events  int64
	Poison  int64
	Wrong   []DiffRow // orders whose state is not what their newest event says; the first hundred
	WrongN  int64
	Effects map[string]EffectCheck
	Runs    []string // applies whose counters disagree with the ledger, in words
	Chain   ledger.ChainReport
}

// EffectCheck says how the effects that the archive asks for stand in the ledger.
type EffectCheck struct {
	Wanted, Done, Uncertain, InFlight int64
	Missing                           int64 // wanted by an archived event, and unknown to the ledger or given back
	Differs                           int64 // went out with another value
}

// OK reports whether nothing is wrong. Effects that are missing, uncertain or told otherwise are for a person to
// judge and do not make a report wrong: an event that nobody replayed has none.
func (r VerifyReport) OK() bool { return r.WrongN == 0 && len(r.Runs) == 0 && r.Chain.OK() }

var errRollBack = errors.New("roll back")

// Verify reads the whole archive, or the positions of one range, through a handler and compares. It writes
// nothing that stays.
func (e *Engine) Verify(ctx context.Context, h Handler, s Scope, watch func(events int64)) (VerifyReport, error) {
	report := VerifyReport{Effects: map[string]EffectCheck{}}
	const probe = " verify" // no run is called that
	first, last := bounds(s)
	// The handler's own simulation, in a transaction that is rolled back, is a set-based comparison in constant memory.
	err := e.patiently(ctx, func(tx pgx.Tx) error {
		after := first - 1
		for {
			chunk, _, err := readEvents(ctx, tx, h, s, after, last, 10_000, func(int) bool { return false })
			if err != nil {
				return err
			}
			if len(chunk) == 0 {
				break
			}
			if err := keepProjection(ctx, tx, probe, 0, nil, chunk); err != nil {
				return err
			}
			if err := e.checkEffects(ctx, chunk, &report); err != nil {
				return err
			}
			report.Events += int64(len(chunk))
			after = chunk[len(chunk)-1].position
			if watch != nil {
				watch(report.Events)
			}
		}
		if _, err := tx.Exec(ctx, h.State().Diff, probe, nil); err != nil {
			return fmt.Errorf("compare state: %w", err)
		}
		if err := tx.QueryRow(ctx, `
			select count(*) from reprocessamento_diff where execucao_id = $1 and antes is distinct from depois`, probe).Scan(&report.WrongN); err != nil {
			return fmt.Errorf("compare state: %w", err)
		}
		rows, err := tx.Query(ctx, `
			select pedido_id, antes, depois, antes_versao, depois_versao from reprocessamento_diff
			where execucao_id = $1 and antes is distinct from depois order by pedido_id limit 100`, probe)
		if err != nil {
			return fmt.Errorf("compare state: %w", err)
		}
		if report.Wrong, err = pgx.CollectRows(rows, scanDiffRow); err != nil {
			return fmt.Errorf("compare state: %w", err)
		}
		return errRollBack
	})
	if !errors.Is(err, errRollBack) {
		return report, fmt.Errorf("verify: %w", err)
	}
	if report.Runs, err = e.checkRuns(ctx); err != nil {
		return report, err
	}
	report.Chain, err = e.ledger.VerifyChain(ctx)
	return report, err
}

func (e *Engine) checkEffects(ctx context.Context, chunk []projected, report *VerifyReport) error {
	var effects []ledger.Effect
	for i := range chunk {
		p := &chunk[i]
		if p.fate == poison {
			report.Poison++
			continue
		}
		for _, w := range p.effects {
			rule, _ := policyOf(e.rules, w.Kind)
			effects = append(effects, ledger.Effect{EventID: p.id, Kind: w.Kind, Execution: ledger.Live, Content: w.Content, Policy: rule.Policy})
		}
	}
	if len(effects) == 0 {
		return nil
	}
	statuses, err := e.ledger.Look(ctx, effects)
	if err != nil {
		return fmt.Errorf("look at the ledger: %w", err)
	}
	for i, s := range statuses {
		c := report.Effects[effects[i].Kind]
		c.Wanted++
		switch s.Standing {
		case ledger.AlreadyDone:
			c.Done++
		case ledger.InDoubt:
			c.Uncertain++
		case ledger.InFlight, ledger.NeedsReview:
			c.InFlight++
		default:
			c.Missing++
		}
		if s.Differs {
			c.Differs++
		}
		report.Effects[effects[i].Kind] = c
	}
	return nil
}

// checkRuns compares what finished applies counted with the rows that the ledger attributes to them. A person's
// later decision moves an uncertain effect to done, never the other way.
func (e *Engine) checkRuns(ctx context.Context) ([]string, error) {
	rows, err := e.pool.Query(ctx, `
		select execucao_id, count(*) from efeito_aplicado where estado = 'concluido' group by execucao_id`)
	if err != nil {
		return nil, fmt.Errorf("count effects by run: %w", err)
	}
	done := map[string]int64{}
	var id string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error { done[id] = n; return nil }); err != nil {
		return nil, fmt.Errorf("count effects by run: %w", err)
	}
	rows, err = e.pool.Query(ctx, `select `+replayColumns+` from reprocessamento where modo = 'aplicar' and estado in ('concluido', 'parcial') order by criado_em`)
	if err != nil {
		return nil, fmt.Errorf("finished applies: %w", err)
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Replay, error) { return scanReplay(row) })
	if err != nil {
		return nil, fmt.Errorf("finished applies: %w", err)
	}
	var wrong []string
	for _, r := range runs {
		if r.Summary == nil {
			continue
		}
		var least, most int64
		for _, c := range r.Summary.Effects {
			least += c.Applied + c.Refused
			most += c.Applied + c.Refused + c.Uncertain + c.Pending
		}
		if n := done[r.ID]; n < least || n > most {
			wrong = append(wrong, fmt.Sprintf("%s counted %d effects (and %d open ones), the ledger holds %d", r.ID, least, most-least, n))
		}
		if !r.Summary.Balanced() {
			wrong = append(wrong, fmt.Sprintf("%s: its account of %d events does not add up", r.ID, r.Summary.Read))
		}
	}
	return wrong, nil
}
