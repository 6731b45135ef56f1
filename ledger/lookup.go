package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// LookUpVerdict is what asking a provider about a key led to.
type LookUpVerdict string

// The verdicts.
const (
	Found       LookUpVerdict = "encontrado"     // the provider acted on the key
	NotFound    LookUpVerdict = "nao-encontrado" // the provider was reached, and knows nothing of the key
	Unreachable LookUpVerdict = "inacessivel"    // no answer that says either
)

// LookUpAnswer is a provider's answer to the question what it did with a key.
type LookUpAnswer struct {
	Verdict LookUpVerdict
	Answer  json.RawMessage // the provider's, as evidence; or nil
	Detail  string          // for people
}

// lookUpLease is how long a due look-up belongs to who was handed it. Asking twice does no harm; it only wastes a call.
const lookUpLease = 5 * time.Minute

// dueLookUpsSQL hands out look-ups. $1: sweep age (of uncertainColumns); $2: how many; $3: lease.
const dueLookUpsSQL = `
with devidas as materialized (
    select chave from efeito_aplicado
    where estado = 'incerto' and consultar_em <= clock_timestamp()
    order by consultar_em, chave limit $2
    for update skip locked
)
update efeito_aplicado
set consultar_em = clock_timestamp() + $3::bigint * interval '1 microsecond'
where chave = any(array(select chave from devidas))
returning ` + uncertainColumns

// lookUpSQL records an answer about the very row that was asked about. An outage only puts the next question
// off, each time longer; it leaves the row's version alone, so it does not get in a reviewer's way. $1 key, $2 version,
// $3 verdict, $4 answer, $5 detail.
const lookUpSQL = `
with visto as materialized (
    select chave, execucao_id from efeito_aplicado
    where chave = $1 and estado = 'incerto' and atualizado_em = $2
    for update
), mudou as (
    update efeito_aplicado e
    set estado = case when $3 = 'encontrado' then 'concluido' else e.estado end,
        desfecho = case when $3 = 'encontrado' then 'aplicado' end,
        resultado = case when $3 = 'encontrado' then $4::jsonb else e.resultado end,
        motivo = case $3 when 'encontrado' then null when 'nao-encontrado' then 'consulta-nao-encontrado' else e.motivo end,
        atualizado_em = case when $3 = 'inacessivel' then e.atualizado_em else clock_timestamp() end,
        consultas = e.consultas + 1,
        consultar_em = case when $3 = 'inacessivel' and e.consultar_em is not null then clock_timestamp() + case e.consultas
            when 0 then interval '5 minutes'
            when 1 then interval '30 minutes'
            when 2 then interval '2 hours'
            when 3 then interval '12 hours'
            else interval '24 hours' end end
    where e.chave = any(array(select chave from visto))
)
insert into efeito_ocorrencia (chave, execucao_id, tipo, detalhe, resposta)
select $1, coalesce((select execucao_id from visto), ''),
    case when exists (select from visto) then 'consulta' else 'resposta-tardia' end, $3 || ': ' || $5::text, $4::jsonb`

// DueLookUps hands out uncertain effects about which it is time to ask the provider. Each is handed out once
// in five minutes, also to other hosts.
func (l *Ledger) DueLookUps(ctx context.Context, limit int) ([]UncertainEffect, error) {
	due, err := collect(ctx, l, dueLookUpsSQL, scanUncertain, microseconds(l.SweepAge), limit, microseconds(lookUpLease))
	return due, wrap(err, "hand out look-ups")
}

// RecordLookUp records an answer about the row whose version was seen. Found settles the effect; NotFound leaves it for a person
// and ends the look-ups; Unreachable asks again later: one, five, thirty minutes, two, twelve, twenty-four hours, then daily, and
// never escalates. An answer about a row that changed meanwhile is logged and changes nothing.
func (l *Ledger) RecordLookUp(ctx context.Context, key string, seen time.Time, a LookUpAnswer) error {
	switch a.Verdict {
	case Found, NotFound, Unreachable:
	default:
		return fmt.Errorf("record look-up of %s: %w: verdict %q", key, ErrInvalid, a.Verdict)
	}
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	_, err := l.pool.Exec(ctx, lookUpSQL, pgx.QueryExecModeExec, key, seen, a.Verdict, answerText(a.Answer), plainText(a.Detail))
	return wrap(err, "record look-up of %s", key)
}
