package batch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/schema/seedsql"
)

// TestP1_ALiveConsumerAndTwoReplaysAtOnce over the same events, each in an order of its own: whoever comes first brings
// an effect about, and the accounts of the three add up.
func TestP1_ALiveConsumerAndTwoReplaysAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const rounds, events = 4, 1000
	for round := range int64(rounds) {
		first, last := round*events+1, (round+1)*events
		b.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
			select g, 'ev-' || g, 'pedido.pago', 'P-' || g, 1, '{"valorCentavos":10000,"percentual":5}', '2026-10-14T12:00:00Z'
			from generate_series($1::bigint, $2::bigint) g`, first, last)
		request := batch.Request{Mode: batch.Apply, Scope: positions(first, last)}
		replays := []string{b.queueWith(request), b.queueWith(request)}
		start := make(chan struct{})
		var all sync.WaitGroup
		live := b.consumer()
		for range 4 {
			all.Go(func() {
				<-start
				for _, i := range rand.Perm(events) {
					live.apply(first + int64(i))
				}
			})
		}
		var applied atomic.Int64
		for _, id := range replays {
			all.Go(func() {
				<-start
				r := b.run(id)
				b.wantState(r, batch.Done)
				e := r.Summary.Effects[notify]
				if e.Applied+e.Registered != events {
					t.Errorf("%s: %+v", id, e)
				}
				applied.Add(e.Applied)
			})
		}
		close(start)
		all.Wait()
		if n := applied.Load() + live.applied.Load(); n != events {
			t.Errorf("round %d: the replays say %d, the consumer %d; want %d together", round, applied.Load(), live.applied.Load(), events)
		}
		for p := first; p <= last; p++ {
			b.wantDelivered(1, p)
		}
	}
}

// liveConsumer is one that knows nothing of Reprise, at the bench's provider.
type liveConsumer struct {
	*bench
	seedsql.Consumer
	applied atomic.Int64
}

func (b *bench) consumer() *liveConsumer {
	c := &liveConsumer{bench: b}
	c.Consumer = seedsql.Consumer{
		Pool: b.pool, Execution: seedsql.Live, Policy: seedsql.Policy{notify: {Mode: seedsql.Apply, OnFailure: seedsql.Keep}},
		Gateway: func(ctx context.Context, key string, body []byte) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.config.URL, strings.NewReader(string(body)))
			if err != nil {
				return err
			}
			r.Header.Set("Idempotency-Key", key)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return fmt.Errorf("status %d", answer.StatusCode)
			}
			return nil
		},
		Observe: func(what, outcome string) {
			if what == notify && outcome == "aplicado" {
				c.applied.Add(1)
			}
		},
	}
	return c
}

func (c *liveConsumer) apply(position int64) {
	event := seedsql.Event{ID: eventID(position), Type: "pedido.pago", Order: fmt.Sprintf("P-%d", position), Version: 1, Payload: []byte(`{"valorCentavos":10000,"percentual":5}`)}
	if err := c.Apply(context.Background(), event); err != nil {
		c.t.Errorf("live, position %d: %v", position, err)
	}
}
