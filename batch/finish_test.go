package batch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch"
)

// TestP8_LateEventIsProcessed: a position that was handed out and becomes visible behind the checkpoint.
func TestP8_LateEventIsProcessed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.GapWait = 20 * time.Second
	b.archive(1, 3)
	ctx := context.Background()
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, `insert into evento_arquivado select 2, 'ev-2', 'pedido.pago', 'P-2', 1, payload, ocorrido_em from evento_arquivado where posicao = 1`); err != nil {
		t.Fatal(err)
	}
	id := b.queue(batch.Apply, 3)
	host := b.host()
	committed := false
	r, err := host.RunReplay(ctx, id, func(p batch.Progress) {
		if !committed && strings.Contains(p.Replay.Waiting, "missing") {
			committed = true
			if err := tx.Commit(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.wantState(r, batch.Done)
	if !committed || r.Summary.Read != 3 || r.Summary.Late != 1 {
		t.Errorf("waited for the gap: %v; account %+v", committed, r.Summary)
	}
	b.wantDelivered(1, 1, 2, 3)
}

// TestP8_OpenTransactionIsNeverCalledDone: what may still appear keeps the run from saying that it is done.
func TestP8_OpenTransactionIsNeverCalledDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.GapWait = 500 * time.Millisecond
	b.archive(1, 3)
	ctx := context.Background()
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `insert into evento_arquivado select 2, 'ev-2', 'pedido.pago', 'P-2', 1, payload, ocorrido_em from evento_arquivado where posicao = 1`); err != nil {
		t.Fatal(err)
	}
	id := b.queue(batch.Apply, 3)
	b.wantState(b.run(id), batch.Partial)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	b.wantState(b.run(id), batch.Done)
	b.wantDelivered(1, 1, 2, 3)
}

// TestP8_DeadGapEndsAndIsListed: a position that was rolled back will never appear, and nothing waits for it.
func TestP8_DeadGapEndsAndIsListed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.GapWait = 30 * time.Second // other tests' transactions on the same server count as open
	b.archive(1, 2, 3, 4, 6, 7, 8, 9, 10)
	r := b.replay(batch.Apply, 10)
	b.wantState(r, batch.Done)
	if diff := cmp.Diff([]batch.Gap{{First: 5, Last: 5}}, r.Summary.Gaps); diff != "" {
		t.Error(diff)
	}
}

// TestP8_PoisonEventsAreRecordedAndTheRestGoesOn.
func TestP8_PoisonEventsAreRecordedAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(1)
	b.event(2, "P-2", 1, `{"valorCentavos":"100","percentual":5}`)
	b.event(3, "P-3", 1, `{"percentual":5}`)
	b.event(4, "P-4", 1, `{"valorCentavos":1e2,"percentual":5}`)
	b.archive(5)
	b.exec(`update evento_arquivado set ocorrido_em = 'infinity' where posicao = 5`)
	r := b.replay(batch.Apply, 5)
	b.wantState(r, batch.Partial)
	failures, err := b.store().Failures(context.Background(), r.ID, 0, 10)
	if err != nil || len(failures) != 3 || failures[0].Position != 2 || failures[1].Position != 3 || failures[2].Position != 5 {
		t.Fatalf("%+v, %v", failures, err)
	}
	if failures[2].Reason != "ocorrido_em is infinite" {
		t.Errorf("reason %q", failures[2].Reason)
	}
	if diff := cmp.Diff([]string{"3 events could not be processed (replay show lists them)"}, r.Summary.Missing); diff != "" {
		t.Error(diff)
	}
	b.wantDelivered(1, 1, 4)
	b.wantDelivered(0, 2, 3, 5)
}
