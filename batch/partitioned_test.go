package batch_test

import (
	"context"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

// TestPartitionedTables: where archive and ledger were partitioned, with what they held, everything goes on as before:
// effects that are done are found, missing ones are brought about once, what is abandoned is swept, what is uncertain is
// reviewed and sent again.
func TestPartitionedTables(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{KeepBodies: true}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second})
	ctx := context.Background()
	// Across the borders of the archive's partitions, which are at 1000 and 2000.
	before, after := []int64{1, 2, 998, 999, 1000}, []int64{1001, 1999, 2000, 2001, 5000}
	b.archive(before...)
	b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 999)}))
	b.wantDelivered(1, 1, 2, 998, 999)

	pgtest.Partition(t, b.pool)
	if n := scan[int](b, `select count(*) from pg_partition_tree('evento_arquivado') where isleaf`); n < 3 {
		t.Fatalf("the archive has %d partitions", n)
	}
	if n := scan[int](b, `select count(*) from pg_partition_tree('efeito_aplicado') where isleaf`); n < 4 {
		t.Fatalf("the ledger has %d partitions", n)
	}
	if _, err := schema.Migrate(ctx, b.pool); err != nil {
		t.Fatal(err)
	}
	b.archive(after...)
	b.provider.Script(key(2001), faultprovider.ActThenHang)
	r := b.run(b.queueWith(batch.Request{Mode: batch.Simulate, Scope: positions(1, 5000)}))
	if r.Summary == nil || r.Summary.Read != 10 || r.Summary.Effects[notify].Registered != 4 || r.Summary.Effects[notify].Applied != 6 {
		t.Fatalf("simulation is %s: %+v", r.State, r.Summary)
	}
	r = b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 5000), Partitions: 3}))
	if e := r.Summary.Effects[notify]; r.Summary.Read != 10 || e.Registered != 4 || e.Applied != 5 || e.Uncertain != 1 {
		t.Fatalf("apply is %s: %+v", r.State, r.Summary)
	}
	b.wantDelivered(1, append(before, after...)...)
	if n := scan[int](b, `select count(*) from comissao where valor_centavos = 500`); n != 10 {
		t.Errorf("%d orders have their commission", n)
	}

	// Somebody died over one effect, another is uncertain: one more goes to review, and a person has the other sent again.
	b.exec(`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, ao_falhar, atualizado_em)
		values ('left:' || $1, 'left', $1, 'reservado', 'ao-vivo', 'manter', 'epoch')`, notify)
	if s := b.sweep(); s.Uncertain[ledger.ReasonAbandoned] != 1 {
		t.Errorf("sweep: %+v", s)
	}
	books := b.books()
	queue, err := books.Uncertain(ctx, ledger.UncertainQuery{Kind: notify})
	if err != nil || len(queue) != 2 || queue[0].Key != key(2001) {
		t.Fatalf("review queue: %+v, %v", queue, err)
	}
	_, err = b.store().Decide(ctx, books, ledger.Decision{Key: key(2001), Verdict: ledger.Resend, Note: "n", Seen: queue[0].Version, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	b.sweep()
	b.wantEffect(2001, ledger.Done)
	b.wantDelivered(2, 2001)

	v, err := b.host().Verify(ctx, b.handlers["comissao"], batch.Scope{}, nil)
	if err != nil || !v.OK() || v.Events != 10 || v.Effects[notify].Done != 10 {
		t.Errorf("verify: %+v, %v", v, err)
	}
}
