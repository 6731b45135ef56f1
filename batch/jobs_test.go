package batch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// belonging is a job and what it belongs to: both are stored, or neither.
type belonging struct {
	job, table, when string // the job's kind, and the row that it belongs to
	fact             string // counts what is on record of that
	bring            func(*bench) error
	after            func(*bench)
}

var belongings = map[string]belonging{
	"queue": {
		"planejar", "reprocessamento", "true", `select count(*) from reprocessamento`,
		func(b *bench) error {
			_, err := b.store().Queue(context.Background(), batch.Request{ID: "r", Mode: batch.Apply, Scope: positions(1, 20), Partitions: 1})
			return err
		},
		func(b *bench) {
			b.wantAllOf(b.queueWith(batch.Request{ID: "r", Mode: batch.Apply, Scope: positions(1, 20)}))
		},
	},
	"plan": {
		"fatiar", "reprocessamento_checkpoint", "true", `select count(*) from reprocessamento where planejado_em is not null`,
		(*bench).workUntilAJobFails, func(b *bench) { b.wantAllOf("r") },
	},
	"project": {
		"gravar", "reprocessamento_checkpoint", "new.projetada_ate = new.posicao_ate",
		`select count(*) from reprocessamento_checkpoint where projetada_ate = posicao_ate`,
		(*bench).workUntilAJobFails, func(b *bench) { b.wantAllOf("r") },
	},
	"work": {
		"concluir", "reprocessamento_checkpoint", "new.concluida", `select count(*) from reprocessamento_checkpoint where concluida`,
		(*bench).workUntilAJobFails, func(b *bench) { b.wantAllOf("r") },
	},
	"decide": {
		"reenviar", "efeito_revisao", "true", `select count(*) from efeito_revisao`,
		(*bench).decideToResend,
		func(b *bench) {
			if err := b.decideToResend(); err != nil {
				b.t.Fatal(err)
			}
			if _, err := b.host().RunOnce(context.Background()); err != nil {
				b.t.Fatal(err)
			}
			b.wantDelivered(1, 1)
		},
	},
	"schedule": {
		"varrer", "agenda_disparo", "true", `select count(*) from agenda_disparo where estado = 'executando'`,
		(*bench).fireASweep, func(*bench) {},
	},
}

// TestP8_AJobIsStoredWithWhatItBelongsTo: if either of them cannot be stored, the other is not.
func TestP8_AJobIsStoredWithWhatItBelongsTo(t *testing.T) {
	t.Parallel()
	for name, to := range belongings {
		for what, refuse := range map[string]string{
			"no row": fmt.Sprintf(`create constraint trigger refuse after insert or update on %s
				deferrable initially deferred for each row when (%s) execute function refuse()`, to.table, to.when),
			"no job": fmt.Sprintf(`create trigger refuse before insert on river.river_job for each row when (new.kind = '%s') execute function refuse()`, to.job),
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.archive(upTo(20)...)
				if name == "decide" {
					b.provider.Script(key(1), faultprovider.Hang)
					b.replay(batch.Apply, 1)
				} else if name != "queue" {
					b.queueWith(batch.Request{ID: "r", Mode: batch.Apply, Scope: positions(1, 20), Partitions: 1})
				}
				jobs := func() int {
					return scan[int](b, `select count(*) from river.river_job where kind = $1`, to.job)
				}
				before := jobs()
				b.exec(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`)
				b.exec(refuse)
				if err := to.bring(b); err == nil {
					t.Error("it was brought about")
				}
				if n := jobs(); n != before {
					t.Errorf("%d jobs of kind %s, without what they belong to", n-before, to.job)
				}
				if n := scan[int](b, to.fact); n != 0 {
					t.Errorf("%d rows on record, without their job", n)
				}
				b.exec(`drop function refuse cascade`)
				to.after(b)
			})
		}
	}
}

func (b *bench) wantAllOf(id string) {
	b.t.Helper()
	b.wantState(b.run(id), batch.Done)
	b.wantDelivered(1, upTo(20)...)
}

// workUntilAJobFails works the replay until a job of it failed, and returns how.
func (b *bench) workUntilAJobFails() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var failed string
	_, err := b.host().RunReplay(ctx, "r", func(batch.Progress) {
		failed = scan[string](b, `select coalesce(string_agg(errors::text, '; '), '') from river.river_job where errors is not null`)
		if failed != "" {
			cancel()
		}
	})
	if failed == "" {
		return nil
	}
	return errors.Join(errors.New(failed), err)
}

func (b *bench) decideToResend() error {
	ctx, books := context.Background(), b.books()
	e, found, err := books.UncertainByKey(ctx, key(1))
	if err != nil || !found {
		b.t.Fatal(found, err)
	}
	_, err = b.store().Decide(ctx, books, ledger.Decision{Key: key(1), Verdict: ledger.Resend, Note: "seller says no", Seen: e.Version, Force: true})
	return err
}

// fireASweep lets a slot come due that was not yet on record.
func (b *bench) fireASweep() error {
	ctx, host := context.Background(), b.host()
	s := batch.Schedule{Name: "sweep", Spec: "@every 1m", Zone: time.UTC, Task: b.store().SweepSchedule("sweep")}
	now := time.Now()
	if err := host.FireDue(ctx, s, now); err != nil {
		return err
	}
	if err := host.FireDue(ctx, s, now.Add(90*time.Second)); err != nil {
		return err
	}
	if failed := scan[string](b, `select coalesce(string_agg(detalhe, '; '), '') from agenda_disparo where estado = 'falhou'`); failed != "" {
		return errors.New(failed)
	}
	return nil
}

// TestAJobIsOne: everybody who may hand out the same work at the same moment hands out the same job.
func TestAJobIsOne(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Minute})
	b.ledger.SweepAge = 2 * time.Minute
	const events, parts, each = 20_000, 4, 500 // enough for two writers of the state; few of them have an effect
	b.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select g, 'ev-' || g, case when g % $2 = 0 then 'pedido.pago' else 'pedido.criado' end, 'P-' || g, 1, '{"valorCentavos":10000,"percentual":5}', '2026-10-14'
		from generate_series(1, $1::bigint) g`, events, each)
	request := batch.Request{ID: "r", Mode: batch.Apply, Scope: positions(1, events), Partitions: parts}
	store := b.store()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := store.Queue(context.Background(), request); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := scan[int](b, `select count(*) from river.river_job`); n != 1 {
		t.Errorf("%d jobs after queueing one replay eight times at once", n)
	}
	// While the first effects are in flight, every writer of the state comes to its end and hands out what follows.
	gate := make(chan struct{})
	var once sync.Once
	open := func() { once.Do(func() { close(gate) }) }
	defer open()
	b.provider.OnRequest(func(string) { <-gate })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := b.host().RunReplay(ctx, "r", func(batch.Progress) {
		if scan[int](b, `select count(*) from river.river_job where kind = 'gravar' and state = 'completed'`) == 2 {
			open()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	b.wantState(r, batch.Done)
	const jobsSQL = `select count(*) from river.river_job where kind = $1 and coalesce(args->>'etapa', '') = $2`
	for _, want := range []struct {
		kind, stage string
		n           int
	}{{"planejar", "", 2}, {"fatiar", string(batch.Projecting), parts}, {"gravar", "", 2}, {"fatiar", string(batch.Working), parts}, {"concluir", "", 1}} {
		if n := scan[int](b, jobsSQL, want.kind, want.stage); n != want.n {
			t.Errorf("%d jobs %s %s, want %d", n, want.kind, want.stage, want.n)
		}
	}
	for p := int64(each); p <= events; p += each {
		b.wantDelivered(1, p)
	}
}
