package batch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
)

// plannedParts plans a replay, and works it until it is planned or, at the latest, ended.
func (b *bench) plannedParts(q batch.Request) []batch.Partition {
	b.t.Helper()
	id := b.queueWith(q)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var parts []batch.Partition
	_, err := b.host().RunReplay(ctx, id, func(p batch.Progress) {
		if parts = p.Partitions; len(parts) > 0 {
			cancel()
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		b.t.Fatal(err)
	}
	return parts
}

// TestPartitionsEvenOut wherever the events are: no partition has more than one event more than another, and together
// they cover the scope without a hole.
func TestPartitionsEvenOut(t *testing.T) {
	t.Parallel()
	const billion = 1_000_000_000
	for name, tc := range map[string]struct {
		positions string // of event g of 10,000
		scope     batch.Scope
		events    int64
	}{
		"dense":                          {"g", positions(1, 10_000), 10_000},
		"dense in a much larger scope":   {"g", positions(1, 1<<62), 10_000},
		"empty ranges":                   {"g + g / 1000 * 1000000000::bigint", positions(1, 11*billion), 10_000},
		"nearly all in one place":        {"case when g <= 9900 then g else g * 1000000::bigint end", positions(1, 11*billion), 10_000},
		"a window that is a tenth":       {"g * 7", window(9_000, 10_000), 1_000},
		"one second":                     {"g * 3", window(77, 78), 1},
		"fewer events than partitions":   {"g * 3", positions(1, 15), 5},
		"a prefix that is dense":         {"case when g <= 5000 then g else g * 1000 end", positions(1, 11*billion), 10_000},
		"more and more sparse":           {"g::bigint * g * g / 1000 + g", positions(1, 11*billion), 10_000},
		"one type of event among others": {"g * 2", batch.Scope{FirstPos: new(int64), LastPos: pointer(int64(30_000)), Types: []string{"pedido.pago"}}, 1_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
				select ` + tc.positions + `, 'ev-' || g, case when g % 10 = 0 then 'pedido.pago' else 'pedido.criado' end, 'P-' || g, 1, '{}',
					'epoch'::timestamptz + g * interval '1 second' from generate_series(1, 10000) g`)
			const most = 32
			parts := b.plannedParts(batch.Request{Mode: batch.Simulate, Scope: tc.scope, Partitions: most})
			if want := min(most, int(tc.events)); len(parts) != want {
				t.Fatalf("%d partitions, want %d", len(parts), want)
			}
			sum, least, largest := int64(0), parts[0].Events, parts[0].Events
			for i, p := range parts {
				sum, least, largest = sum+p.Events, min(least, p.Events), max(largest, p.Events)
				if i > 0 && p.First != parts[i-1].Last+1 {
					t.Errorf("partition %d begins at %d, the one before ends at %d", i, p.First, parts[i-1].Last)
				}
				got := scan[int64](b, `select count(*) from evento_arquivado where posicao between $1 and $2
					and ($3::timestamptz is null or ocorrido_em >= $3 and ocorrido_em < $4) and (tipo = any($5) or $5 is null)`,
					p.First, p.Last, tc.scope.From, tc.scope.To, tc.scope.Types)
				if got != p.Events {
					t.Errorf("partition %d has %d events, and says %d", i, got, p.Events)
				}
			}
			if sum != tc.events || largest-least > 1 {
				t.Errorf("partitions of %d to %d events, %d together; want %d", least, largest, sum, tc.events)
			}
		})
	}
}

func pointer[T any](v T) *T { return &v }

// TestEmptyRangesCostNothing: positions that are a billion apart, and a scope without an end, are an ordinary replay.
func TestEmptyRangesCostNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const billion = 1_000_000_000
	b.archive(1, 2, billion, billion+1, 7*billion)
	r := b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 1<<62)}))
	if r.Summary == nil || r.Summary.Read != 5 || r.Summary.Effects[notify].Applied != 5 {
		t.Errorf("%s: %+v", r.State, r.Summary)
	}
	b.wantDelivered(1, 1, 2, billion, billion+1, 7*billion)
}

// TestP7_AllEventsOnOneOrder, in partitions that run side by side: its newest version stands, written once, and every
// event has its effect.
func TestP7_AllEventsOnOneOrder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const events = 2000
	b.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select g, 'ev-' || g, 'pedido.pago', 'P-1', g, jsonb_build_object('valorCentavos', g * 100, 'percentual', 5), '2026-10-14' from generate_series(1, $1::bigint) g`, events)
	b.exec(`create table written (n int); create function note() returns trigger language plpgsql as $$ begin insert into written values (1); return null; end $$;
		create trigger note after insert or update on comissao for each row execute function note()`)
	b.config.Concurrency = 64
	r := b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, events), Partitions: 16}))
	b.wantState(r, batch.Done)
	if got := scan[int64](b, `select valor_centavos from comissao where pedido_id = 'P-1' and versao_evento = $1`, events); got != events*5 {
		t.Errorf("the order's commission is %d", got)
	}
	if n := scan[int](b, `select count(*) from written`); n != 1 {
		t.Errorf("its state was written %d times", n)
	}
	b.wantDelivered(1, upTo(events)...)
}

// TestP8_ASliceGetsOnHoweverLongEventsTakeToRead: here a handful of them takes longer than a slice.
func TestP8_ASliceGetsOnHoweverLongEventsTakeToRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(6)...)
	b.engine.Slice = 500 * time.Millisecond
	b.exec(`alter table evento_arquivado rename to archived;
		create view evento_arquivado as select * from archived where pg_sleep(0.2)::text = ''`)
	b.wantState(b.run(b.queueWith(batch.Request{Mode: batch.Apply, Scope: positions(1, 6), Partitions: 1})), batch.Done)
	b.wantDelivered(1, upTo(6)...)
}

// TestPartsGrowWithTheRun: a part of few events is not worth a statement, many parts are not worth a row of each chunk.
func TestPartsGrowWithTheRun(t *testing.T) {
	t.Parallel()
	for events, want := range map[int64]int{0: 1, 1: 1, 16_384: 1, 16_385: 2, 100_000: 8, 1_000_000: 64, 10_000_000: 256, 100_000_000: 1024, 10_000_000_000: 1024} {
		if got := batch.PartsFor(events); got != want {
			t.Errorf("%d events: %d parts, want %d", events, got, want)
		}
	}
}
