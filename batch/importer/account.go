package importer

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch"
)

const (
	firstGapsSQL = `
		select posicao + 1, proxima - 1
		from (select posicao, lead(posicao) over (order by posicao) as proxima
			from evento_arquivado where posicao between $1 and $2) e
		where proxima - posicao > 1
		limit $3`

	// $3 bounds what it costs.
	ordersSQL = `
		select count(*), coalesce(sum(eventos), 0)::bigint, coalesce(least(sum(ate::numeric - de + 1 - eventos), 9223372036854775807), 0)::bigint
		from (select count(*) as eventos, min(versao) as de, max(versao) as ate
			from (select pedido_id, versao from evento_arquivado where posicao between $1 and $2 limit $3) e
			group by pedido_id) p`

	recordSQL = `
		insert into importacao (arquivo, sha256, formato, operador, lidos, importados, repetidos, rejeitados)
		values ($1, $2, $3, coalesce(nullif($4, ''), session_user), $5, $6, $7, $8)`

	rowsBeforeSQL = `select greatest(reltuples, 0)::bigint from pg_class where oid = 'evento_arquivado'::regclass`
)

// A span of positions that holds this much more than was read is not examined: that would cost what the archive
// holds, not what was imported.
const (
	spanFactor = 4
	spanFree   = 1_000_000
)

// account counts orders and what is missing between the first and the last position of the import.
func account(ctx context.Context, db beginner, r *Report) error {
	if r.Imported+r.Repeated == 0 {
		return nil
	}
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, patienceSQL); err != nil {
			return err
		}
		most := spanFactor*r.Read + spanFree
		var orders, held, versionGaps int64
		if err := tx.QueryRow(ctx, ordersSQL, r.First, r.Last, most).Scan(&orders, &held, &versionGaps); err != nil {
			return fmt.Errorf("count orders: %w", err)
		}
		if held == most {
			r.Unexamined = fmt.Sprintf("the archive holds many more events between positions %d and %d than were read", r.First, r.Last)
			return nil
		}
		r.Orders, r.VersionGaps, r.Gaps = orders, versionGaps, r.Last-r.First+1-held
		if r.Gaps == 0 {
			return nil
		}
		rows, err := tx.Query(ctx, firstGapsSQL, r.First, r.Last, maxGaps)
		if err != nil {
			return fmt.Errorf("list gaps: %w", err)
		}
		if r.FirstGaps, err = pgx.CollectRows(rows, pgx.RowToStructByPos[batch.Gap]); err != nil {
			return fmt.Errorf("list gaps: %w", err)
		}
		return nil
	})
}

// record notes a file in table importacao, with the rule by which numbers were derived as a part of the format.
func record(ctx context.Context, pool *pgxpool.Pool, f FileReport, rule, operator string) error {
	format := f.Format
	if rule != "" {
		format += " (" + rule + ")"
	}
	_, err := pool.Exec(ctx, recordSQL, strings.ToValidUTF8(f.Name, "\uFFFD"), f.SHA256, format, operator, f.Read, f.Imported, f.Repeated, f.Rejected)
	if err != nil {
		return fmt.Errorf("record the import of %s: %w", f.Name, err)
	}
	return nil
}

const (
	analyzeFrom  = 10_000 // rows that are not worth new statistics
	analyzeShare = 10     // nor is less than a tenth of the table
)

// analyze gives the planner new statistics if the archive grew by a lot.
func analyze(ctx context.Context, pool *pgxpool.Pool, imported int64) error {
	if imported < analyzeFrom {
		return nil
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var before int64
		if err := tx.QueryRow(ctx, rowsBeforeSQL).Scan(&before); err != nil || imported < before/analyzeShare {
			return err
		}
		_, err := tx.Exec(ctx, patienceSQL+"; analyze evento_arquivado")
		return err
	})
}
