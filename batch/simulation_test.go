package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

// TestP9_SimulationWritesNothingElse, calls nobody, and gives the same bytes for any number of workers.
func TestP9_SimulationWritesNothingElse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range int64(300) {
		b.event(i+1, fmt.Sprintf("P-%d", i%70), i/70+1, fmt.Sprintf(`{"valorCentavos":%d,"percentual":5}`, 1000+i))
	}
	b.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento) select 'P-' || g, 7, 1 from generate_series(0, 30) g`)
	b.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento) values ('P-40', 9, 99)`)
	before := scan[string](b, `select md5(coalesce(string_agg(c::text, '|' order by pedido_id), '')) from comissao c`)
	var outputs []string
	for _, workers := range []int{1, 2, 4, 8} {
		b.engine.Workers = workers
		r := b.run(b.queueWith(batch.Request{Mode: batch.Simulate, Scope: positions(1, 300), Partitions: workers * 2}))
		b.wantState(r, batch.Done)
		var out strings.Builder
		if err := b.store().ExportDiff(context.Background(), r.ID, "json", &out); err != nil {
			t.Fatal(err)
		}
		r.Summary.Elapsed = 0
		outputs = append(outputs, fmt.Sprintf("%s %+v", out.String(), *r.Summary))
	}
	for i := range outputs {
		if outputs[i] != outputs[0] {
			t.Errorf("workers change the simulation:\n%s", cmp.Diff(outputs[0], outputs[i]))
		}
	}
	if strings.Contains(outputs[0], `"P-40"`) {
		t.Error("an order whose state is newer is in the diff")
	}
	if after := scan[string](b, `select md5(coalesce(string_agg(c::text, '|' order by pedido_id), '')) from comissao c`); after != before {
		t.Error("the simulation changed comissao")
	}
	if n := scan[int64](b, `select count(*) from efeito_aplicado`) + scan[int64](b, `select count(*) from reprocessamento_projetado`); n != 0 {
		t.Errorf("the simulation left %d rows", n)
	}
	if n := b.provider.Totals().Requests; n != 0 {
		t.Errorf("the simulation made %d requests", n)
	}
}

// TestApproveAppliesTheSimulation's scope and policy, says what drifted, and revert undoes the state.
func TestApproveAppliesTheSimulation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(20)...)
	b.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento) select 'P-' || g, 50, 1 from generate_series(1, 10) g`)
	ctx, store := context.Background(), b.store()
	sim := b.replay(batch.Simulate, 20)
	if sim.Summary.Changed != 20 || sim.Summary.Orders != 20 || sim.Summary.Effects[notify].Applied != 20 {
		t.Fatalf("%+v", sim.Summary)
	}
	b.exec(`update comissao set valor_centavos = 51 where pedido_id = 'P-1'`)
	p, err := store.ApprovalPreview(ctx, sim.ID, "")
	if err != nil || !slices.Equal(p.Drift, []string{"the state of 1 order changed since the simulation"}) {
		t.Fatalf("drift %q, %v", p.Drift, err)
	}
	if want := "aplicar-" + strings.TrimPrefix(sim.ID, "simular-"); p.NewID != want {
		t.Errorf("the apply would be called %s, not %s", p.NewID, want)
	}
	r, err := store.Approve(ctx, sim.ID, "fix")
	if err != nil {
		t.Fatal(err)
	}
	b.wantState(b.run(r.ID), batch.Done)
	if n := scan[int64](b, `select count(*) from comissao where valor_centavos = 500`); n != 20 {
		t.Errorf("%d orders corrected", n)
	}
	if p, err = store.ApprovalPreview(ctx, sim.ID, ""); err != nil || !slices.Contains(p.Drift, "it was approved before, as fix (concluido)") {
		t.Errorf("approved before: drift %q, %v", p.Drift, err)
	}
	b.exec(`update comissao set valor_centavos = 777, versao_evento = 2 where pedido_id = 'P-2'`)
	reverted, left, err := store.Revert(ctx, "fix")
	if err != nil || reverted != 19 || left != 1 {
		t.Errorf("reverted %d, left %d, %v", reverted, left, err)
	}
	got := scan[string](b, `select string_agg(pedido_id || '=' || valor_centavos, ' ' order by pedido_id) from comissao where pedido_id in ('P-1', 'P-2', 'P-3', 'P-11')`)
	if got != "P-1=51 P-2=777 P-3=50" {
		t.Errorf("state after revert: %s", got)
	}
}

// TestFourEyes: whoever requested a simulation does not approve it.
func TestFourEyes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.fourEyes = true
	b.archive(1)
	sim := b.replay(batch.Simulate, 1)
	if _, err := b.store().Approve(context.Background(), sim.ID, ""); !errors.Is(err, batch.ErrNotAllowed) {
		t.Errorf("the requester approved: %v", err)
	}
}

// TestToldOtherwise: where another content went out than would now, nothing is resent, and it is listed.
func TestToldOtherwise(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(1, 2)
	_, err := b.books().Do(context.Background(), ledger.Effect{EventID: eventID(1), Kind: notify, Execution: ledger.Live, Content: []byte(`{"pedidoId":"P-1","valorCentavos":50}`), Policy: b.rules[notify].Policy},
		func(context.Context, ledger.Attempt) (rawMessage, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []batch.Mode{batch.Simulate, batch.Apply} {
		r := b.replay(mode, 2)
		if e := r.Summary.Effects[notify]; e.Differs != 1 || e.Registered != 1 || e.Applied != 1 {
			t.Errorf("%s: %+v", mode, e)
		}
		list, err := b.store().Divergences(context.Background(), r.ID, "", 10)
		if err != nil || len(list) != 1 || !strings.Contains(list[0].Sent, "50") || !strings.Contains(list[0].WouldSend, "500") {
			t.Errorf("%s: %+v, %v", mode, list, err)
		}
		if totals, err := b.store().DiffTotals(context.Background(), r.ID); err != nil || totals.Told != 1 {
			t.Errorf("%s: %+v, %v", mode, totals, err)
		}
	}
	b.wantDelivered(0, 1)
}
