package batch_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch"
)

// TestPlansOfTablesThatWereEmpty: the server thinks that a table which was empty when it was analyzed is so still. What
// writes or compares the state of thousands of orders does not rely on that: while it runs, others fill the table.
func TestPlansOfTablesThatWereEmpty(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.rules[notify] = batch.Rule{Mode: batch.ModeSuppress}
	b.archive(1, 2, 3)
	b.exec(`vacuum analyze`)
	plans := b.explainAll()
	for _, mode := range []batch.Mode{batch.Simulate, batch.Apply} {
		id := b.queueWith(batch.Request{Mode: mode, Scope: positions(1, 3)})
		b.wantState(b.byHosts(1, id), batch.Done)
	}
	scan := regexp.MustCompile(`(Insert on reprocessamento_diff[\s\S]*)Seq Scan on (comissao|reprocessamento_\w+)`)
	seen := 0
	for _, plan := range plans() {
		if strings.Contains(plan, "Insert on reprocessamento_diff") {
			seen++
		}
		if scan.MatchString(plan) {
			t.Error(plan)
		}
	}
	if seen < 2 {
		t.Errorf("%d plans that write a diff, want those of both modes", seen)
	}
}

// explainAll makes the server tell the plan of every statement from now on.
func (b *bench) explainAll() (plans func() []string) {
	b.t.Helper()
	var mu sync.Mutex
	var heard []string
	config := b.pool.Config()
	for name, value := range map[string]string{
		"session_preload_libraries": "auto_explain", "auto_explain.log_min_duration": "0", "auto_explain.log_level": "notice",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	config.ConnConfig.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, n.Message)
	}
	pool, err := pgxpool.NewWithConfig(b.t.Context(), config)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(pool.Close)
	b.pool = pool
	return func() []string { mu.Lock(); defer mu.Unlock(); return heard }
}
