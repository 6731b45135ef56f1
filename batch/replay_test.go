package batch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/seedsql"
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

// TestP1_ExactlyTheLimit of effects, across partitions and workers; the rest stays pending and can be resumed.
func TestP1_ExactlyTheLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(200)...)
	id := b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 200), Limits: batch.Limits{Effects: 10}})
	b.wantState(b.run(id), batch.Partial)
	if n := b.provider.Totals().Deliveries; n != 10 {
		t.Fatalf("%d deliveries, want 10", n)
	}
	if _, err := b.store().Resume(context.Background(), id, &batch.Limits{}); err != nil {
		t.Fatal(err)
	}
	b.wantState(b.run(id), batch.Done)
	b.wantDelivered(1, upTo(200)...)
}

// TestP1_PauseStopsWithinTheCallsInFlight and resuming delivers the rest once.
func TestP1_PauseStopsWithinTheCallsInFlight(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{Delay: 20 * time.Millisecond}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second})
	b.config.Concurrency = 1
	b.archive(upTo(100)...)
	id := b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 100), Partitions: 1})
	store := b.store()
	var atPause atomic.Int64
	var once sync.Once
	b.provider.OnRequest(func(string) {
		if b.provider.Totals().Requests == 5 {
			once.Do(func() {
				go func() {
					if _, err := store.Pause(context.Background(), id); err != nil {
						t.Error(err)
					}
					atPause.Store(b.provider.Totals().Requests)
				}()
			})
		}
	})
	b.wantState(b.run(id), batch.Paused)
	// The notification travels while a call is in flight; one more may have begun.
	if n := b.provider.Totals().Requests; n > atPause.Load()+3 {
		t.Errorf("%d requests when paused, %d at the end", atPause.Load(), n)
	}
	if _, err := store.Resume(context.Background(), id, nil); err != nil {
		t.Fatal(err)
	}
	b.wantState(b.run(id), batch.Done)
	b.wantDelivered(1, upTo(100)...)
}

// TestP1_FailingProviderOpensTheBreaker: no storm, and the run ends partial.
func TestP1_FailingProviderOpensTheBreaker(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.BreakerAfter, b.config.BreakerWait, b.config.Concurrency = 5, time.Hour, 1
	b.engine.GiveUpAfter = time.Second
	b.archive(upTo(1000)...)
	b.provider.SetRules(faultprovider.Rule{Fault: faultprovider.ActThenFail, Share: 1})
	b.wantState(b.replay(batch.Apply, 1000), batch.Partial)
	if n := b.provider.Totals().Requests; n > 10 {
		t.Errorf("%d requests after 5 failures in a row", n)
	}
}

// TestP7_OlderVersionNeverWins, before, after and at the same moment as the newer one.
func TestP7_OlderVersionNeverWins(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const rounds = 50
	for i := range int64(rounds) {
		b.event(2*i+1, fmt.Sprintf("P-%d", i), 1, `{"valorCentavos":10000,"percentual":1}`)
		b.event(2*i+2, fmt.Sprintf("P-%d", i), 2, `{"valorCentavos":25000,"percentual":1}`)
	}
	consumer := seedsql.Consumer{Pool: b.pool, Execution: seedsql.Live, Policy: seedsql.Policy{}, Gateway: func(context.Context, string, []byte) error { return nil }}
	id := b.queue(batch.Apply, 2*rounds)
	var live sync.WaitGroup
	live.Go(func() {
		for i := range int64(rounds) {
			if err := consumer.Apply(context.Background(), seedsql.Event{ID: eventID(2*i + 2), Type: "pedido.pago", Order: fmt.Sprintf("P-%d", i), Version: 2, Payload: []byte(`{"valorCentavos":25000,"percentual":1}`)}); err != nil {
				t.Error(err)
			}
		}
	})
	b.run(id)
	live.Wait()
	if s := b.replay(batch.Apply, 2*rounds).Summary; s.Newer != rounds || s.Unchanged != rounds || s.Written != 0 {
		t.Errorf("account: %+v", s)
	}
	if n := scan[int64](b, `select count(*) from comissao where valor_centavos = 250 and versao_evento = 2`); n != rounds {
		t.Errorf("%d of %d orders hold version 2 = 250", n, rounds)
	}
}

// TestP8_LateEventIsProcessed: a position that was handed out and becomes visible behind the checkpoint.
func TestP8_LateEventIsProcessed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.GapWait = 20 * time.Second
	b.archive(1, 3)
	ctx := context.Background()
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if _, err := tx.Exec(ctx, `insert into evento_arquivado select 2, 'ev-2', 'pedido.pago', 'P-2', 1, payload, ocorrido_em from evento_arquivado where posicao = 1`); err != nil {
		t.Fatal(err)
	}
	id := b.queue(batch.Apply, 3)
	host := b.host()
	committed := false
	r, err := host.RunReplay(ctx, id, func(p batch.Progress) {
		if !committed && strings.Contains(p.Replay.Waiting, "missing") {
			committed = true
			if err := tx.Commit(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.wantState(r, batch.Done)
	if !committed || r.Summary.Read != 3 || r.Summary.Late != 1 {
		t.Errorf("waited for the gap: %v; account %+v", committed, r.Summary)
	}
	b.wantDelivered(1, 1, 2, 3)
}

// TestP8_OpenTransactionIsNeverCalledDone: what may still appear keeps the run from saying that it is done.
func TestP8_OpenTransactionIsNeverCalledDone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.GapWait = 500 * time.Millisecond
	b.archive(1, 3)
	ctx := context.Background()
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `insert into evento_arquivado select 2, 'ev-2', 'pedido.pago', 'P-2', 1, payload, ocorrido_em from evento_arquivado where posicao = 1`); err != nil {
		t.Fatal(err)
	}
	id := b.queue(batch.Apply, 3)
	b.wantState(b.run(id), batch.Partial)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	b.wantState(b.run(id), batch.Done)
	b.wantDelivered(1, 1, 2, 3)
}

// TestP8_DeadGapEndsAndIsListed: a position that was rolled back will never appear, and nothing waits for it.
func TestP8_DeadGapEndsAndIsListed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(1, 2, 3, 4, 6, 7, 8, 9, 10)
	r := b.replay(batch.Apply, 10)
	b.wantState(r, batch.Done)
	if diff := cmp.Diff([]batch.Gap{{First: 5, Last: 5}}, r.Summary.Gaps); diff != "" {
		t.Error(diff)
	}
}

// TestP8_PoisonEventsAreRecordedAndTheRestGoesOn.
func TestP8_PoisonEventsAreRecordedAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(1)
	b.event(2, "P-2", 1, `{"valorCentavos":"100","percentual":5}`)
	b.event(3, "P-3", 1, `{"percentual":5}`)
	b.event(4, "P-4", 1, `{"valorCentavos":1e2,"percentual":5}`)
	b.archive(5)
	b.exec(`update evento_arquivado set ocorrido_em = 'infinity' where posicao = 5`)
	r := b.replay(batch.Apply, 5)
	b.wantState(r, batch.Partial)
	failures, err := b.store().Failures(context.Background(), r.ID, 0, 10)
	if err != nil || len(failures) != 3 || failures[0].Position != 2 || failures[1].Position != 3 || failures[2].Position != 5 {
		t.Fatalf("%+v, %v", failures, err)
	}
	b.wantDelivered(1, 1, 4)
	b.wantDelivered(0, 2, 3, 5)
}

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

// TestP8_HeldReplaySaysByWhom: the same replay started twice runs once.
func TestP8_HeldReplaySaysByWhom(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{Delay: 10 * time.Millisecond}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second})
	b.config.Concurrency = 2
	b.archive(upTo(200)...)
	id := b.queue(batch.Apply, 200)
	started := make(chan struct{})
	var once sync.Once
	b.provider.OnRequest(func(string) { once.Do(func() { close(started) }) })
	var first sync.WaitGroup
	first.Go(func() { b.wantState(b.run(id), batch.Done) })
	<-started
	_, err := b.host().RunReplay(context.Background(), id, nil)
	if !errors.Is(err, batch.ErrHeld) || !strings.Contains(err.Error(), "since") {
		t.Errorf("second start: %v", err)
	}
	first.Wait()
	b.wantDelivered(1, upTo(200)...)
}

// TestP8_OverlappingAppliesExcludeEachOther in the database; the second waits and says for whom.
func TestP8_OverlappingAppliesExcludeEachOther(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{Delay: 10 * time.Millisecond}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second})
	b.config.Concurrency = 2
	b.archive(upTo(100)...)
	first, second := b.queue(batch.Apply, 100), b.queue(batch.Apply, 50)
	started := make(chan struct{})
	var once sync.Once
	b.provider.OnRequest(func(string) { once.Do(func() { close(started) }) })
	var both sync.WaitGroup
	both.Go(func() { b.wantState(b.run(first), batch.Done) })
	<-started
	waited := false
	r, err := b.host().RunReplay(context.Background(), second, func(p batch.Progress) {
		waited = waited || strings.Contains(p.Replay.Waiting, first)
	})
	both.Wait()
	if err != nil {
		t.Fatal(err)
	}
	b.wantState(r, batch.Done)
	if !waited {
		t.Error("the second did not say for whom it waits")
	}
	if r.Summary.Effects[notify].Registered != 50 {
		t.Errorf("%+v", r.Summary)
	}
	b.wantDelivered(1, upTo(100)...)
}

// TestWindowIsHalfOpenInItsZone: exactly the local day, whatever the server's zone.
func TestWindowIsHalfOpenInItsZone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, at := range []string{"2026-10-14T02:59:59Z", "2026-10-14T03:00:00Z", "2026-10-15T02:59:59.999999Z", "2026-10-15T03:00:00Z"} {
		b.archive(int64(i) + 1)
		b.exec(`update evento_arquivado set ocorrido_em = $2 where posicao = $1`, i+1, at)
	}
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	from, to := time.Date(2026, 10, 14, 0, 0, 0, 0, zone), time.Date(2026, 10, 15, 0, 0, 0, 0, zone)
	r := b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: batch.Scope{From: &from, To: &to, Zone: zone.String()}}))
	if r.Summary.Read != 2 {
		t.Errorf("%d events", r.Summary.Read)
	}
	b.wantDelivered(1, 2, 3)
	b.wantDelivered(0, 1, 4)
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
	if err != nil || len(p.Drift) != 1 || !strings.Contains(p.Drift[0], "1 orders") {
		t.Fatalf("drift %q, %v", p.Drift, err)
	}
	r, err := store.Approve(ctx, sim.ID, "fix")
	if err != nil {
		t.Fatal(err)
	}
	b.wantState(b.run(r.ID), batch.Done)
	if n := scan[int64](b, `select count(*) from comissao where valor_centavos = 500`); n != 20 {
		t.Errorf("%d orders corrected", n)
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
	}
	b.wantDelivered(0, 1)
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

// TestSameDatabaseForAll makes sure that a second queueing of the same request is one replay.
func TestQueueingTwiceIsOneReplay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(1)
	ctx, store := context.Background(), b.store()
	q := batch.Request{ID: "x", Scope: positions(1, 1)}
	for range 2 {
		if _, err := store.Queue(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	q.Scope = positions(1, 2)
	if _, err := store.Queue(ctx, q); !errors.Is(err, batch.ErrExists) {
		t.Errorf("another scope under the same id: %v", err)
	}
	if _, err := store.Queue(ctx, batch.Request{ID: "ao-vivo", Scope: positions(1, 1)}); !errors.Is(err, batch.ErrUsage) {
		t.Errorf("the live consumer's id: %v", err)
	}
}

// TestLiveFollowsTheArchive through the same applier, and a replay finds what it did.
func TestLiveFollowsTheArchive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(10)...)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var live sync.WaitGroup
	reached := make(chan int64, 100)
	live.Go(func() {
		from := int64(0)
		if err := b.host().Live(ctx, b.handlers["comissao"], &from, func(p batch.LiveProgress) { reached <- p.Position }); err != nil {
			t.Error(err)
		}
	})
	waitFor := func(want int64) {
		t.Helper()
		deadline := time.After(20 * time.Second)
		for {
			select {
			case p := <-reached:
				if p >= want {
					return
				}
			case <-deadline:
				t.Fatalf("the live consumer did not reach %d", want)
			}
		}
	}
	waitFor(10)
	// A slower transaction holds position 11 while 12 is there already.
	tx, err := b.pool.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, `insert into evento_arquivado select 11, 'ev-11', 'pedido.pago', 'P-11', 1, payload, ocorrido_em from evento_arquivado where posicao = 1`); err != nil {
		t.Fatal(err)
	}
	b.archive(12)
	time.Sleep(300 * time.Millisecond)
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	waitFor(12)
	cancel()
	live.Wait()
	b.wantDelivered(1, upTo(12)...)
	r := b.replay(batch.Apply, 12)
	if e := r.Summary.Effects[notify]; e.Registered != 12 || e.Applied != 0 {
		t.Errorf("%+v", e)
	}
}
