package schema_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
	"reprise.dev/reprise/schema/seedsql"
)

// empty is a pool to a database without any table.
func empty(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return open(t, pgtest.NewEmptyURL(t))
}

func open(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := schema.Open(t.Context(), url, schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, statement string, arguments ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), statement, arguments...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func query[T any](t *testing.T, pool *pgxpool.Pool, statement string, arguments ...any) T {
	t.Helper()
	var value T
	if err := pool.QueryRow(t.Context(), statement, arguments...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return value
}

func TestMigrateAnEmptyDatabaseThenAgain(t *testing.T) {
	pool := empty(t)
	if err := schema.Check(t.Context(), pool); !errors.Is(err, schema.ErrNotMigrated) {
		t.Fatalf("Check before: %v, want ErrNotMigrated", err)
	}
	first, err := schema.Migrate(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if first.Adopted || first.From != 0 || first.To < 4 || first.Applied[0] != "00001_seed" {
		t.Errorf("first report: %+v", first)
	}
	if err := schema.Check(t.Context(), pool); err != nil {
		t.Errorf("Check after: %v", err)
	}
	again, err := schema.Migrate(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if want := (schema.Report{From: first.To, To: first.To}); !cmp.Equal(again, want) {
		t.Errorf("second report: %s", cmp.Diff(want, again))
	}
}

func TestMigrateFromManyHostsAtOnce(t *testing.T) {
	url := pgtest.NewEmptyURL(t)
	const hosts = 5
	reports := make([]schema.Report, hosts)
	problems := make([]error, hosts)
	var wait sync.WaitGroup
	for i := range hosts {
		pool := open(t, url)
		wait.Go(func() { reports[i], problems[i] = schema.Migrate(t.Context(), pool) })
	}
	wait.Wait()
	if err := errors.Join(problems...); err != nil {
		t.Fatal(err)
	}
	worked := 0
	for _, report := range reports {
		if len(report.Applied) > 0 {
			worked++
		}
	}
	if worked != 1 {
		t.Errorf("%d hosts applied migrations, want exactly one: %+v", worked, reports)
	}
}

func TestMigrateBehindAPoolerMode(t *testing.T) {
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			pool := open(t, pgtest.NewEmptyURL(t)+"&default_query_exec_mode="+mode)
			if _, err := schema.Migrate(t.Context(), pool); err != nil {
				t.Fatal(err)
			}
			if err := schema.Check(t.Context(), pool); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMigrateAdoptsTheConsumersTablesWithTheirRows(t *testing.T) {
	pool := empty(t)
	exec(t, pool, seedsql.Schema)
	exec(t, pool, `
insert into evento_arquivado
select n, 'ev-' || n, 'pedido.pago', 'p' || n / 2, n % 2 + 1, '{"valorCentavos": 1000, "percentual": 5}', now()
from generate_series(1, 1000) n`)
	exec(t, pool, `insert into comissao (pedido_id, valor_centavos, versao_evento) values ('p1', 50, 2)`)
	exec(t, pool, `
insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id)
select 'ev-' || n || ':notificar-vendedor', 'ev-' || n, 'notificar-vendedor',
       (array['reservado', 'concluido', 'incerto'])[n % 3 + 1], 'ao-vivo'
from generate_series(1, 300) n`)
	exec(t, pool, `insert into reprocessamento_checkpoint (execucao_id, ultima_posicao) values ('replay-antigo', 7)`)
	exec(t, pool, `insert into reprocessamento_diff values ('replay-antigo', 'p1', null, 50)`)
	before := contents(t, pool)

	report, err := schema.Migrate(t.Context(), pool)
	if err != nil {
		t.Fatal(err)
	}
	if !report.Adopted {
		t.Error("the report does not tell of the adoption")
	}
	if diff := cmp.Diff(before, contents(t, pool)); diff != "" {
		t.Errorf("rows changed: %s", diff)
	}
	indexes := query[int](t, pool, `select count(*) from pg_indexes where tablename = 'evento_arquivado' and indexdef like '%(ocorrido_em, posicao)'`)
	if indexes != 1 {
		t.Errorf("%d indexes on (ocorrido_em, posicao), want the consumer's own one", indexes)
	}
}

// contents is a digest of the seed's columns of each table.
func contents(t *testing.T, pool *pgxpool.Pool) map[string]string {
	t.Helper()
	digests := make(map[string]string)
	for table, columns := range map[string]string{
		"evento_arquivado":           "posicao, id, tipo, pedido_id, versao, payload, ocorrido_em",
		"comissao":                   "pedido_id, valor_centavos, versao_evento, atualizado_em",
		"efeito_aplicado":            "chave, evento_id, tipo_efeito, estado, execucao_id, resultado, criado_em, atualizado_em",
		"reprocessamento_checkpoint": "execucao_id, ultima_posicao, atualizado_em",
		"reprocessamento_diff":       "execucao_id, pedido_id, antes, depois",
	} {
		digests[table] = query[string](t, pool, fmt.Sprintf(
			`select count(*) || ' ' || md5(string_agg(r::text, chr(10) order by r::text)) from (select %s from %s) r`, columns, table))
	}
	return digests
}

// untouched fails the test if the database has a table of Reprise.
func untouched(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	if query[bool](t, pool, `select to_regclass('reprise_migracao') is not null or to_regclass('reprocessamento') is not null or to_regnamespace('river') is not null`) {
		t.Error("the refused migration changed the database")
	}
}

func TestMigrateRefusesAnArchiveWithDuplicateVersions(t *testing.T) {
	pool := empty(t)
	exec(t, pool, seedsql.Schema)
	exec(t, pool, `
insert into evento_arquivado values
    (1, 'ev-1', 'pedido.pago', 'pedido-7', 1, '{}', now()),
    (2, 'ev-2', 'pedido.pago', 'pedido-7', 2, '{}', now()),
    (3, 'ev-3', 'pedido.pago', 'pedido-7', 2, '{}', now())`)
	_, err := schema.Migrate(t.Context(), pool)
	if !errors.Is(err, schema.ErrDuplicateVersions) {
		t.Fatalf("got %v, want ErrDuplicateVersions", err)
	}
	if !strings.Contains(err.Error(), `pedido_id "pedido-7" versao 2 has 2 (ev-2, ev-3)`) {
		t.Errorf("the error does not name the duplicates: %v", err)
	}
	untouched(t, pool)

	exec(t, pool, `delete from evento_arquivado where id = 'ev-3'`)
	if _, err := schema.Migrate(t.Context(), pool); err != nil {
		t.Errorf("after the cure: %v", err)
	}
}

func TestMigrateRefusesAnotherTableOfThatName(t *testing.T) {
	pool := empty(t)
	exec(t, pool, `create table comissao (pedido_id uuid primary key, valor_centavos bigint not null)`)
	_, err := schema.Migrate(t.Context(), pool)
	if !errors.Is(err, schema.ErrForeignTable) {
		t.Fatalf("got %v, want ErrForeignTable", err)
	}
	for _, want := range []string{"comissao.pedido_id is uuid, must be text", "comissao.versao_evento is missing, must be bigint"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	untouched(t, pool)
}

func TestANewerDatabaseIsRefused(t *testing.T) {
	for name, newer := range map[string]string{
		"of Reprise":       `insert into reprise_migracao (version_id, is_applied) values (9999, true)`,
		"of the job queue": `insert into river.river_migration (line, version) values ('main', 9999)`,
	} {
		t.Run(name, func(t *testing.T) {
			pool := pgtest.New(t)
			exec(t, pool, newer)
			if err := schema.Check(t.Context(), pool); !errors.Is(err, schema.ErrNewer) {
				t.Errorf("Check: %v, want ErrNewer", err)
			}
			if _, err := schema.Migrate(t.Context(), pool); !errors.Is(err, schema.ErrNewer) {
				t.Errorf("Migrate: %v, want ErrNewer", err)
			}
		})
	}
}

func TestMigrateIsNotBoundByTheStatementTimeout(t *testing.T) {
	pool, err := schema.Open(t.Context(), pgtest.NewEmptyURL(t)+"&statement_timeout=200", schema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	// A migration that takes longer: it waits for a lock on a table that it changes.
	exec(t, pool, seedsql.Schema)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `lock table efeito_aplicado in access share mode`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := schema.Migrate(t.Context(), pool)
		done <- err
	}()
	// It waits beyond the time-out before the table becomes free.
	waiting := `select exists (select from pg_locks where not granted and clock_timestamp() - waitstart > interval '300 milliseconds')`
	for !query[bool](t, pool, waiting) {
		select {
		case err := <-done:
			t.Fatalf("the migration did not wait: %v", err)
		default:
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestTheQueueHasASchemaOfItsOwn: a migration makes the job queue's tables, and none of them beside the consumer's.
func TestTheQueueHasASchemaOfItsOwn(t *testing.T) {
	pool := empty(t)
	exec(t, pool, seedsql.Schema)
	if _, err := schema.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	const tables = `select coalesce(string_agg(relname, ' ' order by relname), '') from pg_class where relkind = 'r' and relnamespace `
	if got := query[string](t, pool, tables+`= 'river'::regnamespace`); !strings.Contains(got, "river_job ") {
		t.Errorf("tables of the queue: %s", got)
	}
	if got := query[string](t, pool, tables+`<> 'river'::regnamespace and relname like 'river%'`); got != "" {
		t.Errorf("outside of its schema: %s", got)
	}
}
