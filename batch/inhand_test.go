package batch_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// runBesideOneElsewhere runs an apply of four events in one partition, of which one's effect is in flight elsewhere.
func runBesideOneElsewhere(t *testing.T, position int64) (b *bench, id string, ended <-chan batch.Replay) {
	t.Helper()
	b = newBenchWith(t, faultprovider.Options{KeepBodies: true}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 20 * time.Second})
	b.ledger.SweepAge, b.engine.Slice = 40*time.Second, 20*time.Second
	b.archive(upTo(4)...)
	id = b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 4), Partitions: 1})
	b.exec(`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id) values ($1, $2, $3, 'reservado', 'elsewhere')`,
		key(position), eventID(position), notify)
	end := make(chan batch.Replay, 1)
	go func() { end <- b.run(id) }()
	return b, id, end
}

// TestEffectsShowAsTheyHappen: one is in flight elsewhere and keeps the checkpoint where it is; those beside it, which went
// out, are seen. What the checkpoint counts at the end is each effect once.
func TestEffectsShowAsTheyHappen(t *testing.T) {
	t.Parallel()
	b, id, ended := runBesideOneElsewhere(t, 1)
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

// TestProgressMovesBeforeTheCheckpointDoes: the last effect is in flight elsewhere and keeps the checkpoint where it is. The
// events before it are settled, and progress says so.
func TestProgressMovesBeforeTheCheckpointDoes(t *testing.T) {
	t.Parallel()
	b, id, ended := runBesideOneElsewhere(t, 3)
	store := b.store()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		p, err := store.Progress(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		if p.Stage == batch.Working && p.Total.Effects[notify].Applied == 3 {
			if p.Settled != 2 || p.StageDone != 2 || p.Partitions[0].Settled != 2 || p.Total.Read != 0 {
				t.Fatalf("settled %d, done %d of %d, checkpoint %d", p.Settled, p.StageDone, p.StageAll, p.Total.Read)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("seen: %+v", p.Total)
		}
	}
	b.exec(`update efeito_aplicado set estado = 'concluido' where chave = $1`, key(3))
	b.wantState(<-ended, batch.Done)
	if p, err := store.Progress(context.Background(), id); err != nil || p.Settled != 4 {
		t.Fatalf("in the end: %d, %v", p.Settled, err)
	}
}

// TestProgressDoesNotGoBack: a process died with nearly all events in hand and settled, and the next one begins with a chunk
// of fewer.
func TestProgressDoesNotGoBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const events, settled = 300, 290
	b.archive(upTo(events)...)
	id := b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, events), Partitions: 1})
	store := b.store()
	var mu sync.Mutex
	requests, least, looked := 0, int64(settled), 0
	b.provider.OnRequest(func(string) {
		mu.Lock()
		defer mu.Unlock()
		if requests++; requests == 1 {
			b.exec(`update reprocessamento_checkpoint set epoca = epoca + 1, ocupada_ate = null, contadores = '{"Reached":290}' where execucao_id = $1`, id)
		}
		p, err := store.Progress(context.Background(), id)
		if err != nil || p.Settled < least || p.Settled > events {
			t.Errorf("settled %d after %d, %v", p.Settled, least, err)
		}
		if least = p.Settled; p.Total.Read > 0 {
			looked++
		}
	})
	b.wantState(b.run(id), batch.Done)
	if looked == 0 {
		t.Fatal("nobody looked while the checkpoint was behind")
	}
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
