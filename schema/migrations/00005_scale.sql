-- +goose Up

-- In a large incident the review queue is long and looked at in parts: a page costs what it shows. As before, the
-- indexes hold only what is uncertain.
create index efeito_aplicado_incerto_tipo_idx on efeito_aplicado (tipo_efeito, atualizado_em, chave) where estado = 'incerto';
create index efeito_aplicado_incerto_execucao_idx on efeito_aplicado (execucao_id, atualizado_em, chave) where estado = 'incerto';
create index efeito_aplicado_incerto_motivo_idx on efeito_aplicado (motivo, atualizado_em, chave) where estado = 'incerto';

-- An effect is written twice, so it leaves one dead row behind; and the sweep steps over the dead entries of its
-- index until a vacuum removes them. A fifth of a large ledger is too late for that.
alter table efeito_aplicado set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 10000,
    autovacuum_analyze_scale_factor = 0.02);
