package ledger_test

import (
	"fmt"
	"testing"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/pgtest"
)

// TestCostOfAPartitionedLedger: a key is looked up in its own partition alone; pages and sweeps
// read what they return.
func TestCostOfAPartitionedLedger(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	fillLedger(t, pool)
	pgtest.Partition(t, pool)
	execSQL(t, pool, `analyze`)
	effects := make([]ledger.Effect, 100)
	for i := range effects {
		effects[i] = effect(fmt.Sprintf("ev-%d", (i+1)*2000), ledger.Keep)
	}
	n := pgtest.Blocks(t, pool, "", func() {
		if _, err := l.Look(t.Context(), effects); err != nil {
			t.Fatal(err)
		}
	})
	if n > 6*int64(len(effects)) {
		t.Errorf("%d blocks for %d keys", n, len(effects))
	}
	for what, f := range map[string]func(){
		"take": func() { do(t, l, effect("new", ledger.Keep), newProvider(always(errTimeout)).call, ledger.DidDoubt) },
		"find": func() { do(t, l, effect("ev-7", ledger.Keep), nil, ledger.DidFind) },
		"page": func() {
			if _, err := l.Uncertain(t.Context(), ledger.UncertainQuery{Limit: 10}); err != nil {
				t.Fatal(err)
			}
		},
		"sweep": func() { sweep(t, l, policy(ledger.Keep)) },
	} {
		if n := pgtest.Blocks(t, pool, "", f); n > 40*40 {
			t.Errorf("%s: %d blocks", what, n)
		}
	}
}
