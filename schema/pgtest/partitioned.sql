-- Turns the archive and the ledger of a migrated database into partitioned tables, with the rows that they hold. Run it in
-- one transaction while nothing of Reprise, and no consumer, is connected.

-- The archive, by range of positions. What it holds becomes the first partition, as it is: nothing is copied.
alter table evento_arquivado rename to evento_arquivado_ate_1000;
create table evento_arquivado (like evento_arquivado_ate_1000 including defaults) partition by range (posicao);
alter table evento_arquivado add primary key (posicao);
-- A unique index of a partitioned table must include its key. These two are unique in each partition that had them, and
-- index look-ups across all; two events of one id, or of one version of an order, in two partitions are for the source
-- of the archive to rule out.
create index on evento_arquivado (id);
create index on evento_arquivado (pedido_id, versao);
create index on evento_arquivado (ocorrido_em, posicao);
alter table evento_arquivado attach partition evento_arquivado_ate_1000 for values from (minvalue) to (1001);
create table evento_arquivado_ate_2000 partition of evento_arquivado for values from (1001) to (2001);
create unique index on evento_arquivado_ate_2000 (id);
create unique index on evento_arquivado_ate_2000 (pedido_id, versao);
create table evento_arquivado_resto partition of evento_arquivado default;
drop trigger evento_arquivado_avisa on evento_arquivado_ate_1000;
create trigger evento_arquivado_avisa after insert on evento_arquivado
    for each statement execute function evento_arquivado_avisa();

-- The ledger, by hash of the key: the one arbiter of who may call is still its primary key.
alter table efeito_aplicado rename to efeito_aplicado_antes;
create table efeito_aplicado (like efeito_aplicado_antes including defaults including constraints) partition by hash (chave);
create table efeito_aplicado_0 partition of efeito_aplicado for values with (modulus 4, remainder 0);
create table efeito_aplicado_1 partition of efeito_aplicado for values with (modulus 4, remainder 1);
create table efeito_aplicado_2 partition of efeito_aplicado for values with (modulus 4, remainder 2);
create table efeito_aplicado_3 partition of efeito_aplicado for values with (modulus 4, remainder 3);
insert into efeito_aplicado select * from efeito_aplicado_antes;
-- Indexes and triggers are as the migrations make them, but for their names.
do $$
declare d text;
begin
    for d in select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'efeito_aplicado_antes'::regclass and not indisprimary loop
        execute replace(regexp_replace(d, 'INDEX \S+ ON', 'INDEX ON'), 'efeito_aplicado_antes', 'efeito_aplicado');
    end loop;
    for d in select pg_get_triggerdef(oid) from pg_trigger where tgrelid = 'efeito_aplicado_antes'::regclass and not tgisinternal loop
        execute replace(d, 'efeito_aplicado_antes', 'efeito_aplicado');
    end loop;
end
$$;
drop table efeito_aplicado_antes;
alter table efeito_aplicado add primary key (chave);
