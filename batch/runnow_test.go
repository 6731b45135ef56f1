package batch_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/batch"
)

// TestP10_RunNowBesideWorkIsRefused: one of many who press at once sets the task going, the others learn who it was;
// once it has ended it may be run again.
func TestP10_RunNowBesideWorkIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	store := b.store()
	sweep := batch.Schedule{Name: "varredura", Spec: "0 2 * * *", Zone: time.UTC, Task: store.SweepSchedule("varredura")}
	var ran, refused atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, err := store.RunNow(context.Background(), sweep, "maria@bastion-1")
			switch {
			case err == nil:
				ran.Add(1)
			case errors.Is(err, batch.ErrHeld) && strings.Contains(err.Error(), "maria@bastion-1"):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ran.Load() != 1 || refused.Load() != 7 {
		t.Fatalf("%d ran, %d refused", ran.Load(), refused.Load())
	}
	if n := scan[int](b, `select count(*) from river.river_job where kind = 'varrer'`); n != 1 {
		t.Fatalf("%d sweeps were handed out", n)
	}
	b.exec(`update agenda_disparo set estado = 'concluido'`)
	if _, err := store.RunNow(context.Background(), sweep, "maria@bastion-1"); err != nil {
		t.Fatal(err)
	}
}

// TestP10_RunNowIsTheSlotThatIsDue: a slot that nobody ran is run once, not once by hand and once by the schedule.
func TestP10_RunNowIsTheSlotThatIsDue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ran := 0
	hourly := batch.Schedule{Name: "hourly", Spec: "0 * * * *", Zone: time.UTC, Task: func(context.Context, pgx.Tx, time.Time) (string, error) { ran++; return "ran", nil }}
	now := scan[time.Time](b, `select clock_timestamp()`)
	due := now.UTC().Truncate(time.Hour)
	b.slotOnRecord(hourly.Name, due.Add(-3*time.Hour))
	f, err := b.store().RunNow(context.Background(), hourly, "maria@bastion-1")
	if err != nil {
		t.Fatal(err)
	}
	if !f.Slot.Equal(due) || f.State != "concluido" || f.Detail != "ran" {
		t.Fatalf("ran %v, want the slot of %v", f, due)
	}
	if err := b.host().FireDue(context.Background(), hourly, now); err != nil {
		t.Fatal(err)
	}
	if ran != 1 {
		t.Fatalf("ran %d times", ran)
	}
}

// TestP10_RunNowSeesAClaimThatIsBeingMade: a slot that the schedule claims at this moment is waited for, and seen.
func TestP10_RunNowSeesAClaimThatIsBeingMade(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	store := b.store()
	ctx := context.Background()
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	var slot time.Time
	if err := tx.QueryRow(ctx, `insert into agenda_disparo (tarefa, previsto_para, executor, estado) values ('varredura', clock_timestamp(), 'bastion-2', 'executando')
		returning previsto_para`).Scan(&slot); err != nil {
		t.Fatal(err)
	}
	if _, err := store.SweepSchedule("varredura")(ctx, tx, slot); err != nil {
		t.Fatal(err)
	}
	answer := make(chan error, 1)
	go func() {
		_, err := store.RunNow(ctx, batch.Schedule{Name: "varredura", Spec: "0 2 * * *", Zone: time.UTC, Task: store.SweepSchedule("varredura")}, "maria@bastion-1")
		answer <- err
	}()
	for waiting := 0; waiting == 0; {
		select {
		case err := <-answer:
			t.Fatalf("did not wait for the claim: %v", err)
		default:
			waiting = scan[int](b, `select count(*) from pg_locks where relation = 'agenda_disparo'::regclass and not granted`)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; !errors.Is(err, batch.ErrHeld) || !strings.Contains(err.Error(), "bastion-2") {
		t.Fatalf("got %v", err)
	}
}

// TestP10_ASlotThatComesDueBesideRunNowWaits: the sweep that somebody set going by hand is at work when the schedule's
// own slot comes due. There is one sweep at a time; the slot is run when the other one has ended.
func TestP10_ASlotThatComesDueBesideRunNowWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	store := b.store()
	ctx, stop := context.WithCancel(context.Background())
	sweep := batch.Schedule{Name: "varredura", Spec: "* * * * *", Zone: time.UTC, Task: store.SweepSchedule("varredura")}
	jobs := func() int { return scan[int](b, `select count(*) from river.river_job where kind = 'varrer'`) }
	scheduler := b.host()
	due := func() time.Time { return scan[time.Time](b, `select clock_timestamp() + interval '1 minute'`) }

	f, err := store.RunNow(ctx, sweep, "maria@bastion-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := scheduler.FireDue(ctx, sweep, due()); err != nil {
		t.Fatal(err)
	}
	if n := jobs(); n != 1 {
		t.Fatalf("%d sweeps were handed out beside one that nobody began", n)
	}

	// A process takes it up and is kept at it for long.
	tx, err := b.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := tx.Exec(ctx, `lock table efeito_aplicado in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- b.host().RunDaemon(ctx, nil) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	b.until(`select exists (select from river.river_job where kind = 'varrer' and state = 'running')`)
	b.until(`select exists (select from executor)`)
	b.exec(`update river.river_job set attempted_at = attempted_at - interval '5 minutes'`)
	if err := scheduler.FireDue(ctx, sweep, due()); err != nil {
		t.Fatal(err)
	}
	if n := jobs(); n != 1 {
		t.Fatalf("%d sweeps were handed out beside one at work", n)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	b.until(`select estado = 'concluido' from agenda_disparo where previsto_para = $1`, f.Slot)
	if err := scheduler.FireDue(ctx, sweep, due()); err != nil {
		t.Fatal(err)
	}
	if n := jobs(); n != 2 {
		t.Fatalf("%d sweeps: the slot that waited was not run", n)
	}
}

// TestP3_ASweeperThatIsGoneHoldsNoSweepBack: neither the schedule's nor one by hand.
func TestP3_ASweeperThatIsGoneHoldsNoSweepBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, store := context.Background(), b.store()
	sweep := batch.Schedule{Name: "varredura", Spec: "* * * * *", Zone: time.UTC, Task: store.SweepSchedule("varredura")}
	lose := func() {
		b.exec(`update river.river_job set state = 'running', attempted_by = '{bastion-2:77:a1-00000001}', attempted_at = clock_timestamp() - interval '5 minutes'`)
		b.exec(`insert into executor (id, maquina, pid, papel, versao, visto_em) values ('bastion-2:77:a1', 'bastion-2', 77, 'run', 'test', clock_timestamp() - interval '1 minute')
			on conflict do nothing`)
	}
	if _, err := store.RunNow(ctx, sweep, "maria@bastion-1"); err != nil {
		t.Fatal(err)
	}
	lose()
	if err := b.host().FireDue(ctx, sweep, scan[time.Time](b, `select clock_timestamp() + interval '1 minute'`)); err != nil {
		t.Fatal(err)
	}
	if n := scan[int](b, `select count(*) from river.river_job where kind = 'varrer'`); n != 2 {
		t.Fatalf("%d sweeps", n)
	}
	lose()
	if _, err := store.RunNow(ctx, sweep, "maria@bastion-1"); err != nil {
		t.Fatal(err)
	}
}

// TestP8_WhatAProcessThatIsGoneHadInHandIsTakenBack: one pass does a plan and a sweep that a process left, long before
// they are as old as a plan or a sweep may be.
func TestP8_WhatAProcessThatIsGoneHadInHandIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(1, 2, 3)
	id := b.queue(batch.Apply, 3)
	sweep := batch.Schedule{Name: "varredura", Spec: "* * * * *", Zone: time.UTC, Task: b.store().SweepSchedule("varredura")}
	if _, err := b.store().RunNow(t.Context(), sweep, "maria@bastion-1"); err != nil {
		t.Fatal(err)
	}
	b.exec(`update river.river_job set state = 'running', attempted_by = '{bastion-2:77:a1-00000001}', attempted_at = clock_timestamp() - interval '1 minute'`)
	if n := scan[int](b, `select count(*) from river.river_job where state = 'running'`); n != 2 {
		t.Fatalf("%d jobs, want a plan and a sweep", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	report, err := b.host().RunOnce(ctx)
	if err != nil || len(report.Replays) != 1 || report.Replays[0].State != batch.Done {
		t.Fatalf("%s: %+v, %v", id, report, err)
	}
	b.wantDelivered(1, 1, 2, 3)
}
