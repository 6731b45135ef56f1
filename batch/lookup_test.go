package batch_test

import (
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestP1_LookUpSettlesOrEscalates: a provider that can be asked settles what it knows, hands to a person what it
// does not, and an outage of it changes nothing.
func TestP1_LookUpSettlesOrEscalates(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{}, ledger.Policy{OnFailure: ledger.LookUp, CallTimeout: time.Second})
	b.config.LookUpURL = b.provider.URL + "/lookup/{key}"
	b.archive(1, 2)
	b.provider.Script(key(1), faultprovider.ActThenHang)
	b.provider.Script(key(2), faultprovider.Hang)
	b.wantState(b.replay(batch.Apply, 2), batch.Partial)
	b.wantEffect(1, ledger.Uncertain)
	b.wantEffect(2, ledger.Uncertain)
	due := func() {
		b.exec(`update efeito_aplicado set consultar_em = clock_timestamp() where consultar_em is not null`)
	}

	reachable := b.config.LookUpURL
	b.config.LookUpURL = "http://127.0.0.1:1/lookup/{key}"
	due()
	if r := b.sweep(); r.LookedUp != 0 {
		t.Errorf("during the outage: %+v", r)
	}
	b.wantEffect(1, ledger.Uncertain)
	b.wantEffect(2, ledger.Uncertain)

	b.config.LookUpURL = reachable
	due()
	if r := b.sweep(); r.LookedUp != 2 {
		t.Errorf("once it is back: %+v", r)
	}
	b.wantEffect(1, ledger.Done)
	b.wantEffect(2, ledger.Uncertain)
	if got := scan[string](b, `select motivo from efeito_aplicado where chave = $1`, key(2)); got != ledger.ReasonNotFound {
		t.Errorf("reason %s", got)
	}
	if n := scan[int](b, `select count(*)::int from efeito_aplicado where consultar_em is not null`); n != 0 {
		t.Errorf("%d effects are still asked about", n)
	}
	b.wantDelivered(1, 1)
	b.wantDelivered(0, 2)
}
