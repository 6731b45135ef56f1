package batch_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestP1_P12_TwoReviewersSendAgainAtOnce: one call; on record are one decision, and one refusal that names it.
func TestP1_P12_TwoReviewersSendAgainAtOnce(t *testing.T) {
	t.Parallel()
	const rounds = 10
	b := newBench(t)
	b.archive(upTo(rounds)...)
	for i := range int64(rounds) {
		b.provider.Script(key(i+1), faultprovider.Hang)
	}
	b.replay(batch.Apply, rounds)
	books := b.books()
	for i := range int64(rounds) {
		e, found, err := books.UncertainByKey(context.Background(), key(i+1))
		if err != nil || !found {
			t.Fatal(found, err)
		}
		var group sync.WaitGroup
		var stores [2]*batch.Store
		var refusals [2]error
		for r := range stores {
			stores[r] = b.store()
		}
		start := make(chan struct{})
		for r, store := range stores {
			group.Go(func() {
				<-start
				_, refusals[r] = store.Decide(context.Background(), books, ledger.Decision{Key: e.Key, Verdict: ledger.Resend, Note: "n", Seen: e.Version, Force: true})
			})
		}
		close(start)
		group.Wait()
		var stale *ledger.StaleError
		if one, other := refusals[0], refusals[1]; (one == nil) == (other == nil) || !errors.As(errors.Join(one, other), &stale) || stale.Decision == nil || stale.Decision.At.IsZero() {
			t.Errorf("decided at once: %v; %v", one, other)
		}
	}
	if _, err := b.host().RunOnce(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.wantDelivered(1, upTo(rounds)...)
	for what, sql := range map[string]string{
		"decision": `select count(*) from evento_arquivado e where (select count(*) from efeito_revisao r where r.chave = e.id || ':' || $1) = 1`,
		"refusal":  `select count(*) from evento_arquivado e where (select count(*) from efeito_ocorrencia o where o.chave = e.id || ':' || $1 and tipo = 'decisao-recusada' and detalhe like '%decided "reenviar" at %') = 1`,
	} {
		if n := scan[int](b, sql, notify); n != rounds {
			t.Errorf("%d of %d effects have one %s on record", n, rounds, what)
		}
	}
	if chain, err := books.VerifyChain(context.Background()); err != nil || !chain.OK() {
		t.Errorf("chain: %s %v", chain, err)
	}
}
