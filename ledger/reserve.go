package ledger

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/schema/failpoint"
)

// Reservation is the right to make one attempt. It is the caller's until the ledger's sweep age; who cannot
// finish a call by then must not begin it (see [Ledger.TimeLeft]).
type Reservation struct {
	Effect
	Attempt   int       // counts the attempts that may have left, this one included
	OnFailure OnFailure // under which the attempt is made; an earlier attempt's counts
	Resend    bool      // a person allowed this attempt
	token     string
	since     time.Time     // before the reservation was asked for: no younger than the row
	window    time.Duration // a retry must end within this of since, while the provider deduplicates; 0: no limit
}

// patience bounds how long a reservation is asked for while the database is away.
const patience = time.Minute

// reserveSQL takes keys: new ones, and abandoned ones where that is safe. It is the one place that decides it.
//
// $1 to $7: arrays, one element an effect; $8: policy on failure; $9: deduplication window; $10: maximum of
// attempts; $11: sweep age; $12: how long a call may take, with the margin. Durations in microseconds.
const reserveSQL = `
insert into efeito_aplicado as e (
    chave, evento_id, tipo_efeito, estado, execucao_id, criado_em, atualizado_em,
    dono, tentativas, primeira_tentativa_em, tentativa_em, ao_falhar, pode_ter_saido,
    conteudo, conteudo_hash, deduplica_ate)
select n.chave, n.evento_id, n.tipo_efeito, 'reservado', n.execucao_id, t.agora, t.agora,
    n.dono, 1, t.agora, t.agora, $8::text, true,
    n.conteudo::jsonb, n.conteudo_hash, t.agora + $9::bigint * interval '1 microsecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bytea[])
         as n(chave, evento_id, tipo_efeito, execucao_id, dono, conteudo, conteudo_hash)
    cross join (select clock_timestamp() as agora) t
order by n.chave -- everybody locks rows in the same order
on conflict (chave) do update set
    execucao_id = excluded.execucao_id,
    atualizado_em = excluded.atualizado_em,
    dono = excluded.dono,
    tentativas = e.tentativas + 1,
    primeira_tentativa_em = coalesce(e.primeira_tentativa_em, excluded.primeira_tentativa_em),
    tentativa_em = excluded.tentativa_em,
    -- What may have left keeps the policy and the window of its first attempt; a consumer without tokens stored none.
    ao_falhar = case when e.pode_ter_saido then coalesce(e.ao_falhar, excluded.ao_falhar) else excluded.ao_falhar end,
    deduplica_ate = case
        when not e.pode_ter_saido then excluded.deduplica_ate
        when e.ao_falhar is null then e.criado_em + $9::bigint * interval '1 microsecond'
        else e.deduplica_ate end,
    pode_ter_saido = true,
    livre = false,
    reenvio = e.livre and e.reenvio, -- spent when this attempt ends, unless it is given back unsent
    conteudo = excluded.conteudo,
    conteudo_hash = excluded.conteudo_hash
where e.estado = 'reservado'
  -- Nobody's call can be alive.
  and (e.livre or e.atualizado_em < clock_timestamp() - $11::bigint * interval '1 microsecond')
  and (
      -- Nothing has left,
      not e.pode_ter_saido
      -- or the same is sent once more (what a consumer without tokens sent is not known)
      or (e.conteudo_hash is null or e.conteudo_hash = excluded.conteudo_hash)
         and (
             -- because a person allowed it,
             e.livre and e.reenvio
             -- or because the provider deduplicates, and still will when the call ends.
             or coalesce(e.ao_falhar, excluded.ao_falhar) = 'liberar'
                and e.tentativas < $10::int
                and coalesce(case when e.ao_falhar is null then e.criado_em + $9::bigint * interval '1 microsecond'
                                  else e.deduplica_ate end, 'infinity')
                    >= clock_timestamp() + $12::bigint * interval '1 microsecond'))
returning e.chave, e.tentativas, e.ao_falhar, e.reenvio, e.deduplica_ate, clock_timestamp()`

// reserving is one effect's part in a group of reservations.
type reserving struct {
	ctx    context.Context
	r      Reservation
	status Status
	hash   []byte
	err    error
	done   chan struct{}
}

func (q *reserving) effectKey() string { return q.r.Key() }
func (q *reserving) finish(err error)  { q.err = err; close(q.done) }
func (q *reserving) patient(now time.Time) bool {
	return q.ctx.Err() == nil && now.Sub(q.r.since) < patience
}

// Reserve asks for the right to attempt the effect. Only with the standing [Mine] may the caller call the
// provider; every other standing says why not. After an error nothing is known, and nothing may be sent.
func (l *Ledger) Reserve(ctx context.Context, e Effect) (Reservation, Status, error) {
	q, err := l.newReserving(ctx, e)
	if err != nil {
		return Reservation{}, Status{}, err
	}
	if err := l.reservations.add(q); err != nil {
		return Reservation{}, Status{}, fmt.Errorf("reserve %s: %w", e.Key(), err)
	}
	select {
	case <-q.done:
	case <-ctx.Done():
		if l.reservations.withdraw(q) {
			return Reservation{}, Status{}, fmt.Errorf("reserve %s: %w", e.Key(), ctx.Err())
		}
		<-q.done // under way: what it reserves must be given back
	}
	if q.err != nil {
		return Reservation{}, Status{}, fmt.Errorf("reserve %s: %w", e.Key(), l.explained(q.err))
	}
	return q.r, q.status, nil
}

func (l *Ledger) newReserving(ctx context.Context, e Effect) (*reserving, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reserve %s: %w", e.Key(), err)
	}
	if err := l.check(&e); err != nil {
		return nil, fmt.Errorf("reserve %s: %w", e.Key(), err)
	}
	return &reserving{
		ctx: ctx, hash: hashOf(e.Content), done: make(chan struct{}),
		r: Reservation{Effect: e, OnFailure: e.Policy.OnFailure, token: l.token(), since: time.Now()},
	}, nil
}

// check refuses what the protocol cannot keep its promises for, and brings the content into its canonical form.
func (l *Ledger) check(e *Effect) error {
	if err := checkNames(e); err != nil {
		return err
	}
	if err := e.Policy.Validate(e.Kind, l.SweepAge, l.Margin); err != nil {
		return err
	}
	if e.checked != nil && bytes.Equal(e.checked, e.Content) {
		return nil
	}
	content, err := canonical(e.Content)
	if err != nil {
		return fmt.Errorf("%w: content: %w", ErrInvalid, err)
	}
	e.Content, e.checked = content, content
	return nil
}

func checkNames(e *Effect) error {
	if err := ValidKind(e.Kind); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for _, id := range [...]struct{ name, text string }{{"event id", e.EventID}, {"execution id", e.Execution}} {
		if id.text == "" || !utf8.ValidString(id.text) || strings.ContainsRune(id.text, 0) {
			return fmt.Errorf("%w: %s %q: it must be text, without NUL, and not empty", ErrInvalid, id.name, id.text)
		}
	}
	return nil
}

// reserveGroup reserves for everybody in the group, one statement a policy.
func (l *Ledger) reserveGroup(group []*reserving) {
	byPolicy := make(map[Policy][]*reserving, 1)
	for _, q := range group {
		byPolicy[q.r.Policy] = append(byPolicy[q.r.Policy], q)
	}
	for policy, part := range byPolicy {
		persist(l.Logger, part, func(part []*reserving) error { return l.reserveOnce(policy, part) })
	}
}

// reserveOnce may be repeated with the same tokens: a reservation whose reply was lost is recognised by its
// token when it is read back.
func (l *Ledger) reserveOnce(p Policy, part []*reserving) error {
	byKey := make(map[string]*reserving, len(part))
	n := len(part)
	keys, events, kinds, executions := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	tokens, contents, hashes := make([]string, n), make([]string, n), make([][]byte, n)
	for i, q := range part {
		keys[i], events[i], kinds[i], executions[i] = q.r.Key(), q.r.EventID, q.r.Kind, q.r.Execution
		tokens[i], contents[i], hashes[i] = q.r.token, string(q.r.Content), q.hash
		byKey[keys[i]] = q
	}
	failpoint.Hit(failpoint.BeforeReserve)
	err := l.upsert(reserveSQL, []any{keys, events, kinds, executions, tokens, contents, hashes,
		p.OnFailure, p.windowMicros(), p.maxAttempts(), microseconds(l.SweepAge), microseconds(p.CallTimeout + l.Margin)},
		func(rows pgx.Rows) error {
			var key string
			var taken row
			_, err := pgx.ForEachRow(rows, []any{&key, &taken.attempts, &taken.onFailure, &taken.resend, &taken.windowEnd, &taken.now}, func() error {
				byKey[key].mine(&taken)
				delete(byKey, key)
				return nil
			})
			return err
		})
	if err != nil {
		return err
	}
	return l.explain(byKey)
}

// mine makes the row the caller's. What nobody has seen yet, and what a person allowed, needs no deduplication.
func (q *reserving) mine(r *row) {
	q.r.Attempt, q.r.OnFailure, q.r.Resend = r.attempts, r.onFailure, r.resend
	if r.attempts > 1 && !r.resend && r.windowEnd != nil {
		q.r.window = max(r.windowEnd.Sub(r.now), 1)
	}
	q.status = Status{Standing: Mine, Execution: q.r.Execution}
}

// explain reads the rows that were not taken, to say why. The decision is made already; the exception is a row
// with the caller's own token, whose reply was lost.
func (l *Ledger) explain(refused map[string]*reserving) error {
	if len(refused) == 0 {
		return nil
	}
	asked := make([]*reserving, 0, len(refused))
	var keys []string
	var hashes [][]byte
	for key, q := range refused {
		asked, keys, hashes = append(asked, q), append(keys, key), append(hashes, q.hash)
		q.status = Status{Standing: InFlight} // should the row be gone by now: look again
	}
	found, err := l.read(context.Background(), keys, hashes)
	if err != nil {
		return err
	}
	for i := range found {
		row, q := &found[i], asked[found[i].index]
		if row.ownedBy(q.r.token) {
			q.mine(row)
			continue
		}
		q.status = row.status(q.r.Policy, l)
		if q.status.Standing == Absent {
			q.status.Standing = InFlight // became free between the two statements: look again
		}
	}
	return nil
}
