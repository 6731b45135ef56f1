package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"pgregory.net/rapid"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/seedsql"
)

// The model check is worth what its functions are worth: random sequences of everything that can happen to a
// row must leave the same row in the model and in the database.
func TestModel_IsWhatTheStatementsDo(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		policies := []modelPolicy{release, keep, lookUp}
		m := &machine{
			t: t, l: l, pool: pool, id: fmt.Sprint("ev-", n), tokens: map[int8]string{0: ""},
			policy:   rapid.SampledFrom(policies).Draw(rt, "policy"),
			windowed: rapid.Bool().Draw(rt, "windowed"),
		}
		rt.Repeat(map[string]func(*rapid.T){
			"reserve":          m.reserve,
			"report":           m.report,
			"sweep":            m.sweep,
			"decide":           m.decide,
			"look":             m.look,
			"age":              m.age,
			"foreign reserve":  m.foreignReserve,
			"foreign complete": m.foreignComplete,
			"foreign delete":   m.foreignDelete,
			"foreign doubt":    m.foreignDoubt,
			"":                 m.check,
		})
	})
}

// machine holds the model's row beside a real one.
type machine struct {
	t        testing.TB
	l        *ledger.Ledger
	pool     *pgxpool.Pool
	id       string
	policy   modelPolicy
	windowed bool

	row      modelRow
	tokens   map[int8]string // the model's tokens and the real ones
	held     []heldReservation
	versions []time.Time // that a reviewer has seen, the current one last
}

type heldReservation struct {
	token int8
	real  ledger.Reservation
}

func (m *machine) key() string { return ledger.Key(m.id, kind) }

func (m *machine) draw(rt *rapid.T) (ledger.Effect, caller) {
	onFailure := map[modelPolicy]ledger.OnFailure{release: ledger.Release, keep: ledger.Keep, lookUp: ledger.LookUp}
	c := caller{content: rapid.SampledFrom([]byte{1, 1, 1, 2}).Draw(rt, "content"), policy: m.policy, windowed: m.windowed && m.policy == release}
	if rapid.IntRange(0, 9).Draw(rt, "configured anew") == 0 {
		c.policy, c.windowed = rapid.SampledFrom([]modelPolicy{release, keep, lookUp}).Draw(rt, "other policy"), false
	}
	e := effect(m.id, onFailure[c.policy])
	e.Content = json.RawMessage(fmt.Sprintf(`{"valorCentavos":%d}`, c.content))
	e.Policy.MaxAttempts = modelMaxAttempts
	if c.windowed {
		e.Policy.DedupWindow = time.Hour
	}
	return e, c
}

func (m *machine) reserve(rt *rapid.T) {
	e, c := m.draw(rt)
	c.token = int8(len(m.tokens))
	predicted := look(m.t, m.l, e).Standing
	real, status, err := m.l.Reserve(m.t.Context(), e)
	if err != nil {
		rt.Fatal(err)
	}
	mine := m.row.reserve(c, none)
	if mine != (status.Standing == ledger.Mine) || mine != (predicted == ledger.Absent) {
		rt.Fatalf("predicted %s, found %s; the model says mine: %v", predicted, status.Standing, mine)
	}
	if mine {
		m.tokens[c.token] = m.owner()
		m.held = append(m.held, heldReservation{c.token, real})
	}
}

func (m *machine) owner() string {
	var owner *string
	if err := m.pool.QueryRow(m.t.Context(), `select dono from efeito_aplicado where chave = $1`, m.key()).Scan(&owner); err != nil {
		m.t.Fatal(err)
	}
	if owner == nil {
		return ""
	}
	return *owner
}

func (m *machine) report(rt *rapid.T) {
	if len(m.held) == 0 {
		rt.Skip("nobody holds a reservation")
	}
	h := rapid.SampledFrom(m.held).Draw(rt, "reservation") // also one that was reported before
	ctx, before := m.t.Context(), m.row
	owned := m.row.ownedBy(h.token)
	var err error
	switch answer := rapid.SampledFrom([]answer{acted, refusedIt, unsent, ambiguous, ambiguous}).Draw(rt, "answer"); answer {
	case acted:
		m.row.conclude(h.token, none)
		err = m.l.Complete(ctx, h.real, nil)
	case refusedIt:
		m.row.conclude(h.token, none)
		err = m.l.Refuse(ctx, h.real, &ledger.RefusedError{Reason: "nao"})
	case unsent:
		m.row.giveBack(h.token, none)
		err = m.l.GiveBack(ctx, h.real, errNoRoute)
	case ambiguous:
		m.row.doubt(h.token, none)
		_, _, err = m.l.Doubt(ctx, h.real, errTimeout)
	}
	if err != nil && !errors.Is(err, ledger.ErrLostOwnership) || owned && err != nil {
		rt.Fatal(err)
	}
	if !owned && m.row != before {
		rt.Fatalf("the model let a former owner change %+v", before)
	}
}

func (m *machine) sweep(rt *rapid.T) {
	e, c := m.draw(rt)
	var retakable []ledger.Retakable
	report, err := m.l.Sweep(m.t.Context(), ledger.SweepScope{
		Policies: policies(e.Policy), Keys: []string{m.key()}, Retry: func(r ledger.Retakable) error {
			retakable = append(retakable, r)
			return nil
		},
	})
	if err != nil {
		rt.Fatal(err)
	}
	swept := m.row.state == reserved && (m.row.free || m.row.stale)
	moved := m.row.sweep(c, none)
	if moved != (len(report.Uncertain) == 1) || (swept && !moved) != (len(retakable) == 1) {
		rt.Fatalf("report %+v, retakable %+v; the model says moved: %v", report, retakable, moved)
	}
}

func (m *machine) look(rt *rapid.T) {
	if m.row.state == absent {
		rt.Skip("no row")
	}
	var version time.Time
	if err := m.pool.QueryRow(m.t.Context(), `select atualizado_em from efeito_aplicado where chave = $1`, m.key()).Scan(&version); err != nil {
		rt.Fatal(err)
	}
	m.versions = append(m.versions, version)
}

func (m *machine) decide(rt *rapid.T) {
	if len(m.versions) == 0 {
		rt.Skip("nothing was seen")
	}
	seen := rapid.SampledFrom(m.versions).Draw(rt, "seen")
	v := rapid.SampledFrom([]verdict{confirm, resend, discard}).Draw(rt, "verdict")
	var version time.Time
	err := m.pool.QueryRow(m.t.Context(), `select atualizado_em from efeito_aplicado where chave = $1`, m.key()).Scan(&version)
	_, refused := m.l.Decide(m.t.Context(), ledger.Decision{
		Key: m.key(), Seen: seen, Note: "n", Verdict: []ledger.Verdict{ledger.Confirm, ledger.Resend, ledger.Discard}[v],
	})
	decided := m.row.decide(v, err == nil && version.Equal(seen), none)
	if decided != (refused == nil) {
		rt.Fatalf("%v; the model says decided: %v", refused, decided)
	}
}

// age lets pass the sweep age or the window.
func (m *machine) age(rt *rapid.T) {
	by := rapid.SampledFrom([]time.Duration{6 * time.Minute, 2 * time.Hour}).Draw(rt, "by")
	if _, err := m.pool.Exec(m.t.Context(), `
		update efeito_aplicado set criado_em = criado_em - $1::interval, atualizado_em = atualizado_em - $1::interval,
			tentativa_em = tentativa_em - $1::interval, deduplica_ate = deduplica_ate - $1::interval, quarentena_ate = quarentena_ate - $1::interval
		where chave = $2`, by, m.key()); err != nil {
		rt.Fatal(err)
	}
	if m.row.state == absent {
		return
	}
	m.row.stale, m.row.recent, m.row.quarantine = m.row.state == reserved, false, false
	if by > time.Hour && (m.row.window == windowOpen || m.row.policy == unknownPolicy) {
		m.row.window = windowOver
	}
}

func (m *machine) exec(rt *rapid.T, sql string, args ...any) int64 {
	tag, err := m.pool.Exec(m.t.Context(), sql, args...)
	if err != nil {
		rt.Fatal(err)
	}
	return tag.RowsAffected()
}

func (m *machine) foreignReserve(rt *rapid.T) {
	deduplicated := rapid.Bool().Draw(rt, "deduplicated")
	affected := m.exec(rt, seedsql.Reserve, m.key(), m.id, kind, seedsql.Live, deduplicated)
	if mine := m.row.foreignReserve(deduplicated, none); mine != (affected == 1) {
		rt.Fatalf("%d rows; the model says mine: %v", affected, mine)
	}
}

func (m *machine) foreignComplete(rt *rapid.T) {
	m.exec(rt, seedsql.Complete, m.key(), "null")
	m.row.foreignComplete()
}

func (m *machine) foreignDelete(rt *rapid.T) {
	m.exec(rt, seedsql.GiveBack, m.key())
	m.row.foreignDelete(none)
}

func (m *machine) foreignDoubt(rt *rapid.T) {
	if m.row.state == doubtful {
		rt.Skip("it doubts what it reserved")
	}
	m.exec(rt, seedsql.Doubt, m.key())
	m.row.foreignDoubt(none)
}

const modelRowSQL = `
select estado, coalesce(ao_falhar, ''), coalesce(dono, ''), tentativas, pode_ter_saido, livre, reenvio, primeira_tentativa_em is not null,
	estado = 'reservado' and atualizado_em < clock_timestamp() - interval '5 minutes',
	estado = 'incerto' and coalesce(quarentena_ate, atualizado_em + interval '5 minutes') > clock_timestamp(),
	coalesce(conteudo->>'valorCentavos', '0')::int,
	case when deduplica_ate is null then 0 when deduplica_ate > clock_timestamp() + interval '11 seconds' then 1 else 2 end
from efeito_aplicado where chave = $1`

// check compares the rows.
func (m *machine) check(rt *rapid.T) {
	rows, err := m.pool.Query(m.t.Context(), modelRowSQL, m.key())
	if err != nil {
		rt.Fatal(err)
	}
	defer rows.Close()
	var got modelRow
	owner := ""
	if rows.Next() {
		var state, policy string
		if err := rows.Scan(&state, &policy, &owner, &got.attempts, &got.left, &got.free, &got.resend, &got.ours,
			&got.stale, &got.quarantine, &got.content, &got.window); err != nil {
			rt.Fatal(err)
		}
		got.state = map[string]modelState{"reservado": reserved, "concluido": done, "incerto": doubtful}[state]
		got.policy = map[string]modelPolicy{"": unknownPolicy, "liberar": release, "manter": keep, "consultar": lookUp}[policy]
	}
	if err := rows.Err(); err != nil {
		rt.Fatal(err)
	}
	got.owner, got.recent = m.row.owner, m.row.recent // shows in the quarantine
	want := m.row
	if want.policy == unknownPolicy {
		want.window = got.window // the model remembers what the database computes from the caller's policy
	}
	want.stale = want.stale && want.state == reserved
	want.quarantine = want.quarantine && want.state == doubtful
	if got != want || owner != m.tokens[m.row.owner] {
		rt.Fatalf("the database holds %+v owned by %q,\nthe model  %+v owned by %q", got, owner, want, m.tokens[m.row.owner])
	}
}
