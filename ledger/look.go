package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Reasons why an effect is uncertain, or needs review, that the ledger itself gives.
const (
	ReasonUnknown   = "erro-desconhecido"    // an error that says nothing about the request
	ReasonPanic     = "panico"               // the call panicked
	ReasonAbandoned = "abandonada"           // whoever reserved it never reported back
	ReasonWindow    = "janela-encerrada"     // the provider may no longer deduplicate
	ReasonAttempts  = "tentativas-esgotadas" // as many attempts as the policy allows
	ReasonContent   = "conteudo-difere"      // something else would be sent than may have gone out
	ReasonNotFound  = "consulta-nao-encontrado"
	ReasonNotSent   = "nao-enviado" // given back; nothing left in that attempt
)

// readSQL reads rows by key. The inner limit keeps the planner at one index look-up a key, whatever it knows
// of the table. $1: keys; $2: hashes of what the caller would send.
const readSQL = `
select n.posicao::int, e.estado, e.execucao_id, e.desfecho, e.motivo, e.dono, e.tentativas, e.ao_falhar,
    e.pode_ter_saido, e.livre, e.reenvio, e.criado_em, e.atualizado_em, e.deduplica_ate, e.conteudo_hash,
    case when e.conteudo_hash <> n.conteudo_hash then e.conteudo::text end, n.conteudo_hash, clock_timestamp()
from unnest($1::text[], $2::bytea[]) with ordinality as n(chave, conteudo_hash, posicao)
    cross join lateral (select * from efeito_aplicado where chave = n.chave limit 1) e`

// row is what the ledger holds of an effect, as far as its standing depends on it.
type row struct {
	index      int // in the question
	state      State
	execution  string
	result     Result
	reason     string
	token      string
	attempts   int
	onFailure  OnFailure // "": reserved by a consumer without tokens
	mayHaveRun bool      // a request may have left
	free       bool
	resend     bool
	created    time.Time
	updated    time.Time
	windowEnd  *time.Time
	hash       []byte
	content    string // where it differs from what would be sent
	wouldSend  []byte // hash
	now        time.Time
}

func scanRow(rows pgx.CollectableRow) (row, error) {
	var r row
	var result *Result
	var reason, token, content *string
	var onFailure *OnFailure
	err := rows.Scan(&r.index, &r.state, &r.execution, &result, &reason, &token, &r.attempts, &onFailure,
		&r.mayHaveRun, &r.free, &r.resend, &r.created, &r.updated, &r.windowEnd, &r.hash, &content, &r.wouldSend, &r.now)
	r.index--
	r.result, r.reason, r.token, r.onFailure, r.content = value(result), value(reason), value(token), value(onFailure), value(content)
	return r, err
}

func (l *Ledger) read(ctx context.Context, keys []string, hashes [][]byte) ([]row, error) {
	return collect(ctx, l, readSQL, scanRow, keys, hashes)
}

// Look says what would happen to each effect, in their order. It never writes, and costs one round trip and one
// index look-up an effect. It brings the contents into canonical form, which spares [Ledger.Do] to do so.
func (l *Ledger) Look(ctx context.Context, effects []Effect) ([]Status, error) {
	statuses := make([]Status, len(effects))
	keys, hashes := make([]string, len(effects)), make([][]byte, len(effects))
	for i := range effects {
		e := &effects[i]
		if err := l.check(e); err != nil {
			return nil, fmt.Errorf("look at %s: %w", e.Key(), err)
		}
		keys[i], hashes[i] = e.Key(), hashOf(e.Content)
		statuses[i] = Status{Standing: Absent}
	}
	found, err := l.read(ctx, keys, hashes)
	if err != nil {
		return nil, fmt.Errorf("look at %d effects: %w", len(effects), err)
	}
	for i := range found {
		statuses[found[i].index] = found[i].status(effects[found[i].index].Policy, l)
	}
	return statuses, nil
}

func (r *row) ownedBy(token string) bool {
	return r.state == Reserved && r.token == token && !r.free
}

// status is the row's standing for somebody who would send wouldSend under the policy.
func (r *row) status(p Policy, l *Ledger) Status {
	s := Status{Execution: r.execution, Reason: r.reason}
	switch {
	case r.state == Done:
		s.Standing, s.Result = AlreadyDone, r.result
		if s.Result == "" {
			s.Result = Applied // by a consumer that stores no results
		}
		s.Differs = r.otherContent() && (s.Result == Applied || s.Result == Confirmed)
	case r.state == Uncertain:
		s.Standing = InDoubt
	default:
		s.Standing, s.Reason = r.reservedStanding(p, l)
		s.Differs = r.otherContent() && r.mayHaveRun
	}
	if s.Differs {
		s.Content = json.RawMessage(r.content)
	}
	return s
}

func (r *row) otherContent() bool { return r.hash != nil && !bytes.Equal(r.hash, r.wouldSend) }

// reservedStanding mirrors the conditions of reserveSQL. Nothing is decided here: it predicts for those who only look, and
// explains to those who were refused.
func (r *row) reservedStanding(p Policy, l *Ledger) (Standing, string) {
	allowed := r.free && r.resend
	switch why := r.notRetakable(p, l); {
	case !r.free && !r.stale(l.SweepAge):
		return InFlight, ""
	case !r.mayHaveRun:
		return Absent, ""
	case allowed && r.otherContent():
		return InFlight, ReasonContent // what a person allowed is sent first, by who sends that content
	case allowed:
		return Absent, ""
	case why != "":
		return NeedsReview, why
	case r.otherContent():
		return NeedsReview, ReasonContent
	default:
		return Absent, ""
	}
}

func (r *row) stale(age time.Duration) bool { return r.now.Sub(r.updated) > age }

// notRetakable says why no automatic attempt may follow one that may have left; "" if one may, with the same
// content. Time and attempts only ever add reasons.
func (r *row) notRetakable(p Policy, l *Ledger) string {
	policy, windowEnd := r.onFailure, r.windowEnd
	if policy == "" {
		policy, windowEnd = p.OnFailure, nil
		if p.DedupWindow > 0 {
			end := r.created.Add(p.DedupWindow)
			windowEnd = &end
		}
	}
	switch {
	case policy != Release:
		return ReasonAbandoned
	case r.attempts >= p.maxAttempts():
		return ReasonAttempts
	case windowEnd != nil && windowEnd.Before(r.now.Add(p.CallTimeout+l.Margin)):
		return ReasonWindow
	default:
		return ""
	}
}
