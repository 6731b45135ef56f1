package schema_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/schema/pgtest"
)

// refused fails the test unless the statement fails with that SQLSTATE.
func refused(t *testing.T, pool *pgxpool.Pool, code, statement string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), statement)
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != code {
		t.Errorf("%s: got %v, want SQLSTATE %s", statement, err, code)
	}
}

func TestP12_OccurrencesAndDecisionsAreAppendOnly(t *testing.T) {
	pool := pgtest.New(t)
	exec(t, pool, `insert into efeito_ocorrencia (chave, execucao_id, tipo) values ('k', 'ao-vivo', 'falha')`)
	exec(t, pool, `
insert into efeito_revisao (chave, decisao, revisor, nota, estado_antes, versao_vista, criado_em, hash_anterior, hash)
values ('k', 'confirmar', session_user, 'seen at the provider', 'incerto', now(), now(), '', '\x01')`)
	for _, table := range []string{"efeito_ocorrencia", "efeito_revisao"} {
		refused(t, pool, pgerrcode.InsufficientPrivilege, `update `+table+` set chave = 'other'`)
		refused(t, pool, pgerrcode.InsufficientPrivilege, `delete from `+table)
		refused(t, pool, pgerrcode.InsufficientPrivilege, `truncate `+table)
		if rows := query[int](t, pool, `select count(*) from `+table); rows != 1 {
			t.Errorf("%s has %d rows, want 1", table, rows)
		}
	}
}

func TestTwoAppliesNeverWorkTheSamePositions(t *testing.T) {
	pool := pgtest.New(t)
	add := func(id, mode, state, positions string) string {
		return `insert into reprocessamento (id, manipulador, modo, estado, particoes, politica, faixa)
values ('` + id + `', 'comissao', '` + mode + `', '` + state + `', 1, '{}', ` + positions + `)`
	}
	exec(t, pool, add("r1", "aplicar", "executando", `'[1,100]'`))
	refused(t, pool, pgerrcode.ExclusionViolation, add("r2", "aplicar", "executando", `'[100,200]'`))
	refused(t, pool, pgerrcode.ExclusionViolation, add("r2", "aplicar", "pausado", `'[50,60)'`))
	for _, fine := range []string{
		add("next", "aplicar", "executando", `'[101,200]'`),
		add("waiting", "aplicar", "enfileirado", `'[1,100]'`),
		add("unplanned", "aplicar", "executando", `null`),
		add("nothing", "aplicar", "executando", `'[5,5)'`),
		add("simulation", "simular", "executando", `'[1,100]'`),
		add("former", "aplicar", "concluido", `'[1,100]'`),
	} {
		exec(t, pool, fine)
	}
	refused(t, pool, pgerrcode.ExclusionViolation, `update reprocessamento set estado = 'executando' where id = 'waiting'`)
	exec(t, pool, `update reprocessamento set estado = 'concluido' where id = 'r1'`)
	exec(t, pool, `update reprocessamento set estado = 'executando' where id = 'waiting'`)
}

func TestAReplayIsNeverCalledLikeTheLiveConsumer(t *testing.T) {
	pool := pgtest.New(t)
	for _, id := range []string{"ao-vivo", "", "with space", "-dash", "line\nbreak"} {
		_, err := pool.Exec(t.Context(), `insert into reprocessamento (id, manipulador, modo, particoes, politica) values ($1, 'comissao', 'simular', 1, '{}')`, id)
		var pgErr *pgconn.PgError
		if !errors.As(err, &pgErr) || pgErr.Code != pgerrcode.CheckViolation {
			t.Errorf("id %q: got %v, want a check violation", id, err)
		}
	}
}

func TestP7_OneEventPerVersionOfAnOrder(t *testing.T) {
	pool := pgtest.New(t)
	exec(t, pool, `insert into evento_arquivado values (1, 'ev-1', 'pedido.pago', 'pedido-7', 1, '{}', now())`)
	refused(t, pool, pgerrcode.UniqueViolation, `insert into evento_arquivado values (2, 'ev-2', 'pedido.pago', 'pedido-7', 1, '{}', now())`)
}

func TestANewEventWakesTheLiveConsumer(t *testing.T) {
	pool := pgtest.New(t)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), `listen evento_arquivado`); err != nil {
		t.Fatal(err)
	}
	exec(t, pool, `insert into evento_arquivado values (1, 'ev-1', 'pedido.pago', 'pedido-7', 1, '{}', now())`)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := conn.Conn().WaitForNotification(ctx); err != nil {
		t.Error(err)
	}
}
