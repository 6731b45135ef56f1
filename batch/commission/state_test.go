package commission_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/commission"
	"reprise.dev/reprise/schema/pgtest"
)

var state = commission.New(commission.Options{}).State()

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) int64 {
	t.Helper()
	tag, err := pool.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return tag.RowsAffected()
}

// lines reads rows as text, one a line.
func lines(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		values, err := row.Values()
		return strings.TrimSuffix(fmt.Sprintln(values...), "\n"), err
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return all
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

const commissions = `select pedido_id, valor_centavos, versao_evento from comissao order by pedido_id`

func TestFollow(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			pool := pgtest.New(t)
			exec(t, pool, `insert into comissao (pedido_id, valor_centavos, versao_evento, atualizado_em) values
				('corrected', 1, 1, 'epoch'), ('newer', 1, 5, 'epoch'), ('older', 1, 1, 'epoch'), ('same', 7, 1, 'epoch')`)
			orders := []string{"corrected", "new", "newer", "older", "same"}
			follow := func() []string {
				got := lines(t, pool, state.Follow, mode, orders, []int64{2, 9, 2, 2, 7}, []int64{1, 1, 4, 2, 1})
				slices.Sort(got)
				return got
			}
			want(t, follow(), "corrected", "new", "older")
			want(t, lines(t, pool, commissions), "corrected 2 1", "new 9 1", "newer 1 5", "older 2 2", "same 7 1")
			want(t, lines(t, pool, `select pedido_id from comissao where atualizado_em = 'epoch' order by 1`), "newer", "same")
			want(t, lines(t, pool, state.Versions, mode, []string{"absent", "new", "newer"}), "new 9 1", "newer 1 5")
			if got := follow(); len(got) != 0 {
				t.Errorf("a second time it wrote %v", got)
			}
		})
	}
}

const images = `select execucao_id, pedido_id, antes, antes_versao, depois, depois_versao from reprocessamento_diff order by 1, 2`

// Write keeps what each order was before the run's first write, and counts an order that the run wrote once.
func TestWrite(t *testing.T) {
	pool := pgtest.New(t)
	exec(t, pool, `insert into comissao (pedido_id, valor_centavos, versao_evento, atualizado_em) values
		('corrected', 1, 1, 'epoch'), ('newer', 1, 5, 'epoch'), ('older', 1, 1, 'epoch'), ('same', 7, 1, 'epoch'), ('untouched', 1, 1, 'epoch')`)
	exec(t, pool, `insert into reprocessamento_projetado (execucao_id, particao, parte, pedidos, versoes, depois) values
		('run', 0, 0, '{corrected,new,older}', '{1,2,2}', '{2,9,2}'), ('run', 1, 0, '{new,newer,same}', '{1,4,1}', '{8,2,7}'),
		('run', 0, 1, '{untouched}', '{9}', '{9}'), ('other', 0, 0, '{untouched}', '{9}', '{9}')`)
	// Six events of five orders: three are written, one is right already, one gives way to what is stored.
	want(t, lines(t, pool, state.Write, "run", 0, false), "6 3 1 true")
	want(t, lines(t, pool, commissions), "corrected 2 1", "new 9 2", "newer 1 5", "older 2 2", "same 7 1", "untouched 1 1")
	want(t, lines(t, pool, `select pedido_id from comissao where atualizado_em = 'epoch' order by 1`), "newer", "same", "untouched")
	want(t, lines(t, pool, images), "run corrected 1 1 2 1", "run new <nil> <nil> 9 2", "run older 1 1 2 2")
	// Once more it writes nothing; the orders still count as its own.
	want(t, lines(t, pool, state.Write, "run", 0, true), "6 3 1 true")
	want(t, lines(t, pool, state.Write, "run", 0, false), "6 0 4 true")
	// A later event of an order that it wrote: what was before stays what was before.
	exec(t, pool, `insert into reprocessamento_projetado (execucao_id, particao, parte, pedidos, versoes, depois) values ('run', 2, 0, '{older}', '{3}', '{3}')`)
	want(t, lines(t, pool, state.Write, "run", 0, true), "7 3 1 true")
	want(t, lines(t, pool, images), "run corrected 1 1 2 1", "run new <nil> <nil> 9 2", "run older 1 1 3 3")
	// What somebody else wrote since is newer.
	exec(t, pool, `update comissao set versao_evento = 4 where pedido_id = 'older'`)
	want(t, lines(t, pool, state.Write, "run", 0, true), "7 3 1 true")
	want(t, lines(t, pool, commissions), "corrected 2 1", "new 9 2", "newer 1 5", "older 3 4", "same 7 1", "untouched 1 1")
}

// An order that comes into being, or changes, between the statement's look and its write.
func TestWriteWhileOthersWrite(t *testing.T) {
	for _, tc := range []struct {
		name, before, meanwhile, counts, after string
		images                                 []string
	}{
		{"created", ``, `insert into comissao values ('a', 1, 1)`, "moved", "a 1 1", []string{}},
		{"created, newer", ``, `insert into comissao values ('a', 1, 3)`, "moved", "a 1 3", []string{}},
		{"changed", `insert into comissao values ('a', 1, 1)`, `update comissao set valor_centavos = 2`, "1 1 0 true", "a 5 2", []string{"run a 2 1 5 2"}},
		{"changed, newer", `insert into comissao values ('a', 1, 1)`, `update comissao set versao_evento = 3`, "1 0 0 true", "a 1 3", []string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pool := pgtest.New(t)
			exec(t, pool, tc.before)
			exec(t, pool, `insert into reprocessamento_projetado (execucao_id, particao, parte, pedidos, versoes, depois) values ('run', 0, 0, '{a}', '{2}', '{5}')`)
			other, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.Exec(t.Context(), tc.meanwhile); err != nil {
				t.Fatal(err)
			}
			counts := make(chan string)
			go func() {
				var events, wrote, same int64
				var sure bool
				err := pool.QueryRow(t.Context(), state.Write, "run", 0, false).Scan(&events, &wrote, &same, &sure)
				switch {
				case isUniqueViolation(err):
					counts <- "moved"
				case err != nil:
					counts <- err.Error()
				default:
					counts <- fmt.Sprint(events, wrote, same, sure)
				}
			}()
			for lines(t, pool, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)[0] == "0" {
			}
			if err := other.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			want(t, []string{<-counts}, tc.counts)
			want(t, lines(t, pool, commissions), tc.after)
			want(t, lines(t, pool, images), tc.images...)
		})
	}
}

// P7: an older version never overwrites a newer one, whatever the interleaving.
func TestP7_NewestVersionWins(t *testing.T) {
	pool := pgtest.New(t)
	const orders = 20
	for round := range 50 {
		exec(t, pool, `truncate comissao, reprocessamento_projetado, reprocessamento_diff`)
		random := rand.New(rand.NewPCG(20261014, uint64(round)))
		const versions = 6
		var group sync.WaitGroup
		for _, v := range random.Perm(versions) {
			group.Go(func() {
				if err := write(t.Context(), pool, orders, int64(v+1)); err != nil {
					t.Errorf("round %d, version %d: %v", round, v+1, err)
				}
			})
		}
		group.Wait()
		want(t, lines(t, pool, `select distinct valor_centavos, versao_evento from comissao`), fmt.Sprint(versions*100, versions))
		want(t, lines(t, pool, `select count(*) from comissao`), fmt.Sprint(orders))
	}
}

// write brings orders to a version, as a run and as the live consumer does.
func write(ctx context.Context, pool *pgxpool.Pool, n int, version int64) error {
	orders, values, versions := make([]string, n), make([]int64, n), make([]int64, n)
	for i := range orders {
		orders[i], values[i], versions[i] = fmt.Sprintf("P-%02d", i), version*100, version
	}
	if version%2 == 0 {
		_, err := pool.Exec(ctx, state.Follow, orders, values, versions)
		return err
	}
	run := fmt.Sprint("run-", version)
	_, err := pool.Exec(ctx, `insert into reprocessamento_projetado (execucao_id, particao, parte, pedidos, versoes, depois) values ($1, 0, 0, $2, $3, $4)`, run, orders, versions, values)
	if err != nil {
		return err
	}
	for {
		if _, err = pool.Exec(ctx, state.Write, run, 0, false); !isUniqueViolation(err) {
			return err
		}
	}
}

func isUniqueViolation(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == pgerrcode.UniqueViolation
}

func TestDiff(t *testing.T) {
	pool := pgtest.New(t)
	exec(t, pool, `insert into comissao values ('changed', 1, 1), ('newer', 1, 3), ('same', 7, 2), ('untouched', 1, 1)`)
	exec(t, pool, `insert into reprocessamento_projetado (execucao_id, particao, parte, pedidos, versoes, depois) values
		('run', 0, 0, '{changed,new}', '{2,1}', '{20,5}'), ('run', 0, 0, '{changed,newer}', '{1,2}', '{10,5}'),
		('run', 0, 1, '{same}', '{2}', '{7}'), ('other', 0, 0, '{untouched}', '{9}', '{9}')`)
	exec(t, pool, state.Diff, "run", 0)
	const diff = `select execucao_id, pedido_id, antes, depois, antes_versao, depois_versao from reprocessamento_diff order by pedido_id`
	want(t, lines(t, pool, diff), "run changed 1 20 1 2", "run new <nil> 5 <nil> 1")
	exec(t, pool, `truncate reprocessamento_diff`)
	exec(t, pool, state.Diff, "run", nil)
	want(t, lines(t, pool, diff), "run changed 1 20 1 2", "run new <nil> 5 <nil> 1", "run same 7 7 2 2")
}

func TestDrift(t *testing.T) {
	pool := pgtest.New(t)
	exec(t, pool, `insert into comissao values ('a', 1, 1), ('b', 2, 1), ('c', 3, 1), ('d', 4, 1)`)
	exec(t, pool, `insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois, antes_versao, depois_versao) values
		('run', 'a', 1, 9, 1, 1), ('run', 'b', 2, 9, 1, 1), ('run', 'c', 3, 9, 1, 1), ('run', 'd', 4, 9, 1, 1), ('run', 'e', null, 9, null, 1), ('other', 'x', 1, 9, 1, 1)`)
	want(t, lines(t, pool, state.Drift, "run"), "0")
	exec(t, pool, `update comissao set valor_centavos = 9 where pedido_id = 'a'`)
	exec(t, pool, `update comissao set versao_evento = 2 where pedido_id = 'b'`)
	exec(t, pool, `delete from comissao where pedido_id = 'c'`)
	exec(t, pool, `insert into comissao values ('e', 1, 1)`)
	want(t, lines(t, pool, state.Drift, "run"), "4")
}

const applied = `insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois, antes_versao, depois_versao) values
	('run', 'changed', 1, 9, 1, 2), ('run', 'new', null, 9, null, 1), ('run', 'newgone', null, 9, null, 1),
	('run', 'newtaken', null, 9, null, 1), ('run', 'same', 7, 7, 1, 1), ('run', 'taken', 1, 9, 1, 2), ('run', 'sameversion', 1, 9, 2, 2),
	('other', 'foreign', 1, 9, 1, 1)`

func TestRevert(t *testing.T) {
	pool := pgtest.New(t)
	exec(t, pool, applied)
	exec(t, pool, `insert into comissao (pedido_id, valor_centavos, versao_evento) values
		('changed', 9, 2), ('foreign', 9, 1), ('new', 9, 1), ('newtaken', 9, 2), ('same', 7, 1), ('sameversion', 9, 2), ('taken', 8, 2)`)
	if n := exec(t, pool, state.Revert, "run"); n != 3 {
		t.Errorf("%d reverted", n)
	}
	want(t, lines(t, pool, commissions), "changed 1 1", "foreign 9 1", "newtaken 9 2", "same 7 1", "sameversion 1 2", "taken 8 2")
	if n := exec(t, pool, state.Revert, "run"); n != 0 {
		t.Errorf("%d reverted a second time", n)
	}
}

// Somebody overwrites an order while the revert waits for it: it is left alone.
func TestRevertLooksAgainOnceItHasTheLock(t *testing.T) {
	pool := pgtest.New(t)
	exec(t, pool, applied)
	exec(t, pool, `insert into comissao (pedido_id, valor_centavos, versao_evento) values ('changed', 9, 2), ('new', 9, 1)`)
	other, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), `update comissao set valor_centavos = 10, versao_evento = 3`); err != nil {
		t.Fatal(err)
	}
	reverted := make(chan int64)
	go func() {
		tag, err := pool.Exec(t.Context(), state.Revert, "run")
		if err != nil {
			t.Error(err)
		}
		reverted <- tag.RowsAffected()
	}()
	for lines(t, pool, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)[0] == "0" {
	}
	if err := other.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := <-reverted; n != 0 {
		t.Errorf("%d reverted", n)
	}
	want(t, lines(t, pool, commissions), "changed 10 3", "new 10 3")
}

// The statements that read and write state use the primary key whatever the statistics; without any also if they were planned
// for all times, while the table was empty.
func TestStatementsUseThePrimaryKey(t *testing.T) {
	pool := pgtest.New(t)
	statements := map[string]string{
		"prepare write (text, smallint, boolean) as " + state.Write:      "execute write ('run', 0::smallint, true)",
		"prepare versions (text[]) as " + state.Versions:                 "execute versions (array['P-1', 'P-2'])",
		"prepare follow (text[], bigint[], bigint[]) as " + state.Follow: "execute follow (array['P-1', 'P-2'], '{1, 2}', '{1, 2}')",
	}
	check := func(modes ...string) func(*testing.T) {
		return func(t *testing.T) {
			conn, err := pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Release()
			for prepare, execute := range statements {
				for _, mode := range modes {
					for _, sql := range []string{"set plan_cache_mode = " + mode, prepare} {
						if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
							t.Fatal(err)
						}
					}
					rows, _ := conn.Query(t.Context(), "explain "+execute, pgx.QueryExecModeSimpleProtocol)
					lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
					if err != nil {
						t.Fatal(err)
					}
					plan := strings.Join(lines, "\n")
					if _, err := conn.Exec(t.Context(), "deallocate "+strings.Fields(prepare)[1], pgx.QueryExecModeSimpleProtocol); err != nil {
						t.Fatal(err)
					}
					// A join filter would compare each of a part's orders with each.
					if !strings.Contains(plan, "comissao_pkey") || strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Join Filter") {
						t.Errorf("%s, %s:\n%s", execute, mode, plan)
					}
				}
			}
			if _, err := conn.Exec(t.Context(), "reset plan_cache_mode"); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("empty", check("force_custom_plan", "force_generic_plan"))
	exec(t, pool, `insert into comissao select 'P-' || i, i, 1 from generate_series(1, 20000) i`)
	t.Run("20,000 rows", check("force_custom_plan", "force_generic_plan"))
	exec(t, pool, `analyze comissao`)
	t.Run("20,000 rows, analysed", check("force_custom_plan", "force_generic_plan"))
}

var _ batch.Handler = commission.New(commission.Options{})
