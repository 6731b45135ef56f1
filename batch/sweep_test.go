package batch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestP3_AbandonedReservationComesToAnEnd, by policy; a kind that this host does not know is left alone.
func TestP3_AbandonedReservationComesToAnEnd(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		policy ledger.Policy
		end    ledger.State
		count  int
	}{
		{ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second}, ledger.Uncertain, 0},
		{ledger.Policy{OnFailure: ledger.Release, DedupWindow: 24 * time.Hour, CallTimeout: time.Second}, ledger.Done, 1},
	} {
		t.Run(string(tc.policy.OnFailure), func(t *testing.T) {
			t.Parallel()
			b := newBenchWith(t, faultprovider.Options{Dedup: true}, tc.policy)
			b.archive(1)
			content := fmt.Sprintf(`{"pedidoId":"P-1","valorCentavos":%d}`, 500)
			_, status, err := b.books().Reserve(context.Background(), ledger.Effect{EventID: eventID(1), Kind: notify, Execution: ledger.Live, Content: []byte(content), Policy: tc.policy})
			if err != nil || status.Standing != ledger.Mine {
				t.Fatal(status, err)
			}
			b.exec(`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, atualizado_em)
				values ('ev-1:outro', 'ev-1', 'outro', 'reservado', 'ao-vivo', now() - interval '1 day')`)
			b.sweep()
			b.wantEffect(1, ledger.Reserved) // too young
			b.age()
			report := b.sweep()
			b.wantEffect(1, tc.end)
			b.wantDelivered(tc.count, 1)
			if report.Unknown["outro"] != 1 {
				t.Errorf("report: %+v", report)
			}
		})
	}
}

// TestP6_ResendIsMadeOnceByTheRunner: the reviewer's process sends nothing.
func TestP6_ResendIsMadeOnceByTheRunner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(1)
	b.provider.Script(key(1), faultprovider.Hang)
	b.replay(batch.Apply, 1)
	b.wantEffect(1, ledger.Uncertain)
	ctx, store, books := context.Background(), b.store(), b.books()
	e, found, err := books.UncertainByKey(ctx, key(1))
	if err != nil || !found {
		t.Fatal(found, err)
	}
	d := ledger.Decision{Key: key(1), Verdict: ledger.Resend, Note: "seller says no", Seen: e.Version}
	if _, err := store.Decide(ctx, books, d); !errors.Is(err, ledger.ErrQuarantined) {
		t.Fatalf("decided inside the quarantine: %v", err)
	}
	d.Force = true
	if _, err := store.Decide(ctx, books, d); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Decide(ctx, books, d); err == nil {
		t.Error("decided twice")
	}
	if n := scan[int](b, `select count(*) from efeito_ocorrencia where chave = $1 and tipo = $2`, key(1), ledger.LogRefusedDecision); n != 2 {
		t.Errorf("%d refusals are on record, want 2", n)
	}
	b.wantDelivered(0, 1)
	report, err := b.host().RunOnce(ctx)
	if err != nil {
		t.Fatal(err)
	}
	b.wantDelivered(1, 1)
	b.wantEffect(1, ledger.Done)
	if _, err := b.host().RunOnce(ctx); err != nil {
		t.Fatal(report, err)
	}
	b.wantDelivered(1, 1)
}
