-- The five tables that the live consumer and the replay share. A database that
-- already has them (from the consumer's own set-up) is adopted as it is.

-- +goose Up
create table if not exists evento_arquivado (
    posicao     bigint primary key, -- global order of the source log
    id          text not null unique,
    tipo        text not null,
    pedido_id   text not null,
    versao      bigint not null,    -- version of the aggregate (the order)
    payload     jsonb not null,
    ocorrido_em timestamptz not null
);
create index if not exists evento_arquivado_ocorrido_em_posicao_idx on evento_arquivado (ocorrido_em, posicao);

create table if not exists comissao (
    pedido_id      text primary key,
    valor_centavos bigint not null,
    versao_evento  bigint not null,
    atualizado_em  timestamptz not null default now()
);

-- One row per external effect, under the same key for the live consumer and the replay.
create table if not exists efeito_aplicado (
    chave         text primary key, -- '<evento_id>:<tipo_efeito>'
    evento_id     text not null,
    tipo_efeito   text not null,
    estado        text not null check (estado in ('reservado', 'concluido', 'incerto')),
    execucao_id   text not null,    -- 'ao-vivo' or the id of the replay
    resultado     jsonb,
    criado_em     timestamptz not null default now(),
    atualizado_em timestamptz not null default now()
);

create table if not exists reprocessamento_checkpoint (
    execucao_id    text primary key,
    ultima_posicao bigint not null,
    atualizado_em  timestamptz not null default now()
);

create table if not exists reprocessamento_diff (
    execucao_id text not null,
    pedido_id   text not null,
    antes       bigint,
    depois      bigint not null,
    primary key (execucao_id, pedido_id)
);
