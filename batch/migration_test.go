package batch_test

import (
	"sync/atomic"
	"testing"

	"reprise.dev/reprise/batch"
)

// TestP8_TablesChangeDuringAReplay: new columns go unnoticed, and a plan that became obsolete is refused before anything
// ran. No job fails, nothing becomes uncertain, and each effect takes one attempt.
func TestP8_TablesChangeDuringAReplay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Concurrency = 2
	b.engine.Chunk, b.engine.Workers = 100, 2
	b.archive(upTo(300)...)
	changes := map[int64]string{
		20:  `alter table efeito_aplicado add column nova int`,
		60:  `alter table efeito_aplicado alter column ao_falhar type varchar`,
		100: `alter table comissao add column nova int`,
		130: `alter table evento_arquivado add column nova int`,
		160: `alter table reprocessamento_checkpoint add column nova int`,
		190: `alter table reprocessamento add column nova int`,
	}
	var requests, changed atomic.Int64
	b.provider.OnRequest(func(string) {
		if sql, ok := changes[requests.Add(1)]; ok {
			b.exec(sql)
			changed.Add(1)
		}
	})
	r := b.replay(batch.Apply, 300)
	b.wantState(r, batch.Done)
	b.wantDelivered(1, upTo(300)...)
	if n := changed.Load(); n != int64(len(changes)) {
		t.Errorf("%d changes were made", n)
	}
	if failed := scan[string](b, `select coalesce(string_agg(errors::text, '; '), '') from river.river_job where errors is not null`); failed != "" {
		t.Errorf("jobs failed: %s", failed)
	}
	if n := scan[int64](b, `select count(*) from efeito_aplicado where estado <> 'concluido' or tentativas <> 1`); n != 0 {
		t.Error(n, "effects are not done at their first attempt")
	}
}

// TestP8_TablesChangeAsAReplayEnds: its end is told, although what reads it has to be planned anew.
func TestP8_TablesChangeAsAReplayEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(20)...)
	id := b.queue(batch.Apply, 20)
	changed := false
	r, err := b.host().RunReplay(t.Context(), id, func(p batch.Progress) {
		if p.Replay.State == batch.Done && !changed {
			changed = true
			b.exec(`alter table reprocessamento alter column espera type varchar, alter column pedido_por type varchar`)
		}
	})
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	b.wantState(r, batch.Done)
}
