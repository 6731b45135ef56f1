package batch_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch"
)

// TestTheAccountOfACancelledRunHoldsWhatWasInFlight: calls that were on their way when a run was cancelled end after it, and
// its account says what became of them.
func TestTheAccountOfACancelledRunHoldsWhatWasInFlight(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(40)...)
	id := b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 40), Partitions: 4})
	var once sync.Once
	begun, cancelled := make(chan struct{}), make(chan struct{})
	b.provider.OnRequest(func(string) {
		once.Do(func() { close(begun) })
		<-cancelled
	})
	ended := make(chan batch.Replay, 1)
	go func() { ended <- b.run(id) }()
	<-begun
	r, err := b.store().Cancel(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if r.Summary == nil || r.Summary.Effects[notify].Applied != 0 {
		t.Fatalf("nothing had ended when it was cancelled: %+v", r.Summary)
	}
	close(cancelled)
	<-ended
	r, err = b.store().Replay(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	b.wantState(r, batch.Cancelled)
	delivered := int64(0)
	for p := range int64(40) {
		delivered += int64(b.provider.Delivered(key(p + 1)))
	}
	if got := r.Summary.Effects[notify]; delivered == 0 || got.Applied+got.Uncertain != delivered {
		t.Errorf("account: %+v; the provider counted %d", got, delivered)
	}
	if !r.Summary.Balanced() || r.Summary.Events != 40 {
		t.Errorf("account: %+v", r.Summary)
	}
}

// TestTheAccountOfALimitedRunHoldsWhatWasInFlight: a limit ends a run while other partitions have calls in flight. Why it
// ended is still said first.
func TestTheAccountOfALimitedRunHoldsWhatWasInFlight(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(40)...)
	id := b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 40), Partitions: 4, Limits: batch.Limits{Effects: 10}})
	b.provider.OnRequest(func(k string) {
		if k == key(1) {
			b.until(`select estado = 'parcial' from reprocessamento where id = $1`, id)
		}
	})
	b.wantState(b.run(id), batch.Partial)
	r, err := b.store().Replay(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	delivered := int64(0)
	for p := range int64(40) {
		delivered += int64(b.provider.Delivered(key(p + 1)))
	}
	if got := r.Summary.Effects[notify]; delivered != 10 || got.Applied+got.Uncertain != delivered {
		t.Errorf("account: %+v; the provider counted %d", got, delivered)
	}
	if len(r.Summary.Missing) < 2 || r.Summary.Missing[0] != "limit of 10 effects reached" {
		t.Errorf("missing: %q", r.Summary.Missing)
	}
}

// TestTheAccountOfARunThatCameToItsEndStays: the slice that moved the last checkpoint may look only after the account was
// made.
func TestTheAccountOfARunThatCameToItsEndStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.event(1, "P-1", 1, `{}`)
	r := b.replay(batch.Apply, 1)
	b.wantState(r, batch.Partial)
	b.host().AccountAgain(context.Background(), r.ID)
	again, err := b.store().Replay(context.Background(), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r.Summary, again.Summary); diff != "" {
		t.Error(diff)
	}
}

// TestTheAccountOfACancelledRunHoldsTheStateThatWasBeingWritten: a part of the state was on its way when the run was
// cancelled.
func TestTheAccountOfACancelledRunHoldsTheStateThatWasBeingWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(4)...)
	ctx := context.Background()
	order := scan[string](b, `select pedido_id from evento_arquivado where posicao = 1`)
	b.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento) values ($1, 1, 0)`, order)
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `select from comissao where pedido_id = $1 for update`, order); err != nil {
		t.Fatal(err)
	}
	id := b.queue(batch.Apply, 4)
	ended := make(chan batch.Replay, 1)
	go func() { ended <- b.run(id) }()
	b.until(`select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%comissao%')`)
	r, err := b.store().Cancel(ctx, id)
	if err != nil || r.Summary == nil || r.Summary.Written != 0 {
		t.Fatalf("%+v, %v", r.Summary, err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	<-ended
	if r, err = b.store().Replay(ctx, id); err != nil {
		t.Fatal(err)
	}
	if n := scan[int64](b, `select count(*) from comissao where versao_evento > 0`); n == 0 || r.Summary.Written != n {
		t.Errorf("account: %d written; there are %d", r.Summary.Written, n)
	}
}
