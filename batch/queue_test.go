package batch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
)

// TestWindowIsHalfOpenInItsZone: exactly the local day, whatever the server's zone.
func TestWindowIsHalfOpenInItsZone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, at := range []string{"2026-10-14T02:59:59Z", "2026-10-14T03:00:00Z", "2026-10-15T02:59:59.999999Z", "2026-10-15T03:00:00Z"} {
		b.archive(int64(i) + 1)
		b.exec(`update evento_arquivado set ocorrido_em = $2 where posicao = $1`, i+1, at)
	}
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	from, to := time.Date(2026, 10, 14, 0, 0, 0, 0, zone), time.Date(2026, 10, 15, 0, 0, 0, 0, zone)
	r := b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: batch.Scope{From: &from, To: &to, Zone: zone.String()}}))
	if r.Summary.Read != 2 {
		t.Errorf("%d events", r.Summary.Read)
	}
	b.wantDelivered(1, 2, 3)
	b.wantDelivered(0, 1, 4)
}

// TestQueueingTwiceIsOneReplay, and another request under the same id is refused.
func TestQueueingTwiceIsOneReplay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(1)
	ctx, store := context.Background(), b.store()
	q := batch.Request{ID: "x", Scope: positions(1, 1)}
	for range 2 {
		if _, err := store.Queue(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	q.Scope = positions(1, 2)
	if _, err := store.Queue(ctx, q); !errors.Is(err, batch.ErrExists) {
		t.Errorf("another scope under the same id: %v", err)
	}
	if _, err := store.Queue(ctx, batch.Request{ID: "ao-vivo", Scope: positions(1, 1)}); !errors.Is(err, batch.ErrUsage) {
		t.Errorf("the live consumer's id: %v", err)
	}
}
