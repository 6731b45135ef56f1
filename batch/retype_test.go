package batch_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// retype gives every column of text another type, so that each prepared statement that returns one is refused the next
// time, on every connection.
func (b *bench) retype() {
	b.t.Helper()
	type column struct{ Table, Name, To string }
	var columns []column
	err := b.pool.QueryRow(context.Background(), `
		select jsonb_agg(jsonb_build_object('table', table_name, 'name', column_name,
			'to', case data_type when 'text' then 'varchar' else 'text' end))
		from information_schema.columns where table_schema = 'public' and table_name <> 'reprise_migracao'
			and data_type in ('text', 'character varying')`).Scan(&columns)
	if err != nil {
		b.t.Error(err)
		return
	}
	changed := 0
	for _, c := range columns {
		sql := fmt.Sprintf(`alter table %s alter column %s type %s`, c.Table, c.Name, c.To)
		var refused *pgconn.PgError
		for errors.As(b.tryExec(sql), &refused) && refused.Code == pgerrcode.DeadlockDetected {
			refused = nil
		}
		switch {
		case refused == nil:
			changed++
		case refused.Code != pgerrcode.FeatureNotSupported: // a trigger names it
			b.t.Errorf("%s: %v", sql, refused)
		}
	}
	if changed < 20 {
		b.t.Errorf("%d columns changed their type", changed)
	}
}

func (b *bench) tryExec(sql string) error {
	_, err := b.pool.Exec(context.Background(), sql)
	return err
}

// retypeAt changes the types when the provider has got so many requests.
func (b *bench) retypeAt(requests ...int64) {
	var seen atomic.Int64
	b.provider.OnRequest(func(string) {
		n := seen.Add(1)
		for _, at := range requests {
			if n == at {
				b.retype()
			}
		}
	})
}

// wantNothingLost: each effect was sent once, at its first attempt.
func (b *bench) wantNothingLost(events int64) {
	b.t.Helper()
	b.wantDelivered(1, upTo(events)...)
	if n := scan[int64](b, `select count(*) from efeito_aplicado where estado <> 'concluido' or tentativas <> 1`); n != 0 {
		b.t.Error(n, "effects are not done at their first attempt")
	}
	if n := scan[int64](b, `select count(*) from agenda_disparo where estado = 'falhou'`); n != 0 {
		b.t.Error(n, "slots failed")
	}
}

// TestP8_TypesChangeUnderWhateverRuns: whoever runs when the types of columns change carries on by itself.
func TestP8_TypesChangeUnderWhateverRuns(t *testing.T) {
	t.Parallel()
	const events = 120
	changes := []int64{15, 40, 80}
	for name, work := range map[string]func(*bench){
		"foreground": func(b *bench) {
			b.wantState(b.run(b.queue(batch.Apply, events)), batch.Done)
		},
		"one pass": func(b *bench) {
			b.queue(batch.Apply, events)
			report, err := b.host().RunOnce(context.Background())
			if err != nil || len(report.Replays) != 1 {
				b.t.Fatalf("%+v %v", report, err)
			}
			b.wantState(report.Replays[0], batch.Done)
		},
		"daemon": func(b *bench) {
			id := b.queue(batch.Apply, events)
			b.aside(func(ctx context.Context, host *batch.Engine) error {
				return host.RunDaemon(ctx, []batch.Schedule{{Name: "sweep", Spec: "@every 1s", Zone: time.UTC, Task: host.SweepSchedule("sweep")}})
			}, `select exists (select from reprocessamento where id = $1 and estado = 'concluido') and (select count(*) > 2 from agenda_disparo where estado = 'concluido')`, id)
		},
		"live": func(b *bench) {
			b.aside(func(ctx context.Context, host *batch.Engine) error {
				from := int64(0)
				return host.Live(ctx, b.handlers["comissao"], &from, nil)
			}, `select exists (select from reprocessamento_checkpoint where execucao_id = 'ao-vivo' and ultima_posicao = $1)`, events)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBenchWith(t, faultprovider.Options{}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Minute})
			b.ledger = ledger.Options{} // to change the types takes longer than the bench's calls do
			b.config.Concurrency = 2
			b.engine.Chunk, b.engine.Workers = 100, 2
			b.archive(upTo(events)...)
			b.retypeAt(changes...)
			work(b)
			b.wantNothingLost(events)
			if n := scan[int](b, `select coalesce(max(cardinality(errors)), 0) from river.river_job`); n > len(changes) {
				t.Errorf("a job failed %d times for %d changes", n, len(changes))
			}
		})
	}
}

// aside runs a host beside the test until a condition of the database holds, and wants it to end without an error.
func (b *bench) aside(run func(context.Context, *batch.Engine) error, until string, args ...any) {
	b.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var host sync.WaitGroup
	host.Go(func() {
		if err := run(ctx, b.host()); err != nil && !errors.Is(err, context.Canceled) {
			b.t.Error(err)
		}
	})
	defer host.Wait()
	defer stop()
	b.until(until, args...)
}

// TestADashboardReadsOnWhenTypesChange: a read that was refused succeeds at the next try, on the same connection.
func TestADashboardReadsOnWhenTypesChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(10)...)
	id := b.queue(batch.Simulate, 10)
	b.run(id)
	store, books, ctx := b.store(), b.books(), context.Background()
	reads := map[string]func() (any, error){
		"replays":   func() (any, error) { return store.Replays(ctx, batch.ReplayQuery{Limit: 10, Text: "o"}) },
		"replay":    func() (any, error) { r, err := store.Replay(ctx, id); return r, err },
		"progress":  func() (any, error) { p, err := store.Progress(ctx, id); return p.Replay, err },
		"diff":      func() (any, error) { return store.Diff(ctx, batch.DiffQuery{Execution: id, Limit: 10}) },
		"totals":    func() (any, error) { return store.DiffTotals(ctx, id) },
		"failures":  func() (any, error) { return store.Failures(ctx, id, 0, 10) },
		"event":     func() (any, error) { return store.Event(ctx, "ev-1") },
		"history":   func() (any, error) { return store.OrderHistory(ctx, "P-1") },
		"hosts":     func() (any, error) { return store.Hosts(ctx) },
		"firings":   func() (any, error) { return store.Firings(ctx, 10, nil) },
		"uncertain": func() (any, error) { return books.Uncertain(ctx, ledger.UncertainQuery{}) },
		"decisions": func() (any, error) { return books.Decisions(ctx, key(1)) },
		"occurred":  func() (any, error) { return books.Occurrences(ctx, key(1)) },
	}
	before := map[string]any{}
	for name, read := range reads {
		for range 2 {
			v, err := read()
			if err != nil {
				t.Fatal(name, err)
			}
			before[name] = v
		}
	}
	b.retype()
	for name, read := range reads {
		after, err := read()
		if err != nil {
			t.Logf("%s: %v", name, err)
			after, err = read()
		}
		if err != nil || !reflect.DeepEqual(after, before[name]) {
			t.Errorf("%s: %v, was %v; %v", name, after, before[name], err)
		}
	}
}
