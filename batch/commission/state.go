package commission

import "reprise.dev/reprise/batch"

var stateTable = batch.StateTable{
	Diff: diffSQL, Drift: driftSQL, Write: writeSQL, Follow: followSQL, Versions: versionsSQL, Revert: revertSQL,
}

// However many orders a run covers, this costs what they cost, not what the table holds: sorted, one after the other
// is looked up in the primary key, and the diff's own index is filled in its order. A hash join of a million
// orders is not much faster.
const diffSQL = `
	insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois, antes_versao, depois_versao)
	select $1, s.pedido_id, c.valor_centavos, s.depois, c.versao_evento, s.versao
	from (
		select distinct on (u.pedido_id) u.pedido_id, u.versao, u.depois
		from reprocessamento_projetado b, unnest(b.pedidos, b.versoes, b.depois) u(pedido_id, versao, depois)
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

// What an order has is read twice: all of it without a lock, to tell what there is to do, and what is about to change
// once more under a lock, as the before-image that is true. Rows are locked, and written, in the order of their ids, so
// that two writers cannot deadlock. A lateral subquery that "offset 0" keeps from being merged makes one look-up in
// the primary key for each order; a join would be a scan of the whole table wherever statistics are missing. An order
// that has just this version and value already is left alone: writing it again would only make bloat, and a
// before-image of nothing. Arbitration costs, so there is none where a row is new: an order that nobody has, and an image
// unless the run wrote the part before. If somebody created an order under the statement, that is a unique violation; if
// other rows were updated than were meant to be, the images are not true.
const writeSQL = `
	with n as (
		select distinct on (u.pedido_id) u.pedido_id, u.versao, u.depois
		from reprocessamento_projetado b, unnest(b.pedidos, b.versoes, b.depois) u(pedido_id, versao, depois)
		where b.execucao_id = $1 and b.parte = $2
		order by u.pedido_id, u.versao desc
	), visto as materialized (
		select n.*, a.valor_centavos as antes, a.versao_evento as antes_versao,
			c.versao_evento is null or a.versao_evento is not null as grava,
			(c.valor_centavos, c.versao_evento) = (n.depois, n.versao) as igual
		from n
		left join lateral (
			select * from comissao c where c.pedido_id = n.pedido_id offset 0) c on true
		left join lateral (
			select * from comissao a
			where c.versao_evento <= n.versao and (c.valor_centavos, c.versao_evento) <> (n.depois, n.versao)
				and a.pedido_id = n.pedido_id
				and a.versao_evento <= n.versao and (a.valor_centavos, a.versao_evento) <> (n.depois, n.versao)
			offset 0 for update) a on true
	), criou as (
		insert into comissao (pedido_id, valor_centavos, versao_evento)
		select pedido_id, depois, versao from visto where grava and antes_versao is null order by pedido_id
	), gravou as (
		insert into comissao (pedido_id, valor_centavos, versao_evento)
		select pedido_id, depois, versao from visto where antes_versao is not null order by pedido_id
		on conflict (pedido_id) do update
		set valor_centavos = excluded.valor_centavos, versao_evento = excluded.versao_evento, atualizado_em = now()
		where comissao.versao_evento <= excluded.versao_evento
		returning pedido_id
	), guardou as (
		insert into reprocessamento_diff (execucao_id, pedido_id, antes, antes_versao, depois, depois_versao)
		select $1, pedido_id, antes, antes_versao, depois, versao from visto where grava and not $3::boolean order by pedido_id
	), guardou_de_novo as (
		insert into reprocessamento_diff (execucao_id, pedido_id, antes, antes_versao, depois, depois_versao)
		select $1, pedido_id, antes, antes_versao, depois, versao from visto where grava and $3 order by pedido_id
		on conflict (execucao_id, pedido_id) do update set depois = excluded.depois, depois_versao = excluded.depois_versao
	)
	select (
			select coalesce(sum(cardinality(pedidos)), 0) from reprocessamento_projetado where execucao_id = $1 and parte = $2),
		count(*) filter (where v.grava or d.pedido_id is not null),
		count(*) filter (where v.igual and d.pedido_id is null),
		count(*) filter (where v.antes_versao is not null) = (select count(*) from gravou)
	from visto v
	left join lateral (
		select d.pedido_id from reprocessamento_diff d
		where $3 and d.execucao_id = $1 and d.pedido_id = v.pedido_id and (d.depois, d.depois_versao) = (v.depois, v.versao)
			and (d.antes, d.antes_versao) is distinct from (d.depois, d.depois_versao)
		offset 0) d on true`

const versionsSQL = `
	select c.pedido_id, c.valor_centavos, c.versao_evento
	from unnest($1::text[]) u(pedido_id)
	cross join lateral (
		select * from comissao c where c.pedido_id = u.pedido_id offset 0) c`

// Two writers lock in the same sequence and cannot deadlock: that of the primary key, whatever the database sorts by.
const followSQL = `
	insert into comissao (pedido_id, valor_centavos, versao_evento)
	select * from unnest($1::text[], $2::bigint[], $3::bigint[]) order by 1
	on conflict (pedido_id) do update
	set valor_centavos = excluded.valor_centavos, versao_evento = excluded.versao_evento, atualizado_em = now()
	where comissao.versao_evento <= excluded.versao_evento
		and (comissao.valor_centavos, comissao.versao_evento) <> (excluded.valor_centavos, excluded.versao_evento)
	returning pedido_id`

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
