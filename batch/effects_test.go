package batch_test

import (
	"context"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestP1_ReplayAppliesOnlyWhatIsMissing: rebuilding from history must not repeat what the live consumer did.
func TestP1_ReplayAppliesOnlyWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(5)...)
	ctx := context.Background()
	for _, p := range upTo(3) {
		done, err := b.books().Do(ctx, ledger.Effect{EventID: eventID(p), Kind: notify, Execution: ledger.Live, Content: []byte(`{"x":1}`), Policy: b.rules[notify].Policy},
			func(context.Context, ledger.Attempt) (rawMessage, error) { return nil, nil })
		if err != nil || done.Did != ledger.DidApply {
			t.Fatal(done, err)
		}
	}
	first := b.replay(batch.Apply, 5)
	b.wantState(first, batch.Done)
	if e := first.Summary.Effects[notify]; e.Applied != 2 || e.Registered != 3 {
		t.Errorf("first pass: %+v, want 2 applied and 3 registered", e)
	}
	b.wantDelivered(0, 1, 2, 3)
	b.wantDelivered(1, 4, 5)
	second := b.replay(batch.Apply, 5)
	if e := second.Summary.Effects[notify]; e.Applied != 0 || e.Registered != 5 {
		t.Errorf("second pass: %+v, want 0 applied and 5 registered", e)
	}
	b.wantDelivered(1, 4, 5)
}

// TestP1_SuppressedEffectsAreCountedAndNeverSent, whatever the gaps and the upper bound.
func TestP1_SuppressedEffectsAreCountedAndNeverSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rule := b.rules[notify]
	rule.Mode = batch.ModeSuppress
	b.rules[notify] = rule
	b.archive(1, 2, 4, 7)
	for _, last := range []int64{7, 100} {
		r := b.replay(batch.Apply, last)
		if got := r.Summary.Effects[notify].Suppressed; got != 4 {
			t.Errorf("bound %d: %d suppressed, want 4", last, got)
		}
	}
	if n := b.provider.Totals().Requests; n != 0 {
		t.Errorf("the provider got %d requests", n)
	}
}

// TestP1_NoAnswerIsUncertainOnce: a provider that acts and never answers gets one request in five cycles, and a
// person gets one item.
func TestP1_NoAnswerIsUncertainOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(1)
	b.provider.Script(key(1), faultprovider.ActThenHang)
	for range 5 {
		b.wantState(b.replay(batch.Apply, 1), batch.Partial)
		b.sweep()
	}
	b.wantDelivered(1, 1)
	b.wantEffect(1, ledger.Uncertain)
	items, err := b.books().Uncertain(context.Background(), ledger.UncertainQuery{})
	if err != nil || len(items) != 1 || items[0].Reason != "sem-resposta" {
		t.Fatalf("queue: %+v, %v", items, err)
	}
}

// TestP1_UnlistedStatusIsNeverTakenAsNotSent, while a listed one is tried again.
func TestP1_UnlistedStatusIsNeverTakenAsNotSent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.NotSentStatuses = []int{503}
	b.archive(1, 2)
	b.provider.Script(key(1), faultprovider.ActThenFail)
	b.provider.Script(key(2), faultprovider.Unavailable)
	for range 5 {
		b.replay(batch.Apply, 2)
	}
	b.wantDelivered(1, 1, 2)
	b.wantEffect(1, ledger.Uncertain)
	b.wantEffect(2, ledger.Done)
}

// TestP1_RefusalIsFinalAndVisible at once, and not retried.
func TestP1_RefusalIsFinalAndVisible(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.RefusedStatuses = []int{422}
	b.archive(1)
	b.provider.Script(key(1), faultprovider.Refuse, faultprovider.Refuse)
	r := b.replay(batch.Apply, 1)
	b.wantState(r, batch.Done)
	if e := r.Summary.Effects[notify]; e.Refused != 1 {
		t.Errorf("account: %+v", e)
	}
	b.replay(batch.Apply, 1)
	if n := b.provider.Requests(key(1)); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	if got := scan[string](b, `select desfecho from efeito_aplicado`); got != "recusado" {
		t.Errorf("desfecho %s", got)
	}
}

// TestP1_AnswerWithoutReceiptIsUncertain: a 200 that does not prove anything proves nothing.
func TestP1_AnswerWithoutReceiptIsUncertain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Receipt = "recibo"
	b.archive(1)
	b.provider.Script(key(1), faultprovider.Empty)
	b.replay(batch.Apply, 1)
	b.wantEffect(1, ledger.Uncertain)
}

// TestP2_LostAnswerIsRetriedInsideTheWindow: a provider that deduplicates gets the key twice and acts once.
func TestP2_LostAnswerIsRetriedInsideTheWindow(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{Dedup: true}, ledger.Policy{OnFailure: ledger.Release, DedupWindow: time.Hour, CallTimeout: time.Second})
	b.archive(1)
	b.provider.Script(key(1), faultprovider.ActThenDrop)
	b.wantState(b.replay(batch.Apply, 1), batch.Done)
	b.wantDelivered(1, 1)
	if n := b.provider.Requests(key(1)); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	b.wantEffect(1, ledger.Done)
	if n := scan[int](b, `select tentativas from efeito_aplicado`); n != 2 {
		t.Errorf("%d attempts on record, want 2", n)
	}
}

// TestP2_CachedFailureEndsInReview: bounded attempts, and never a new key.
func TestP2_CachedFailureEndsInReview(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{Dedup: true, CacheErrors: true},
		ledger.Policy{OnFailure: ledger.Release, DedupWindow: time.Hour, CallTimeout: time.Second, MaxAttempts: 3})
	b.archive(1)
	b.provider.Script(key(1), faultprovider.ActThenFail)
	b.wantState(b.replay(batch.Apply, 1), batch.Partial)
	b.wantEffect(1, ledger.Uncertain)
	if n := b.provider.Requests(key(1)); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	if keys := b.provider.Keys(); len(keys) != 1 {
		t.Errorf("keys that the provider saw: %v", keys)
	}
}
