package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reprise.dev/reprise/ledger"
)

var idPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$`)

// Queue records a replay and hands out its first job, in one transaction. Queueing the same request twice is
// one replay; another request under an id that is taken is [ErrExists].
func (s *Store) Queue(ctx context.Context, q Request) (Replay, error) {
	q, err := s.complete(q)
	if err != nil {
		return Replay{}, err
	}
	return s.insert(ctx, s.pool, q, Replay{Rules: s.rules})
}

// beginner is a pool, or a transaction that the insert becomes part of.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// complete fills in what the request leaves open and refuses what cannot be right.
func (s *Store) complete(q Request) (Request, error) {
	if q.Mode == "" {
		q.Mode = Simulate
	}
	if q.Partitions == 0 {
		q.Partitions = DefaultPartitions
	}
	if q.Priority == 0 {
		q.Priority = 2
	}
	if q.Handler == "" {
		name, err := s.handlerOf(q.Scope.Types)
		if err != nil {
			return q, err
		}
		q.Handler = name
	}
	if _, err := s.handlers.Get(q.Handler); err != nil {
		return q, fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if q.ID == "" {
		q.ID = defaultID(q)
	}
	var wrong []string
	say := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	sc := q.Scope
	say(!idPattern.MatchString(q.ID), wrongID, q.ID)
	say(q.ID == ledger.Live, wrongLiveID, q.ID)
	say(q.Mode != Simulate && q.Mode != Apply, "mode %q: %s or %s", q.Mode, Simulate, Apply)
	say(q.Partitions < 1 || q.Partitions > 4096, "partitions %d: 1 to 4096", q.Partitions)
	say(q.Priority < 1 || q.Priority > 4, "priority %d: 1 (first) to 4 (last)", q.Priority)
	say(q.Limits.Effects < 0, "limit of effects %d: 0 (none) or more", q.Limits.Effects)
	say(sc.From == nil && sc.To == nil && sc.FirstPos == nil && sc.LastPos == nil, "scope is empty: give a window (--from, --to) or positions (--positions A:B)")
	say((sc.From == nil) != (sc.To == nil), "window needs both ends")
	say((sc.FirstPos == nil) != (sc.LastPos == nil), "positions need both ends")
	say(sc.From != nil && sc.To != nil && !sc.From.Before(*sc.To), "window is empty: from %v to %v (the end is not part of it)", sc.From, sc.To)
	say(sc.FirstPos != nil && sc.LastPos != nil && *sc.FirstPos > *sc.LastPos, "positions are empty: %v to %v", deref(sc.FirstPos), deref(sc.LastPos))
	if len(wrong) > 0 {
		return q, fmt.Errorf("%w: %s", ErrUsage, strings.Join(wrong, "; "))
	}
	return q, nil
}

func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// handlerOf finds the handler for event types; with no types, there must be only one handler.
func (s *Store) handlerOf(types []string) (string, error) {
	found := map[string]bool{}
	for name, h := range s.handlers {
		if len(types) == 0 {
			found[name] = true
			continue
		}
		for _, t := range types {
			for _, taken := range h.Types() {
				if t == taken {
					found[name] = true
				}
			}
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%w: "+wrongHandler, ErrUsage, len(found), types)
	}
	for name := range found {
		return name, nil
	}
	return "", nil
}

// defaultID names a replay after what it does, e.g. "simular-2026-10-14-153012".
func defaultID(q Request) string {
	what := string(q.Mode)
	switch {
	case q.Scope.From != nil:
		loc := time.UTC
		if l, err := time.LoadLocation(q.Scope.Zone); err == nil {
			loc = l
		}
		what += "-" + q.Scope.From.In(loc).Format("2006-01-02")
	case q.Scope.FirstPos != nil:
		what += fmt.Sprintf("-%d-%d", *q.Scope.FirstPos, deref(q.Scope.LastPos))
	}
	return what + "-" + time.Now().UTC().Format("150405")
}

const insertReplaySQL = `
	insert into reprocessamento (id, manipulador, modo, janela_de, janela_ate, fuso, posicao_de, posicao_ate, tipos, pedidos,
		particoes, politica, limites, prioridade, simulacao_id, pedido_por, aprovado_por, aprovado_em, versao_codigo)
	values ($1, $2, $3, $4, $5, nullif($6, ''), $7, $8, $9, $10, $11, $12, $13, $14, nullif($15, ''),
		coalesce(nullif($16, ''), session_user), nullif($17, ''), case when $17 <> '' then clock_timestamp() end, $18)`

func (s *Store) insert(ctx context.Context, db beginner, q Request, r Replay) (Replay, error) {
	if r.Rules == nil {
		r.Rules = map[string]Rule{}
	}
	rules, err := json.Marshal(r.Rules)
	if err != nil {
		return Replay{}, fmt.Errorf("policy of %s: %w", q.ID, err)
	}
	limits, err := json.Marshal(q.Limits)
	if err != nil {
		return Replay{}, fmt.Errorf("limits of %s: %w", q.ID, err)
	}
	sc := q.Scope
	var out Replay
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insertReplaySQL, q.ID, q.Handler, q.Mode, sc.From, sc.To, sc.Zone, sc.FirstPos, sc.LastPos,
			notNil(sc.Types), notNil(sc.Orders), q.Partitions, string(rules), string(limits), q.Priority, r.Simulation,
			r.RequestedBy, r.ApprovedBy, s.version)
		if err != nil {
			return err
		}
		if out, err = readReplay(ctx, tx, q.ID); err != nil {
			return err
		}
		return s.handOut(ctx, tx, out)
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == pgerrcode.UniqueViolation {
		return s.sameReplay(ctx, q)
	}
	if err != nil {
		return Replay{}, fmt.Errorf(refuseRequest, q.ID, err)
	}
	return out, nil
}

// sameReplay answers a request whose id is taken: the very same request is the replay that exists.
func (s *Store) sameReplay(ctx context.Context, q Request) (Replay, error) {
	old, err := s.Replay(ctx, q.ID)
	if err != nil {
		return Replay{}, err
	}
	a, _ := json.Marshal(Request{old.ID, old.Handler, old.Mode, inUTC(old.Scope), old.Partitions, old.Limits, old.Priority})
	b, _ := json.Marshal(Request{q.ID, q.Handler, q.Mode, inUTC(q.Scope), q.Partitions, q.Limits, q.Priority})
	if string(a) != string(b) {
		return Replay{}, fmt.Errorf(refuseRequest, q.ID, fmt.Errorf(becauseTaken, ErrExists, old.State))
	}
	return old, nil
}

func notNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
