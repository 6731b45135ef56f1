package commission

import "reprise.dev/reprise/batch"

var stateTable = batch.StateTable{
	Diff: diffSQL, Drift: driftSQL, Create: createSQL, Lock: lockSQL, Apply: applySQL, Versions: versionsSQL, Revert: revertSQL,
}

// However many orders a run covers, this costs what they cost, not what the table holds: sorted, one after the other
// is looked up in the primary key, and the diff's own index is filled in its order. A hash join of a million
// orders is not much faster.
const diffSQL = `
	insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois, antes_versao, depois_versao)
	select $1, s.pedido_id, c.valor_centavos, s.depois, c.versao_evento, s.versao
	from (
		select distinct on (u.pedido_id) u.pedido_id, u.versao, u.depois
		from reprocessamento_simulado b, unnest(b.pedidos, b.versoes, b.depois) u(pedido_id, versao, depois)
		where b.execucao_id = $1 and (b.parte = $2 or $2 is null)
		order by u.pedido_id, u.versao desc
	) s
	left join lateral (
		select * from comissao c where c.pedido_id = s.pedido_id offset 0) c on true
	where c.versao_evento is null or c.versao_evento <= s.versao`

const driftSQL = `
	select count(*)
	from reprocessamento_diff d
	left join comissao c on c.pedido_id = d.pedido_id
	where d.execucao_id = $1
		and (c.valor_centavos is distinct from d.antes or c.versao_evento is distinct from d.antes_versao)`

// The lateral subquery, which "offset 0" keeps from being merged, makes one look-up in the primary key for each
// order: a join would be a scan of the whole table wherever statistics are missing. Rows are locked in the order
// of the array. A plan that is kept from when the table was tiny, and analysed, would scan it for each order: do
// not execute these two as prepared statements (pgx.QueryExecModeExec plans anew).
const lockSQL = `
	select c.pedido_id, c.valor_centavos, c.versao_evento
	from unnest($1::text[]) u(pedido_id)
	cross join lateral (
		select * from comissao c where c.pedido_id = u.pedido_id offset 0 for update) c`

const versionsSQL = `
	select c.pedido_id, c.valor_centavos, c.versao_evento
	from unnest($1::text[]) u(pedido_id)
	cross join lateral (
		select * from comissao c where c.pedido_id = u.pedido_id offset 0) c`

const createSQL = `
	insert into comissao (pedido_id, valor_centavos, versao_evento)
	select * from unnest($2::text[], $3::bigint[], $4::bigint[]) where $1::text is not null
	on conflict (pedido_id) do nothing
	returning pedido_id`

// An order that has just this version and value already is left alone: writing it again would only make bloat,
// and a before-image of nothing.
const applySQL = `
	insert into comissao (pedido_id, valor_centavos, versao_evento)
	select * from unnest($2::text[], $3::bigint[], $4::bigint[]) where $1::text is not null
	on conflict (pedido_id) do update
	set valor_centavos = excluded.valor_centavos, versao_evento = excluded.versao_evento, atualizado_em = now()
	where comissao.versao_evento <= excluded.versao_evento
		and (comissao.valor_centavos, comissao.versao_evento) <> (excluded.valor_centavos, excluded.versao_evento)
	returning pedido_id, xmax = 0`

// What still is as the run left it goes back to what the run found. Rows are locked in the order in which
// an apply locks them, and are looked at again once locked.
const revertSQL = `
	with nossas as materialized (
		select d.pedido_id, d.antes, d.antes_versao
		from reprocessamento_diff d
		join comissao c on c.pedido_id = d.pedido_id and c.valor_centavos = d.depois and c.versao_evento = d.depois_versao
		where d.execucao_id = $1 and (d.antes, d.antes_versao) is distinct from (d.depois, d.depois_versao)
		order by d.pedido_id
		for update of c
	), restauradas as (
		update comissao c set valor_centavos = n.antes, versao_evento = n.antes_versao, atualizado_em = now()
		from nossas n where c.pedido_id = n.pedido_id and n.antes is not null
		returning c.pedido_id
	), apagadas as (
		delete from comissao c using nossas n where c.pedido_id = n.pedido_id and n.antes is null
		returning c.pedido_id
	)
	select pedido_id from restauradas union all select pedido_id from apagadas`
