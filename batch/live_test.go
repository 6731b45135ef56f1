package batch_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/batch"
)

// TestLiveFollowsTheArchive through the same applier, and a replay finds what it did.
func TestLiveFollowsTheArchive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(10)...)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var live sync.WaitGroup
	reached := make(chan int64, 100)
	live.Go(func() {
		from := int64(0)
		if err := b.host().Live(ctx, b.handlers["comissao"], &from, func(p batch.LiveProgress) { reached <- p.Position }); err != nil {
			t.Error(err)
		}
	})
	waitFor := func(want int64) {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for {
			select {
			case p := <-reached:
				if p >= want {
					return
				}
			case <-deadline:
				t.Fatalf("the live consumer did not reach %d", want)
			}
		}
	}
	waitFor(10)
	// A slower transaction holds position 11 while 12 is there already.
	tx, err := b.pool.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `insert into evento_arquivado select 11, 'ev-11', 'pedido.pago', 'P-11', 1, payload, ocorrido_em from evento_arquivado where posicao = 1`); err != nil {
		t.Fatal(err)
	}
	b.archive(12)
	time.Sleep(300 * time.Millisecond)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	waitFor(12)
	cancel()
	live.Wait()
	b.wantDelivered(1, upTo(12)...)
	r := b.replay(batch.Apply, 12)
	if e := r.Summary.Effects[notify]; e.Registered != 12 || e.Applied != 0 {
		t.Errorf("%+v", e)
	}
}
