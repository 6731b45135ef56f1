package importer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A dry run does exactly what an import does, in a temporary table that bears the archive's name and so takes its
// place, and that is dropped at the end. The archive itself is only read: before each batch, the events that the
// batch collides with are copied into the temporary one.
const (
	rehearseSQL = `
		create temporary view importacao_arquivo as
			select posicao, id, tipo, pedido_id, versao, payload, ocorrido_em from evento_arquivado;
		create temporary table evento_arquivado (like evento_arquivado including all) on commit drop;
		set local idle_in_transaction_session_timeout = 0` // while it waits for input

	shadowedSQL = `select relpersistence = 't' from pg_class where oid = 'evento_arquivado'::regclass`

	collidingSQL = `
		insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select a.* from importacao_lote l join importacao_arquivo a on a.posicao = l.posicao
		union
		select a.* from importacao_lote l join importacao_arquivo a on a.id = l.id
		union
		select a.* from importacao_lote l join importacao_arquivo a on a.pedido_id = l.pedido_id and a.versao = l.versao
		on conflict do nothing`
)

// rehearse makes a loader for a dry run. The returned function undoes everything.
//
// It needs a connection of its own: one that was used before may hold prepared statements that go on to mean the
// true archive.
func rehearse(ctx context.Context, pool *pgxpool.Pool) (l *loader, end func(), err error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, nil, fmt.Errorf("dry run: %w", err)
	}
	end = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = conn.Close(ctx) // which rolls back
	}
	tx, err := conn.Begin(ctx)
	if err == nil {
		_, err = tx.Exec(ctx, patienceSQL+";"+rehearseSQL)
	}
	var shadowed bool
	if err == nil {
		err = tx.QueryRow(ctx, shadowedSQL).Scan(&shadowed)
	}
	if err == nil && !shadowed {
		err = errors.New("temporary tables do not come first in the search_path")
	}
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("dry run: %w", err)
	}
	return &loader{begin: tx, dry: true}, end, nil
}
