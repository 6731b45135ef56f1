-- +goose Up

create table reprocessamento (
    id              text primary key check (id ~ '^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$' and id <> 'ao-vivo'),
    manipulador     text not null,          -- handler
    modo            text not null check (modo in ('simular', 'aplicar')),
    estado          text not null default 'enfileirado'
        check (estado in ('enfileirado', 'executando', 'pausado', 'concluido', 'parcial', 'falhou', 'cancelado')),

    -- Scope: a half-open window, or positions; types and orders narrow it (empty: all).
    janela_de       timestamptz,
    janela_ate      timestamptz,
    fuso            text,
    posicao_de      bigint,
    posicao_ate     bigint,
    tipos           text[] not null default '{}',
    pedidos         text[] not null default '{}',

    -- Frozen at planning.
    faixa           int8range,
    eventos         bigint,
    particoes       int not null check (particoes between 1 and 4096),
    politica        jsonb not null,
    limites         jsonb not null default '{}',
    efeitos_tomados bigint not null default 0,  -- permits taken from the limit of effects
    prioridade      smallint not null default 2 check (prioridade between 1 and 4),

    simulacao_id    text references reprocessamento (id),
    pedido_por      text not null default session_user,
    aprovado_por    text,
    aprovado_em     timestamptz,

    -- A foreground run holds the replay for itself; null: shared by the runners.
    condutor        text,
    condutor_desde  timestamptz,
    condutor_ate    timestamptz,
    geracao         int not null default 1, -- raised whenever its jobs are handed out anew; older jobs do nothing

    espera          text,                   -- why it waits
    erro            text,
    resumo          jsonb,                  -- the final account
    versao_codigo   text,
    criado_em       timestamptz not null default clock_timestamp(),
    planejado_em    timestamptz,
    iniciado_em     timestamptz,
    terminado_em    timestamptz,
    atualizado_em   timestamptz not null default clock_timestamp(),

    check (janela_de is null or janela_ate is null or janela_de < janela_ate),
    check (posicao_de is null or posicao_ate is null or posicao_de <= posicao_ate),

    -- Two applies never work the same positions at the same time.
    constraint reprocessamento_faixa_livre
        exclude using gist (faixa with &&) where (modo = 'aplicar' and estado in ('executando', 'pausado'))
);
create index reprocessamento_ativo_idx on reprocessamento (prioridade, criado_em) where estado in ('enfileirado', 'executando');
create index reprocessamento_criado_em_idx on reprocessamento (criado_em desc, id);

-- One row per (run, partition). A slice claims the row by raising epoca, and every
-- write of it names that epoch: a zombie's write hits no row.
alter table reprocessamento_checkpoint
    add column particao    int not null default 0,
    add column posicao_de  bigint,
    add column posicao_ate bigint,
    add column eventos     bigint,                          -- in scope at planning
    add column contadores  jsonb not null default '{}',     -- moved together with ultima_posicao
    add column epoca       bigint not null default 0,
    add column dono        text,                            -- process that works the current slice
    add column ocupada_ate timestamptz,
    add column passagens   int not null default 1,          -- how often it was taken up anew
    add column projetada_ate bigint,                        -- an apply keeps what events up to here lead to
    add column projecao    jsonb not null default '{}',     -- their account; moved together with projetada_ate
    add column concluida   boolean not null default false;
alter table reprocessamento_checkpoint drop constraint reprocessamento_checkpoint_pkey;
alter table reprocessamento_checkpoint add primary key (execucao_id, particao);

-- The version that each side came from. An apply keeps its before-images here too.
alter table reprocessamento_diff
    add column antes_versao  bigint,
    add column depois_versao bigint;

-- What the events of a run lead to. A row holds the orders of one chunk of a partition that fall into one part.
-- Rows are only appended, in the transaction that moves the checkpoint, and are removed when the run ends.
create table reprocessamento_projetado (
    execucao_id text not null,
    particao    int not null,
    parte       smallint not null,
    pedidos     text[] not null,
    versoes     bigint[] not null,
    depois      bigint[] not null
);
create index reprocessamento_projetado_idx on reprocessamento_projetado (execucao_id, parte);
-- It does not live long enough to be worth compressing, which would take most of the time of a simulation.
alter table reprocessamento_projetado
    alter column pedidos set storage external,
    alter column versoes set storage external,
    alter column depois set storage external;

-- No statement asks what is in the arrays; to find out takes the server as long as to fill them.
alter table reprocessamento_projetado
    alter column pedidos set statistics 0,
    alter column versoes set statistics 0,
    alter column depois set statistics 0;

-- The parts of a run's state: ranges of orders, by the bytes of their ids. They are compared with the state, and written,
-- side by side, each in bounded memory; an apply writes each in one transaction, which marks it.
create table reprocessamento_parte (
    execucao_id text not null,
    parte       smallint not null,
    pedido_de   text not null,              -- its first order
    escritos    bigint,                     -- events whose state was written,
    iguais      bigint,                     -- was right already,
    mais_novos  bigint,                     -- or gave way to a newer version
    concluida   boolean not null default false,
    primary key (execucao_id, parte)
);

-- Events that could not be processed.
create table reprocessamento_falha (
    execucao_id text not null,
    posicao     bigint not null,
    evento_id   text not null,
    pedido_id   text not null,
    motivo      text not null,
    criado_em   timestamptz not null default clock_timestamp(),
    primary key (execucao_id, posicao)
);

-- Effects whose content already went out with another value.
create table reprocessamento_divergencia (
    execucao_id text not null,
    chave       text not null,
    pedido_id   text not null,
    enviado     jsonb,
    enviaria    jsonb,
    primary key (execucao_id, chave)
);

-- A schedule slot is a row: the host that inserts it runs it.
create table agenda_disparo (
    tarefa          text not null,
    previsto_para   timestamptz not null,
    estado          text not null default 'executando' check (estado in ('executando', 'concluido', 'falhou', 'perdido')),
    executor        text not null,
    reivindicado_em timestamptz not null default clock_timestamp(),
    terminado_em    timestamptz,
    detalhe         text,
    resumo          jsonb,
    primary key (tarefa, previsto_para)
);

-- Running processes, for the dashboard and for telling a dead holder from a live one.
create table executor (
    id          text primary key,
    maquina     text not null,
    pid         int not null,
    papel       text not null,              -- run, replay, live
    versao      text not null,
    iniciado_em timestamptz not null default clock_timestamp(),
    visto_em    timestamptz not null default clock_timestamp()
);
