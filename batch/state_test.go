package batch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/schema/seedsql"
)

const wantedStateSQL = `
	select count(*) from (
		select distinct on (pedido_id) pedido_id, valor, versao
		from (
			select pedido_id, valor_centavos as valor, versao_evento as versao, 0 as lugar from antes
			union all
			select pedido_id, (payload->>'valorCentavos')::bigint / 20, versao, 1 from evento_arquivado) t
		order by pedido_id, versao desc, lugar desc) w
	full join comissao c using (pedido_id)
	where (c.valor_centavos, c.versao_evento) is distinct from (w.valor, w.versao)`

// TestP7_StateOfManyPartsByManyHosts: whoever writes which part when, the state is that of one fold over the archive,
// the account adds up, and reverting restores what was there.
func TestP7_StateOfManyPartsByManyHosts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.rules[notify] = batch.Rule{Mode: batch.ModeSuppress}
	const events, orders = 40_000, 9_001
	b.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select g, 'ev-' || g, 'pedido.pago', 'P-' || g % $2::int, (g / $2::int * 2 + g % $2::int) % 5,
			jsonb_build_object('valorCentavos', g * 20, 'percentual', 5), '2026-10-14T12:00:00Z'
		from generate_series(1, $1::int) g`, events, orders)
	b.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento) select 'P-' || g, 7, g % 7 from generate_series(0, 5000) g`)
	b.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento)
		select distinct on (pedido_id) pedido_id, (payload->>'valorCentavos')::bigint / 20, versao
		from evento_arquivado order by pedido_id, versao desc on conflict (pedido_id) do update
		set valor_centavos = excluded.valor_centavos, versao_evento = excluded.versao_evento where right(comissao.pedido_id, 1) = '3'`)
	b.exec(`delete from comissao where right(pedido_id, 1) in ('4', '5', '6')`)
	b.exec(`create table antes as table comissao`)

	id := b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, events), Partitions: 6})
	r := b.byHosts(2, id)
	b.wantState(r, batch.Done)
	if s := r.Summary; !s.Balanced() || s.Read != events || s.Written == 0 || s.Unchanged == 0 || s.Newer == 0 {
		t.Errorf("account: %+v", s)
	}
	if n := scan[int64](b, `select count(*) from reprocessamento_parte where concluida`); n != 4 {
		t.Errorf("%d parts were written, want 4", n)
	}
	if wrong := scan[int64](b, wantedStateSQL); wrong != 0 {
		t.Errorf("%d orders hold another state than one fold gives", wrong)
	}
	if _, left, err := b.store().Revert(context.Background(), id); err != nil || left != 0 {
		t.Fatalf("%d left, %v", left, err)
	}
	if wrong := scan[int64](b, `select count(*) from comissao c full join antes a using (pedido_id)
		where (c.valor_centavos, c.versao_evento) is distinct from (a.valor_centavos, a.versao_evento)`); wrong != 0 {
		t.Errorf("%d orders are not what they were", wrong)
	}
}

// TestP7_P8_APartThatCannotBeMarked: if the statement that marks a part fails, what was written with it is not, and the
// account and the images are those of a run in which nothing failed. The marks fail in both ways that there are: those that
// are repeated at once, and those that fail the job.
func TestP7_P8_APartThatCannotBeMarked(t *testing.T) {
	t.Parallel()
	outcome := func(fail bool) []string {
		b := newBench(t)
		b.rules[notify] = batch.Rule{Mode: batch.ModeSuppress}
		const events, orders = 20_000, 3_001 // two parts
		b.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
			select g, 'ev-' || g, 'pedido.pago', 'P-' || g % $2::int, g / $2::int, jsonb_build_object('valorCentavos', g * 20, 'percentual', 5), '2026-10-14'
			from generate_series(1, $1::int) g`, events, orders)
		b.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento) select 'P-' || g, 7, g % 9 from generate_series(0, 1500) g`)
		if fail {
			b.exec(`create sequence falha`)
			b.exec(`create function falha() returns trigger language plpgsql as $$
				declare codes text[] := '{40001,53100,40P01,57014}'; n int := nextval('falha');
				begin
					if n <= 4 then raise exception 'failure %', n using errcode = codes[n]; end if;
					return new;
				end $$`)
			b.exec(`create trigger falha before update on reprocessamento_parte for each row when (new.concluida) execute function falha()`)
		}
		r := b.run(b.queueWith(batch.Request{ID: "a", Mode: batch.Apply, Scope: positions(1, events)}))
		b.wantState(r, batch.Done)
		if n := scan[int](b, `select count(*) from reprocessamento_parte where concluida`); n != 2 {
			t.Errorf("%d parts were written, want 2", n)
		}
		if fail && scan[int](b, `select last_value from falha`) != 6 {
			t.Error("not every failure came about")
		}
		r.Summary.Elapsed = 0
		return []string{
			fmt.Sprintf("%+v", *r.Summary),
			scan[string](b, `select string_agg(p::text, ' ' order by parte) from reprocessamento_parte p`),
			scan[string](b, `select string_agg(concat_ws(' ', pedido_id, valor_centavos, versao_evento), E'\n' order by pedido_id) from comissao`),
			scan[string](b, `select string_agg(d::text, E'\n' order by pedido_id) from reprocessamento_diff d`),
		}
	}
	if diff := cmp.Diff(outcome(false), outcome(true)); diff != "" {
		t.Errorf("not as if nothing had failed (-want +got):\n%s", diff)
	}
}

// byHosts works a replay on daemons side by side until it ends.
func (b *bench) byHosts(n int, id string) batch.Replay {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var hosts sync.WaitGroup
	for range n {
		h := b.host()
		hosts.Go(func() {
			if err := h.RunDaemon(ctx, nil); err != nil {
				b.t.Error(err)
			}
		})
	}
	defer hosts.Wait()
	defer cancel()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		r, err := b.store().Replay(ctx, id)
		if err != nil {
			b.t.Fatal(err)
		}
		if r.State != batch.Queued && r.State != batch.Running {
			return r
		}
		if time.Now().After(limit) {
			b.t.Fatalf("%s is %s still; %s", id, r.State, r.Waiting)
		}
	}
}

// TestP7_ResumedAfterARevert: a run that was reverted half-way writes its state again, and each effect is told once.
func TestP7_ResumedAfterARevert(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.config.Concurrency = 1
	b.archive(upTo(40)...)
	id := b.queue(batch.Apply, 40)
	var once sync.Once
	b.provider.OnRequest(func(string) {
		once.Do(func() {
			if _, err := b.store().Pause(context.Background(), id); err != nil {
				t.Error(err)
			}
		})
	})
	b.wantState(b.run(id), batch.Paused)
	if n := scan[int64](b, `select count(*) from comissao`); n != 40 {
		t.Fatalf("%d orders written before the first effect, want all 40", n)
	}
	reverted, left, err := b.store().Revert(context.Background(), id)
	if err != nil || reverted != 40 || left != 0 {
		t.Fatalf("%d reverted, %d left, %v", reverted, left, err)
	}
	if n := scan[int64](b, `select count(*) from comissao`); n != 0 {
		t.Fatalf("%d orders are left", n)
	}
	if _, err := b.store().Resume(context.Background(), id, nil); err != nil {
		t.Fatal(err)
	}
	r := b.run(id)
	b.wantState(r, batch.Done)
	if n := scan[int64](b, `select count(*) from comissao where valor_centavos = 500`); n != 40 || r.Summary.Written != 40 {
		t.Errorf("%d orders are written again; %+v", n, r.Summary)
	}
	b.wantDelivered(1, upTo(40)...)
}

// TestP9_WhenWrittenIsSimulatedAsItIsApplied: which effects depend on an order's newest version is the same before and
// after the state is written.
func TestP9_WhenWrittenIsSimulatedAsItIsApplied(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rule := b.rules[notify]
	rule.When = batch.WhenWritten
	b.rules[notify] = rule
	// Position, version: the newest comes first, in the middle, last; one order holds a newer version already, one
	// this very version.
	for i, e := range []struct {
		order   string
		version int64
	}{{"A", 3}, {"B", 1}, {"C", 1}, {"A", 1}, {"B", 3}, {"C", 2}, {"A", 2}, {"B", 2}, {"C", 3}, {"D", 1}, {"E", 1}} {
		b.event(int64(i)+1, e.order, e.version, `{"valorCentavos":10000,"percentual":5}`)
	}
	b.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento) values ('D', 1, 2), ('E', 500, 1)`)
	simulated := b.replay(batch.Simulate, 11).Summary.Effects[notify]
	applied := b.replay(batch.Apply, 11).Summary.Effects[notify]
	b.wantDelivered(1, 1, 5, 9, 11)
	b.wantDelivered(0, 2, 3, 4, 6, 7, 8, 10)
	if simulated != applied {
		t.Errorf("simulated %+v, applied %+v", simulated, applied)
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
