package batch_test

import (
	"context"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestEffectsShowAsTheyHappen: one is in flight elsewhere and keeps the checkpoint where it is; those beside it, which went
// out, are seen. What the checkpoint counts at the end is each effect once.
func TestEffectsShowAsTheyHappen(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{KeepBodies: true}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 20 * time.Second})
	b.ledger.SweepAge, b.engine.Slice = 40*time.Second, 20*time.Second
	b.archive(upTo(4)...)
	id := b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 4), Partitions: 1})
	b.exec(`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id) values ($1, $2, $3, 'reservado', 'elsewhere')`,
		key(1), eventID(1), notify)
	ended := make(chan batch.Replay, 1)
	go func() { ended <- b.run(id) }()
	store := b.store()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		p, err := store.Progress(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if p.Total.Effects[notify].Applied == 3 && p.Total.Read == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("seen: %+v", p.Total)
		}
	}
	b.exec(`update efeito_aplicado set estado = 'concluido' where chave = $1`, key(1))
	r := <-ended
	b.wantState(r, batch.Done)
	if got := r.Summary.Effects[notify]; got.Applied != 3 || got.Registered != 1 {
		t.Fatalf("counted: %+v", got)
	}
	b.wantDelivered(1, 2, 3, 4)
}

// TestWhatIsInHandIsNotShownLate: a statement that was under way while the checkpoint moved, or the partition changed
// hands, changes nothing.
func TestWhatIsInHandIsNotShownLate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(4)...)
	r := b.replay(batch.Apply, 4)
	const counted = `select contadores::text from reprocessamento_checkpoint where execucao_id = $1 and particao = 0`
	before, epoch := scan[string](b, counted, r.ID), scan[int64](b, `select epoca from reprocessamento_checkpoint where execucao_id = $1 and particao = 0`, r.ID)
	position := scan[int64](b, `select ultima_posicao from reprocessamento_checkpoint where execucao_id = $1 and particao = 0`, r.ID)
	show := func(epoch, position int64) { b.exec(batch.ShowSQL, r.ID, 0, epoch, `{"read": 77}`, position) }
	show(epoch, position-1)
	show(epoch-1, position)
	if after := scan[string](b, counted, r.ID); after != before {
		t.Fatalf("late: %s, was %s", after, before)
	}
	show(epoch, position)
	if after := scan[string](b, counted, r.ID); after == before {
		t.Fatal("in time: nothing shown")
	}
}
