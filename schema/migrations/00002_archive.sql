-- +goose Up

-- "The newest version wins" is deterministic only if a version is one event; the
-- same index finds an order's history.
create unique index if not exists evento_arquivado_pedido_id_versao_idx on evento_arquivado (pedido_id, versao);

-- Wakes the live consumer. A lost notification costs latency only: it polls as well.
-- +goose StatementBegin
create function evento_arquivado_avisa() returns trigger language plpgsql as $$
begin
    perform pg_notify('evento_arquivado', '');
    return null;
end
$$;
-- +goose StatementEnd
create trigger evento_arquivado_avisa after insert on evento_arquivado
    for each statement execute function evento_arquivado_avisa();

-- What was imported, from which file, by whom.
create table importacao (
    id          bigint generated always as identity primary key,
    arquivo     text not null,
    sha256      text not null,
    formato     text not null,
    operador    text not null default session_user,
    lidos       bigint not null,
    importados  bigint not null,
    repetidos   bigint not null,
    rejeitados  bigint not null,
    criado_em   timestamptz not null default clock_timestamp()
);
