-- What the ledger protocol needs beside the three states. Each column has a
-- default, so the statements of a consumer that knows nothing of them stay valid.

-- +goose Up
alter table efeito_aplicado
    add column dono                  text,        -- token of the attempt that owns the reservation; null: nobody, or a consumer without tokens
    add column tentativas            int not null default 1,
    add column primeira_tentativa_em timestamptz, -- null: never attempted by Reprise
    add column tentativa_em          timestamptz, -- when the current attempt reserved
    add column ao_falhar             text check (ao_falhar in ('liberar', 'manter', 'consultar')), -- the policy at reservation
    add column pode_ter_saido        boolean not null default true,  -- a request may have reached the provider
    add column saiu_antes            boolean not null default false, -- an earlier attempt than the current one may have
    add column livre                 boolean not null default false, -- reserved, but given back: anybody may retake it
    add column reenvio               boolean not null default false, -- a person allowed one more send of this content
    add column conteudo              jsonb,       -- what was, or was about to be, sent
    add column conteudo_hash         bytea,       -- SHA-256 of its canonical form
    add column desfecho              text check (desfecho in ('aplicado', 'recusado', 'confirmado', 'descartado')),
    add column motivo                text,        -- why it is 'incerto', machine-readable
    add column deduplica_ate         timestamptz, -- last instant at which the provider promises to deduplicate; null: no limit known
    add column quarentena_ate        timestamptz, -- a call could still be alive until then
    add column consultar_em          timestamptz, -- next look-up at the provider
    add column consultas             int not null default 0;

-- The sweep reads reservations, the review queue reads uncertain effects: both cost
-- what they return, not what the ledger holds.
create index efeito_aplicado_reservado_idx on efeito_aplicado (atualizado_em, chave) where estado = 'reservado';
create index efeito_aplicado_incerto_idx on efeito_aplicado (atualizado_em, chave) where estado = 'incerto';
create index efeito_aplicado_consultar_idx on efeito_aplicado (consultar_em, chave) where estado = 'incerto' and consultar_em is not null;

-- Append-only: what was not plain success.
create table efeito_ocorrencia (
    id          bigint generated always as identity primary key,
    chave       text not null,
    execucao_id text not null,
    dono        text,
    tipo        text not null,
    detalhe     text not null default '',
    resposta    jsonb,
    criado_em   timestamptz not null default clock_timestamp()
);
create index efeito_ocorrencia_chave_idx on efeito_ocorrencia (chave, id);

-- The triggers below let a consumer without tokens, which knows the seed's columns only, work beside Reprise.
-- They tell its statements apart by what it leaves alone. So Reprise, when it renews a reservation older than
-- five minutes, also changes dono, tentativas, tentativa_em, pode_ter_saido or livre; and it never makes a row
-- 'incerto' without a motivo.

-- Such a consumer that retakes a stale reservation becomes its owner: the former owner's token must not match
-- any more. It may not retake what Reprise reserved under a policy that forbids to send again.
-- +goose StatementBegin
create function efeito_aplicado_retomada() returns trigger language plpgsql as $$
begin
    if old.pode_ter_saido and (old.ao_falhar in ('manter', 'consultar') or old.deduplica_ate < clock_timestamp()) then
        return null;
    end if;
    new.dono := null;
    new.tentativas := old.tentativas + 1;
    new.tentativa_em := clock_timestamp();
    new.pode_ter_saido := true;
    new.livre := false;
    new.reenvio := false; -- a person's permission is for one send
    return new;
end
$$;
-- +goose StatementEnd
create trigger efeito_aplicado_retomada before update on efeito_aplicado for each row
    when (old.estado = 'reservado' and new.estado = 'reservado'
          and new.atualizado_em - old.atualizado_em > interval '5 minutes' -- what the consumer takes for stale
          and new.dono is not distinct from old.dono
          and new.tentativas = old.tentativas
          and new.tentativa_em is not distinct from old.tentativa_em
          and new.pode_ter_saido = old.pode_ter_saido
          and new.livre = old.livre)
    execute function efeito_aplicado_retomada();

-- Its failure, reported late, changes nothing where somebody else owns the reservation by now, or has
-- finished the effect. (Its success, reported late, is welcome: what went out is known.) It need not have any
-- right to the log.
-- +goose StatementBegin
create function efeito_aplicado_tardia() returns trigger language plpgsql
    security definer set search_path = pg_catalog, pg_temp as $$
begin
    execute format('insert into %I.efeito_ocorrencia (chave, execucao_id, dono, tipo, detalhe) values ($1, $2, $3, $4, $5)', tg_table_schema)
    using old.chave, old.execucao_id, old.dono, 'resposta-tardia',
          format('%s asked for by a former owner, ignored: the effect is %s', new.estado, old.estado);
    return null;
end
$$;
-- +goose StatementEnd
create trigger efeito_aplicado_tardia before update on efeito_aplicado for each row
    when (old.estado = 'concluido' and new.estado <> 'concluido'
          or old.dono is not null and new.estado = 'incerto' and new.motivo is null)
    execute function efeito_aplicado_tardia();

-- It deletes a reservation to release it. Its own rows it may delete; on a row that Reprise owns the delete
-- does nothing. A row that Reprise once attempted is never forgotten: it is given back, and made old enough
-- for the consumer to retake it at once, as it could a deleted one.
-- +goose StatementBegin
create function efeito_aplicado_apagada() returns trigger language plpgsql as $$
begin
    if old.dono is null and old.estado = 'reservado' then
        update efeito_aplicado
        set livre = true, atualizado_em = least(atualizado_em, clock_timestamp() - interval '6 minutes')
        where chave = old.chave;
    end if;
    return null;
end
$$;
-- +goose StatementEnd
create trigger efeito_aplicado_apagada before delete on efeito_aplicado for each row
    when (old.dono is not null or old.primeira_tentativa_em is not null)
    execute function efeito_aplicado_apagada();

-- Append-only: human decisions, chained by hash so that a change shows.
create table efeito_revisao (
    id            bigint generated always as identity primary key,
    chave         text not null,
    decisao       text not null check (decisao in ('confirmar', 'reenviar', 'descartar')),
    revisor       text not null,               -- database role
    origem        text not null default '',    -- host, operating-system user and program version
    nota          text not null,
    forcada       boolean not null default false,
    estado_antes  text not null,
    motivo_antes  text,
    versao_vista  timestamptz not null,        -- atualizado_em of the row that the reviewer saw
    criado_em     timestamptz not null,
    hash_anterior bytea not null,
    hash          bytea not null unique
);
create index efeito_revisao_chave_idx on efeito_revisao (chave, id);

-- +goose StatementBegin
create function somente_acrescimo() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only', tg_table_name using errcode = 'insufficient_privilege';
end
$$;
-- +goose StatementEnd
create trigger somente_acrescimo before update or delete or truncate on efeito_revisao
    for each statement execute function somente_acrescimo();
create trigger somente_acrescimo before update or delete or truncate on efeito_ocorrencia
    for each statement execute function somente_acrescimo();
