package schema

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// adoptedColumns lists what differs between the tables of a live consumer and those that Reprise knows.
	// A table that is missing altogether is none to adopt; further columns do no harm.
	adoptedColumns = `
with expected (tabela, coluna, tipo) as (values
    ('evento_arquivado', 'posicao', 'bigint'),
    ('evento_arquivado', 'id', 'text'),
    ('evento_arquivado', 'tipo', 'text'),
    ('evento_arquivado', 'pedido_id', 'text'),
    ('evento_arquivado', 'versao', 'bigint'),
    ('evento_arquivado', 'payload', 'jsonb'),
    ('evento_arquivado', 'ocorrido_em', 'timestamp with time zone'),
    ('comissao', 'pedido_id', 'text'),
    ('comissao', 'valor_centavos', 'bigint'),
    ('comissao', 'versao_evento', 'bigint'),
    ('comissao', 'atualizado_em', 'timestamp with time zone'),
    ('efeito_aplicado', 'chave', 'text'),
    ('efeito_aplicado', 'evento_id', 'text'),
    ('efeito_aplicado', 'tipo_efeito', 'text'),
    ('efeito_aplicado', 'estado', 'text'),
    ('efeito_aplicado', 'execucao_id', 'text'),
    ('efeito_aplicado', 'resultado', 'jsonb'),
    ('efeito_aplicado', 'criado_em', 'timestamp with time zone'),
    ('efeito_aplicado', 'atualizado_em', 'timestamp with time zone'),
    ('reprocessamento_checkpoint', 'execucao_id', 'text'),
    ('reprocessamento_checkpoint', 'ultima_posicao', 'bigint'),
    ('reprocessamento_checkpoint', 'atualizado_em', 'timestamp with time zone'),
    ('reprocessamento_diff', 'execucao_id', 'text'),
    ('reprocessamento_diff', 'pedido_id', 'text'),
    ('reprocessamento_diff', 'antes', 'bigint'),
    ('reprocessamento_diff', 'depois', 'bigint')
)
select e.tabela, e.coluna, e.tipo, coalesce(format_type(a.atttypid, a.atttypmod), 'missing')
from expected e
left join pg_attribute a
    on a.attrelid = to_regclass(e.tabela) and a.attname = e.coluna and not a.attisdropped
where to_regclass(e.tabela) is not null
  and format_type(a.atttypid, a.atttypmod) is distinct from e.tipo
order by e.tabela, e.coluna`

	// adoptedTables counts the tables to adopt.
	adoptedTables = `
select count(to_regclass(tabela))
from unnest(array['evento_arquivado', 'comissao', 'efeito_aplicado', 'reprocessamento_checkpoint', 'reprocessamento_diff']) as tabela`

	archiveExists = `select to_regclass('evento_arquivado') is not null`

	// duplicateVersions names the first few; the rest is counted by whoever settles them.
	duplicateVersions = `
select pedido_id, versao, count(*), string_agg(id, ', ' order by posicao)
from evento_arquivado
group by pedido_id, versao
having count(*) > 1
order by pedido_id, versao
limit 5`
)

// checkAdoption looks at the tables that a live consumer made, before anything is changed. A database
// without any is fine: there is nothing to adopt.
func checkAdoption(ctx context.Context, pool *pgxpool.Pool) (adopted bool, err error) {
	var tables int
	if err := pool.QueryRow(ctx, adoptedTables).Scan(&tables); err != nil {
		return false, fmt.Errorf("look for tables to adopt: %w", err)
	}
	if tables == 0 {
		return false, nil
	}
	if err := checkColumns(ctx, pool); err != nil {
		return true, err
	}
	return true, checkVersions(ctx, pool)
}

func checkColumns(ctx context.Context, pool *pgxpool.Pool) error {
	rows, err := pool.Query(ctx, adoptedColumns)
	if err != nil {
		return fmt.Errorf("look at the tables to adopt: %w", err)
	}
	differences, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var table, column, want, have string
		err := row.Scan(&table, &column, &want, &have)
		return fmt.Sprintf("%s.%s is %s, must be %s", table, column, have, want), err
	})
	if err != nil {
		return fmt.Errorf("look at the tables to adopt: %w", err)
	}
	if len(differences) > 0 {
		return fmt.Errorf("adopt: %w: %s", ErrForeignTable, strings.Join(differences, "; "))
	}
	return nil
}

func checkVersions(ctx context.Context, pool *pgxpool.Pool) error {
	var exists bool
	if err := pool.QueryRow(ctx, archiveExists).Scan(&exists); err != nil || !exists {
		return err
	}
	rows, err := pool.Query(ctx, duplicateVersions)
	if err != nil {
		return fmt.Errorf("look for duplicates in the archive: %w", err)
	}
	duplicates, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var order, events string
		var version, count int64
		err := row.Scan(&order, &version, &count, &events)
		return fmt.Sprintf("pedido_id %q versao %d has %d (%s)", order, version, count, events), err
	})
	if err != nil {
		return fmt.Errorf("look for duplicates in the archive: %w", err)
	}
	if len(duplicates) > 0 {
		return fmt.Errorf("adopt: %w, first of them: %s; remove all but one of each from evento_arquivado, nothing was changed",
			ErrDuplicateVersions, strings.Join(duplicates, "; "))
	}
	return nil
}
