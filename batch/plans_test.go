package batch

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/schema/pgtest"
)

// TestPlansCostWhatTheyReturn: no statement of a slice or an account scans a table whose size is history, whether it has
// statistics or not.
func TestPlansCostWhatTheyReturn(t *testing.T) {
	pool := pgtest.New(t)
	first, last := int64(50_000), int64(50_100)
	scope := Scope{FirstPos: &first, LastPos: &last}
	statements := map[string]struct {
		sql  string
		args []any
	}{
		"claim":      {claimSQL, []any{"r-7", 3, "host", time.Minute, true}},
		"checkpoint": {checkpointSQL, []any{"r-7", 3, int64(1), int64(5), "{}", false, time.Minute}},
		"partitions": {partitionsSQL, []any{"r-7"}},
		"read":       {readSQL, append(scopeArgs(scope, first, last), 100)},
		"recount":    {recountSQL, append(scopeArgs(scope, first, last), []int64{first, first + 50, last + 1})},
		"gaps":       {gapsSQL, []any{first, last}},
		"part":       {openPartSQL, []any{"r-7"}},
		"project":    {projectSQL, []any{"r-7"}},
		"newest":     {newestSQL, append(scopeArgs(scope, first, last), []string{"P-50007"}, []string{"pedido.pago"})},
		"forget":     {forgetProjectionSQL, []any{"r-7"}},
	}
	check := func(t *testing.T) {
		for name, s := range statements {
			if plan := explain(t, pool, s.sql, s.args); strings.Contains(plan, "Seq Scan on") {
				t.Errorf("%s:\n%s", name, plan)
			}
		}
	}
	fill := func(sql string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	fill(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select i, 'ev-' || i, 'pedido.pago', 'P-' || i, 1, '{}', 'epoch' from generate_series(1, 100000) i`)
	fill(`insert into reprocessamento_checkpoint (execucao_id, particao, ultima_posicao, posicao_de, posicao_ate)
		select 'r-' || r, p, 0, 1, 2 from generate_series(1, 300) r, generate_series(0, 63) p`)
	fill(`insert into reprocessamento_diff (execucao_id, pedido_id, depois) select 'r-' || i % 20, 'P-' || i, 1 from generate_series(1, 100000) i`)
	fill(`insert into reprocessamento_parte (execucao_id, parte, pedido_de) select 'r-' || r, p, p::text from generate_series(1, 2000) r, generate_series(0, 7) p`)
	fill(`insert into reprocessamento_projetado select 'r-' || r, 0, p, '{a}', '{1}', '{1}' from generate_series(1, 2000) r, generate_series(0, 7) p`)
	t.Run("without statistics", check)
	fill(`analyze`)
	t.Run("with statistics", check)
}

func explain(t *testing.T, pool *pgxpool.Pool, sql string, args []any) string {
	t.Helper()
	rows, err := pool.Query(t.Context(), "explain "+sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	return strings.Join(lines, "\n")
}
