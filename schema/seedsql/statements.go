package seedsql

// Schema is the set-up of a database in which the consumer worked before Reprise came.
const Schema = `
create table evento_arquivado (
    posicao bigint primary key, -- ordem global do log de origem
    id text not null unique,
    tipo text not null,
    pedido_id text not null,
    versao bigint not null, -- versao do agregado (o pedido)
    payload jsonb not null,
    ocorrido_em timestamptz not null
);
create index on evento_arquivado (ocorrido_em, posicao);

create table comissao (
    pedido_id text primary key,
    valor_centavos bigint not null,
    versao_evento bigint not null,
    atualizado_em timestamptz not null default now()
);

-- Um registro por efeito externo, com a mesma chave no consumidor ao vivo e no replay
create table efeito_aplicado (
    chave text primary key, -- '<evento_id>:<tipo_efeito>'
    evento_id text not null,
    tipo_efeito text not null,
    estado text not null check (estado in ('reservado', 'concluido', 'incerto')),
    execucao_id text not null, -- 'ao-vivo' ou o id do reprocessamento
    resultado jsonb,
    criado_em timestamptz not null default now(),
    atualizado_em timestamptz not null default now()
);

create table reprocessamento_checkpoint (
    execucao_id text primary key,
    ultima_posicao bigint not null,
    atualizado_em timestamptz not null default now()
);

create table reprocessamento_diff (
    execucao_id text not null,
    pedido_id text not null,
    antes bigint,
    depois bigint not null,
    primary key (execucao_id, pedido_id)
);`

// The statements of the consumer, in the order in which it runs them.
const (
	// SaveCommission: $1 pedido_id, $2 valor_centavos, $3 versao_evento.
	SaveCommission = `
insert into comissao (pedido_id, valor_centavos, versao_evento)
values ($1, $2, $3)
on conflict (pedido_id) do update
set valor_centavos = excluded.valor_centavos,
versao_evento = excluded.versao_evento,
atualizado_em = now()
where comissao.versao_evento <= excluded.versao_evento`

	// ReadCommission: $1 pedido_id.
	ReadCommission = `select valor_centavos, versao_evento from comissao where pedido_id = $1`

	// SaveDiff: $1 execucao_id, $2 pedido_id, $3 antes, $4 depois.
	SaveDiff = `
insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois)
values ($1, $2, $3, $4)
on conflict (execucao_id, pedido_id) do update
set antes = excluded.antes, depois = excluded.depois`

	// LookUp: $1 chave.
	LookUp = `select 1 from efeito_aplicado where chave = $1`

	// Reserve takes the key of an effect. An abandoned reservation may be retaken only if the provider
	// deduplicates by key. $1 chave, $2 evento_id, $3 tipo_efeito, $4 execucao_id, $5 whether it does.
	Reserve = `
insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id)
values ($1, $2, $3, 'reservado', $4)
on conflict (chave) do update
set execucao_id = excluded.execucao_id, atualizado_em = now()
where efeito_aplicado.estado = 'reservado'
and $5::boolean
and efeito_aplicado.atualizado_em < now() - interval '5 minutes'
returning chave`

	// Complete: $1 chave, $2 resultado.
	Complete = `
update efeito_aplicado
set estado = 'concluido', resultado = $2, atualizado_em = now()
where chave = $1`

	// GiveBack: $1 chave.
	GiveBack = `delete from efeito_aplicado where chave = $1 and estado = 'reservado'`

	// Doubt: $1 chave.
	Doubt = `update efeito_aplicado set estado = 'incerto', atualizado_em = now() where chave = $1`
)
