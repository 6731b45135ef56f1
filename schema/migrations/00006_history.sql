-- +goose Up

-- Slots and replays are kept for ever. Who looks at the newest, or at those that are not finished, or that touched some
-- positions, reads those alone.
create index agenda_disparo_previsto_para_idx on agenda_disparo (previsto_para desc, tarefa);

drop index reprocessamento_ativo_idx;
create index reprocessamento_ativo_idx on reprocessamento (prioridade, criado_em) where estado in ('enfileirado', 'executando', 'pausado');

create index reprocessamento_aplicado_idx on reprocessamento using gist (faixa) where modo = 'aplicar' and estado in ('concluido', 'parcial');

-- What a simulation was approved as.
create index reprocessamento_simulacao_idx on reprocessamento (simulacao_id) where simulacao_id is not null;
