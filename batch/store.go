package batch

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// RiverSchema is where the tables of the job engine live.
const RiverSchema = "river"

// Store reads and commands replays. It needs no provider and no secret, so that the command line and the
// dashboard use it as they are; executing is the [Engine]'s part.
type Store struct {
	pool     *pgxpool.Pool
	handlers Handlers
	rules    map[string]Rule
	fourEyes bool
	version  string
	jobs     *river.Client[pgx.Tx] // inserts only
}

// StoreOptions configure a [Store].
type StoreOptions struct {
	Handlers    Handlers
	Rules       map[string]Rule // by kind of effect; frozen into each replay when it is queued
	FourEyes    bool            // who requested a simulation must not approve it
	CodeVersion string
}

// NewStore makes a store on a migrated database.
func NewStore(pool *pgxpool.Pool, o StoreOptions) (*Store, error) {
	jobs, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: RiverSchema})
	if err != nil {
		return nil, fmt.Errorf("job engine: %w", err)
	}
	return &Store{pool: pool, handlers: o.Handlers, rules: o.Rules, fourEyes: o.FourEyes, version: o.CodeVersion, jobs: jobs}, nil
}

const replayColumns = `
	id, manipulador, modo, estado, janela_de, janela_ate, coalesce(fuso, ''), posicao_de, posicao_ate, tipos, pedidos,
	eventos, particoes, politica, limites, prioridade, coalesce(simulacao_id, ''), pedido_por, coalesce(aprovado_por, ''),
	case when condutor_ate > clock_timestamp() then condutor else '' end, condutor_desde,
	coalesce(espera, ''), coalesce(erro, ''), resumo, coalesce(versao_codigo, ''), geracao,
	criado_em, planejado_em, iniciado_em, terminado_em, atualizado_em`

func scanReplay(row pgx.Row) (Replay, error) {
	var (
		r             Replay
		rules, limits []byte
		summary       []byte
		updated       time.Time
		holder        *string
	)
	err := row.Scan(&r.ID, &r.Handler, &r.Mode, &r.State, &r.Scope.From, &r.Scope.To, &r.Scope.Zone, &r.Scope.FirstPos, &r.Scope.LastPos,
		&r.Scope.Types, &r.Scope.Orders, &r.Events, &r.Partitions, &rules, &limits, &r.Priority, &r.Simulation, &r.RequestedBy, &r.ApprovedBy,
		&holder, &r.HolderSince, &r.Waiting, &r.Error, &summary, &r.CodeVersion, &r.Generation,
		&r.CreatedAt, &r.PlannedAt, &r.StartedAt, &r.FinishedAt, &updated)
	if err != nil {
		return r, err
	}
	r.UpdatedAt = &updated
	if holder != nil {
		r.Holder = *holder
	}
	if err := json.Unmarshal(rules, &r.Rules); err != nil {
		return r, fmt.Errorf("policy of %s: %w", r.ID, err)
	}
	if err := json.Unmarshal(limits, &r.Limits); err != nil {
		return r, fmt.Errorf("limits of %s: %w", r.ID, err)
	}
	if summary != nil {
		r.Summary = new(Summary)
		if err := json.Unmarshal(summary, r.Summary); err != nil {
			return r, fmt.Errorf("summary of %s: %w", r.ID, err)
		}
	}
	return r, nil
}

// Replay reads one replay.
func (s *Store) Replay(ctx context.Context, id string) (Replay, error) {
	return readReplay(ctx, s.pool, id)
}

// asJSON is a value for a jsonb column, as text in every mode of pgx: without prepared statements pgx knows nothing of
// the column, and would send a struct's String method or refuse it.
type asJSON struct{ of any }

// Value implements [driver.Valuer].
func (j asJSON) Value() (driver.Value, error) {
	text, err := json.Marshal(j.of)
	return string(text), err
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func readReplay(ctx context.Context, q querier, id string) (Replay, error) {
	r, err := scanReplay(q.QueryRow(ctx, `select `+replayColumns+` from reprocessamento where id = $1`, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return r, fmt.Errorf("replay %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return r, fmt.Errorf("replay %s: %w", id, err)
	}
	return r, nil
}

// lockReplay reads a replay and keeps others from changing it until the transaction ends.
func lockReplay(ctx context.Context, tx pgx.Tx, id string) (Replay, error) {
	if _, err := tx.Exec(ctx, `select 1 from reprocessamento where id = $1 for update`, id); err != nil {
		return Replay{}, fmt.Errorf("replay %s: %w", id, err)
	}
	return readReplay(ctx, tx, id)
}

// ReplayQuery says which replays are listed; the zero value: the newest.
type ReplayQuery struct {
	// Text is part of the id, the state, the mode, or the name of who requested or approved, whatever its case. "" is in all.
	Text string
	// States and Modes match as well, e.g. because they are said in other words that hold Text.
	States []State
	Modes  []Mode

	Before time.Time // zero: from the newest
	Limit  int       // 0: 50
}

func (q ReplayQuery) args() []any {
	states, modes := make([]string, len(q.States)), make([]string, len(q.Modes))
	for i, s := range q.States {
		states[i] = string(s)
	}
	for i, m := range q.Modes {
		modes[i] = string(m)
	}
	return []any{strings.ToLower(q.Text), states, modes}
}

// replayMatches is true of a replay that matches the text $2, or has one of the states $3 or of the modes $4.
const replayMatches = ` (
	$2 = '' or position($2 in lower(concat_ws(E'\n', id, estado, modo, pedido_por, aprovado_por))) > 0
	or estado = any($3::text[]) or modo = any($4::text[]))`

// Looking for what few replays match ends somewhere.
const replaysSQL = `
	select ` + replayColumns + `
	from (select * from reprocessamento where criado_em < $5 order by criado_em desc, id limit $1) r
	where` + replayMatches + ` order by criado_em desc, id limit $6`

// Replays lists replays, newest first. It looks at CountLimit replays at most.
func (s *Store) Replays(ctx context.Context, q ReplayQuery) ([]Replay, error) {
	if q.Before.IsZero() {
		q.Before = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	rows, err := s.pool.Query(ctx, replaysSQL, append(append([]any{CountLimit}, q.args()...), q.Before, cmp.Or(q.Limit, 50))...)
	if err != nil {
		return nil, fmt.Errorf("list replays: %w", err)
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (Replay, error) { return scanReplay(r) })
}

// patiently runs a transaction whose statements read a whole scope: they may take as long as that demands, and
// sort in memory. Everything else is bounded by the pool's statement time-out.
func (s *Store) patiently(ctx context.Context, fn func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := unhurried(ctx, tx); err != nil {
			return err
		}
		return fn(tx)
	})
}

func unhurried(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `select set_config('statement_timeout', '30min', true), set_config('work_mem', '128MB', true)`)
	return err
}

// byIndex keeps the planner from reading a whole table for each key that is looked up in it. A table that was empty
// when it was analyzed looks empty still to a statement that begins now, while others fill it.
func byIndex(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `set local enable_seqscan = off`)
	return err
}
