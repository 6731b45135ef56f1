package batch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// transition changes a replay's state under its row lock, if its state is one of from. refuse is the format of its errors.
func (s *Store) transition(ctx context.Context, id, refuse string, from []State, fn func(pgx.Tx, Replay) error) (Replay, error) {
	var out Replay
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		r, err := lockReplay(ctx, tx, id)
		if err != nil {
			return err
		}
		if !slices.Contains(from, r.State) {
			return fmt.Errorf(refuse, id, fmt.Errorf(becauseOfState, r.State, ErrState))
		}
		if err := fn(tx, r); err != nil {
			return fmt.Errorf(refuse, id, err)
		}
		if err := notify(ctx, tx, id); err != nil {
			return err
		}
		out, err = readReplay(ctx, tx, id)
		return err
	})
	return out, err
}

// setState also removes what a cancelled run kept for later.
func setState(ctx context.Context, tx pgx.Tx, id string, to State) error {
	if to == Cancelled {
		if _, err := tx.Exec(ctx, forgetProjectionSQL, id); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `
		update reprocessamento set estado = $2, espera = null, atualizado_em = clock_timestamp(),
			terminado_em = case when $2 in ('concluido', 'parcial', 'falhou', 'cancelado') then clock_timestamp() end
		where id = $1`, id, to)
	return err
}

// Pause stops a replay after the calls in flight. Its partitions keep their checkpoints.
func (s *Store) Pause(ctx context.Context, id string) (Replay, error) {
	return s.transition(ctx, id, refusePause, []State{Queued, Running}, func(tx pgx.Tx, _ Replay) error {
		return setState(ctx, tx, id, Paused)
	})
}

// Resume carries on a replay that was paused, or that ended partial or failed, from its checkpoints. limits, if
// not nil, replaces the limits that it stopped at.
func (s *Store) Resume(ctx context.Context, id string, limits *Limits) (Replay, error) {
	return s.transition(ctx, id, refuseResume, []State{Paused, Partial, Failed}, func(tx pgx.Tx, r Replay) error {
		if limits != nil {
			if _, err := tx.Exec(ctx, `update reprocessamento set limites = $2 where id = $1`, id, asJSON{limits}); err != nil {
				return err
			}
		}
		to := Running
		if r.PlannedAt == nil {
			to = Queued
		}
		if r.State != Paused && r.PlannedAt != nil {
			if err := s.reopenIncomplete(ctx, tx, r); err != nil {
				return err
			}
		}
		if err := setState(ctx, tx, id, to); err != nil {
			return err
		}
		return s.handOut(ctx, tx, r)
	})
}

// reopenIncomplete lets a partial run look again at the partitions in which something was left: poison events
// may have been mended by a newer program, uncertain effects may have been decided.
func (s *Store) reopenIncomplete(ctx context.Context, tx pgx.Tx, r Replay) error {
	parts, err := partitions(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	for _, p := range parts {
		left := p.Counters.Poison
		for _, c := range p.Counters.Effects {
			left += c.Uncertain + c.Pending
		}
		if left == 0 || !p.Done {
			continue
		}
		_, err := tx.Exec(ctx, `
			update reprocessamento_checkpoint
			set concluida = false, passagens = passagens + 1, epoca = epoca + 1, ultima_posicao = posicao_de - 1, contadores = '{}',
				ocupada_ate = null, dono = null
			where execucao_id = $1 and particao = $2`, r.ID, p.Index)
		if err != nil {
			return err
		}
	}
	if _, err = tx.Exec(ctx, `delete from reprocessamento_falha where execucao_id = $1`, r.ID); err != nil || r.Mode == Simulate {
		return err
	}
	return startOver(ctx, tx, r.ID)
}

// Cancel ends a replay for good, after the calls in flight. What it did stays done.
func (s *Store) Cancel(ctx context.Context, id string) (Replay, error) {
	return s.transition(ctx, id, refuseCancel, []State{Queued, Running, Paused}, func(tx pgx.Tx, r Replay) error {
		if r.PlannedAt != nil {
			sum, err := s.summarize(ctx, tx, r, false)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `update reprocessamento set resumo = $2 where id = $1`, id, asJSON{sum}); err != nil {
				return err
			}
		}
		return setState(ctx, tx, id, Cancelled)
	})
}

// ApprovalPreview says what approving a simulation would set going, and what moved since it was made.
func (s *Store) ApprovalPreview(ctx context.Context, id, newID string) (ApprovalPreview, error) {
	r, err := s.Replay(ctx, id)
	if err != nil {
		return ApprovalPreview{}, err
	}
	if r.Mode != Simulate || r.State != Done && r.State != Partial {
		return ApprovalPreview{}, fmt.Errorf(refuseApproval, id, fmt.Errorf(becauseOfMode, r.Mode, r.State, ErrState))
	}
	if newID == "" {
		newID = string(Apply) + "-" + strings.TrimPrefix(id, string(Simulate)+"-")
	}
	p := ApprovalPreview{Simulation: r, NewID: newID, Rules: r.Rules, RequestedBy: r.RequestedBy}
	if p.Totals, err = s.DiffTotals(ctx, id); err != nil {
		return p, err
	}
	if r.Summary != nil {
		p.Effects = r.Summary.Effects
	}
	p.Drift, err = s.drift(ctx, r)
	return p, err
}

// appliedAs says what a simulation was approved as.
func (s *Store) appliedAs(ctx context.Context, id string) ([]string, error) {
	rows, err := s.pool.Query(ctx, `select id, estado from reprocessamento where simulacao_id = $1 order by criado_em, id`, id)
	if err != nil {
		return nil, fmt.Errorf("applies of %s: %w", id, err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var apply, state string
		err := row.Scan(&apply, &state)
		return fmt.Sprintf(remarkApproved, apply, state), err
	})
	if err != nil {
		return nil, fmt.Errorf("applies of %s: %w", id, err)
	}
	return list, nil
}

// drift lists what moved since a simulation: applies of it, state under its diff, events in its scope, the configured policy.
func (s *Store) drift(ctx context.Context, r Replay) ([]string, error) {
	h, err := s.handlers.Get(r.Handler)
	if err != nil {
		return nil, err
	}
	drift, err := s.appliedAs(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	var moved int64
	if err := s.patiently(ctx, func(tx pgx.Tx) error { return tx.QueryRow(ctx, h.State().Drift, r.ID).Scan(&moved) }); err != nil {
		return nil, fmt.Errorf("drift of %s: %w", r.ID, err)
	}
	if moved > 0 {
		drift = append(drift, fmt.Sprintf(Counted(moved, remarkMovedOne, remarkMoved), moved))
	}
	first, last := bounds(r.Scope)
	var events int64
	err = s.patiently(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `select count(*) from evento_arquivado e where`+inScope, scopeArgs(r.Scope, first, last)...).Scan(&events)
	})
	if err != nil {
		return nil, fmt.Errorf("drift of %s: %w", r.ID, err)
	}
	if r.Summary != nil && events != r.Summary.Events {
		drift = append(drift, fmt.Sprintf(Counted(events, remarkScopeOne, remarkScope), events, r.Summary.Events))
	}
	for kind, now := range s.rules {
		if then, ok := r.Rules[kind]; !ok || then != now {
			drift = append(drift, fmt.Sprintf(remarkNewPolicy, kind))
		}
	}
	if r.CodeVersion != s.version {
		drift = append(drift, fmt.Sprintf(remarkOldProgram, r.CodeVersion, s.version))
	}
	slices.Sort(drift)
	return drift, nil
}

// Approve queues an apply of exactly the scope and policy of a finished simulation. With four-eyes on, whoever
// requested the simulation cannot approve it; both are database roles.
func (s *Store) Approve(ctx context.Context, id, newID string) (Replay, error) {
	p, err := s.ApprovalPreview(ctx, id, newID)
	if err != nil {
		return Replay{}, err
	}
	var approver string
	if err := s.pool.QueryRow(ctx, `select session_user`).Scan(&approver); err != nil {
		return Replay{}, fmt.Errorf(refuseApproval, id, err)
	}
	if s.fourEyes && approver == p.RequestedBy {
		return Replay{}, fmt.Errorf(refuseApproval, id, fmt.Errorf(becauseFourEyes, approver, ErrNotAllowed))
	}
	sim := p.Simulation
	q, err := s.complete(Request{
		ID: p.NewID, Handler: sim.Handler, Mode: Apply, Scope: sim.Scope, Partitions: sim.Partitions, Limits: sim.Limits, Priority: sim.Priority,
	})
	if err != nil {
		return Replay{}, err
	}
	return s.insert(ctx, s.pool, q, Replay{Rules: sim.Rules, Simulation: id, RequestedBy: sim.RequestedBy, ApprovedBy: approver})
}

// Revert undoes the state that an apply wrote and nobody overwrote since, and reports how many orders that was
// and how many it left alone. Effects cannot be undone; they stay in the ledger.
func (s *Store) Revert(ctx context.Context, id string) (reverted, left int64, err error) {
	r, err := s.Replay(ctx, id)
	if err != nil {
		return 0, 0, err
	}
	h, err := s.handlers.Get(r.Handler)
	if err != nil {
		return 0, 0, err
	}
	finished := []State{Done, Partial, Failed, Cancelled, Paused}
	_, err = s.transition(ctx, id, refuseRevert, finished, func(tx pgx.Tx, r Replay) error {
		if r.Mode != Apply {
			return fmt.Errorf(becauseNoChange, ErrState)
		}
		if err := unhurried(ctx, tx); err != nil {
			return err
		}
		// Should the run be resumed, it writes its state again.
		if err := startOver(ctx, tx, id); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, h.State().Revert, id)
		if err != nil {
			return err
		}
		reverted = tag.RowsAffected()
		var all int64
		err = tx.QueryRow(ctx, `
			select count(*) from reprocessamento_diff
			where execucao_id = $1 and (antes is distinct from depois or antes_versao is distinct from depois_versao)`, id).Scan(&all)
		left = all - reverted
		return err
	})
	return reverted, left, err
}
