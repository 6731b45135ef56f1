package ledger

import "github.com/jackc/pgx/v5"

// All write-backs take the same arrays, one element an effect: $1 key, $2 event, $3 kind, $4 execution, $5 owner
// token, $6 policy on failure, $7 kind of occurrence, $8 result, $9 reason, $10 detail, $11 answer. Each returns
// key, state and reason of the rows that it changed. They are upserts because those always go by the primary
// key, however little the planner knows of the table; and a row that somebody removed is written again.

// concludeSQL ends attempts whose outcome is known. The owner's token stays, to recognise a repetition.
const concludeSQL = recordingCTE + conclude + `, null::text, false`

// refuseSQL ends attempts that the provider refused: as concludeSQL, with an entry in the log.
const refuseSQL = recordingCTE + `, mudou as (` + conclude + `
), registro as (
    insert into efeito_ocorrencia (chave, execucao_id, dono, tipo, detalhe, resposta)
    select chave, n.execucao_id, n.dono, n.tipo, n.detalhe, n.resposta::jsonb from mudou join n using (chave)
)
select chave, estado, null::text, false from mudou`

const recordingCTE = `
with n as materialized (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])
        as n(chave, evento_id, tipo_efeito, execucao_id, dono, ao_falhar, tipo, desfecho, motivo, detalhe, resposta)
)`

const conclude = `
    insert into efeito_aplicado as e (chave, evento_id, tipo_efeito, estado, execucao_id, dono, ao_falhar, desfecho, resultado, primeira_tentativa_em)
    select chave, evento_id, tipo_efeito, 'concluido', execucao_id, dono, ao_falhar, desfecho, resposta::jsonb, clock_timestamp()
    from n order by chave
    on conflict (chave) do update set
        estado = 'concluido', desfecho = excluded.desfecho, resultado = excluded.resultado,
        reenvio = false, atualizado_em = clock_timestamp()
    where e.dono = excluded.dono   -- only the attempt that owns the reservation,
      and e.estado = 'reservado'   -- and only once
    returning e.chave, e.estado`

// giveBackSQL ends attempts of which nothing left: as if they had not been made, but for the log. What may have
// left in an earlier attempt still may. A person's permission to send once more is not spent.
const giveBackSQL = recordingCTE + `, mudou as (
    insert into efeito_aplicado as e (chave, evento_id, tipo_efeito, estado, execucao_id, dono, ao_falhar, primeira_tentativa_em)
    select chave, evento_id, tipo_efeito, 'reservado', execucao_id, dono, ao_falhar, clock_timestamp()
    from n order by chave
    on conflict (chave) do update set
        dono = null, livre = true, tentativas = e.tentativas - 1, pode_ter_saido = e.tentativas > 1,
        atualizado_em = clock_timestamp()
    where e.dono = excluded.dono
      and e.estado = 'reservado'
    returning e.chave, e.estado
), registro as (
    insert into efeito_ocorrencia (chave, execucao_id, dono, tipo, detalhe)
    select chave, n.execucao_id, n.dono, n.tipo, n.detalhe from mudou join n using (chave)
)
select chave, estado, null::text, false from mudou`

// doubtSQL ends attempts that may have left, by the policy that the row was reserved under. $12: maximum of
// attempts; $13: how long a call may take, with the margin; $14: quarantine. Durations in microseconds.
const doubtSQL = recordingCTE + `, mudou as (
    insert into efeito_aplicado as e (chave, evento_id, tipo_efeito, estado, execucao_id, ao_falhar, motivo, primeira_tentativa_em, dono)
    select chave, evento_id, tipo_efeito, 'incerto', execucao_id, ao_falhar, motivo, clock_timestamp(), dono
    from n order by chave
    on conflict (chave) do update set
        (estado, livre, motivo, quarentena_ate, consultar_em) = (
            select case when f.motivo is null then 'reservado' else 'incerto' end,
                f.motivo is null, -- given back, for an automatic retry
                f.motivo,
                case when f.motivo is not null then clock_timestamp() + $14::bigint * interval '1 microsecond' end,
                case when e.ao_falhar = 'consultar' then clock_timestamp() + interval '1 minute' end
            from (select case
                when e.ao_falhar <> 'liberar' then excluded.motivo
                when e.tentativas >= $12::int then 'tentativas-esgotadas'
                when e.deduplica_ate < clock_timestamp() + $13::bigint * interval '1 microsecond' then 'janela-encerrada'
                end as motivo) f),
        dono = null, reenvio = false, atualizado_em = clock_timestamp()
    where e.dono = excluded.dono
      and e.estado = 'reservado'
    returning e.chave, e.estado, e.motivo
), registro as (
    insert into efeito_ocorrencia (chave, execucao_id, dono, tipo, detalhe, resposta)
    select chave, n.execucao_id, n.dono, n.tipo, n.detalhe, n.resposta::jsonb from mudou join n using (chave)
)
select chave, estado, motivo, false from mudou`

// lateSQL deals with answers that changed nothing. One whose earlier write-back was taken has left its token in
// a concluded row or in the log; the others are logged as late. $1 key, $2 execution, $3 owner token, $4 kind of occurrence,
// $5 detail, $6 answer.
const lateSQL = `
with n as materialized (
    select n.*, e.estado, e.motivo,
        (n.tipo = 'conclusao' and e.estado = 'concluido' and e.dono = n.dono) is not true
        and not exists (select from efeito_ocorrencia o where o.chave = n.chave and o.dono = n.dono and o.tipo = n.tipo) as tardia
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
            as n(chave, execucao_id, dono, tipo, detalhe, resposta)
        left join lateral (select estado, motivo, dono from efeito_aplicado where chave = n.chave limit 1) e on true
), registro as (
    insert into efeito_ocorrencia (chave, execucao_id, dono, tipo, detalhe, resposta)
    select chave, execucao_id, dono, 'resposta-tardia', tipo || ': ' || detalhe, resposta::jsonb from n where tardia
)
select chave, coalesce(estado, 'reservado'), motivo, tardia from n`

// written is a row after a write-back.
type written struct {
	key    string
	state  State
	reason string
	lost   bool
}

func scanWritten(rows pgx.CollectableRow) (written, error) {
	var w written
	var reason *string
	err := rows.Scan(&w.key, &w.state, &reason, &w.lost)
	w.reason = value(reason)
	return w, err
}
