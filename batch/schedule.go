package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/robfig/cron/v3"
)

// Schedule is one entry of the configuration.
type Schedule struct {
	Name     string
	Spec     string         // five fields or a descriptor such as @every 5m
	Zone     *time.Location // in which the fields are read
	Deadline time.Duration  // how late a missed slot is still caught up; 0: an hour
	Task     Task
}

// Task is what a schedule does at a slot. It runs inside the transaction that claims the slot and must only
// write what makes the work happen (a job, a queued replay).
type Task func(ctx context.Context, tx pgx.Tx, slot time.Time) (detail string, err error)

var specParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

// ParseSpec reads a schedule; one that never fires is an error. The zone belongs to the entry, not in the text.
func ParseSpec(spec string) (s cron.Schedule, err error) {
	defer func() {
		if r := recover(); r != nil { // robfig/cron panics on a zone without fields
			err = fmt.Errorf("schedule %q cannot be read", spec)
		}
	}()
	s, err = specParser.Parse(spec)
	if err != nil {
		return nil, fmt.Errorf("schedule %q: %w", spec, err)
	}
	if s.Next(time.Now()).IsZero() {
		return nil, fmt.Errorf("schedule %q never fires", spec)
	}
	return s, nil
}

// NextSlot is the first slot after an instant.
//
// A schedule with given hours is read on the wall clock of its zone: on the night that skips an hour, a slot in
// the skipped hour fires once, right after the jump; on the night that repeats one, once. A schedule for every
// hour is a matter of elapsed time and fires in each of the repeated hours.
func NextSlot(s cron.Schedule, zone *time.Location, after time.Time) time.Time {
	spec, ok := s.(*cron.SpecSchedule)
	const everyHour = 1<<24 - 1
	if !ok || spec.Hour&everyHour == everyHour {
		return s.Next(after.In(zone))
	}
	wall := *spec
	wall.Location = time.UTC
	// Wall-clock readings as if they were UTC, so that cron never sees a jump.
	reading := onWall(after.In(zone)).Add(-3 * time.Hour) // a jump moves a slot by less than this
	for {
		reading = wall.Next(reading)
		if reading.IsZero() {
			return reading
		}
		if slot := instantOf(reading, zone); slot.After(after) {
			return slot
		}
	}
}

func onWall(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instantOf finds the first instant at which the zone's clocks show a reading, or the end of the jump that skips it.
func instantOf(reading time.Time, zone *time.Location) time.Time {
	t := time.Date(reading.Year(), reading.Month(), reading.Day(), reading.Hour(), reading.Minute(), reading.Second(), 0, zone)
	if !onWall(t).Equal(reading) {
		// Skipped: the jump lies between the instants that the offsets before and after it would give.
		start, end := t.ZoneBounds()
		if onWall(t).After(reading) {
			return start
		}
		return end
	}
	// Repeated: the earlier instant has the reading too.
	if start, _ := t.ZoneBounds(); !start.IsZero() {
		_, before := start.Add(-time.Second).Zone()
		_, now := t.Zone()
		if earlier := t.Add(time.Duration(now-before) * time.Second); before > now && onWall(earlier.In(zone)).Equal(reading) {
			return earlier
		}
	}
	return t
}

// fireSchedules claims slots and runs their tasks until ctx ends. Any number of hosts may do so at once: a slot
// is a row, and who inserts it runs it.
func (e *Engine) fireSchedules(ctx context.Context, schedules []Schedule) <-chan struct{} {
	var group sync.WaitGroup
	for _, s := range schedules {
		group.Go(func() { e.fireLoop(ctx, s) })
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	return done
}

func (e *Engine) fireLoop(ctx context.Context, s Schedule) {
	spec, err := ParseSpec(s.Spec)
	if err != nil {
		e.log.Error("schedule", "name", s.Name, "error", err)
		return
	}
	for ctx.Err() == nil {
		now, err := e.Now(ctx)
		if err == nil {
			err = e.fireDue(ctx, s, spec, now)
		}
		if err != nil && ctx.Err() == nil {
			e.log.Warn("schedule", "name", s.Name, "error", err)
		}
		// Short waits: timers are monotonic, so a suspended host would wake late from a long one.
		wait := min(max(time.Until(NextSlot(spec, s.Zone, time.Now())), 50*time.Millisecond), 15*time.Second)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// fireDue runs the newest slot that is due and not yet claimed; older ones that nobody ran are marked missed. While
// the task is at work for another slot, or because somebody ran it now, the newest one waits: it is run after that.
func (e *Engine) fireDue(ctx context.Context, s Schedule, spec cron.Schedule, now time.Time) error {
	deadline := s.Deadline
	if deadline == 0 {
		deadline = time.Hour
	}
	since, err := e.lastSlot(ctx, s.Name, now)
	if err != nil {
		return err
	}
	due := dueSlots(spec, s.Zone, since, now)
	for i, slot := range due {
		missed := i < len(due)-1 || now.Sub(slot) > deadline
		if err := e.fire(ctx, s, slot, missed, now); err != nil && !errors.Is(err, errAtWork) {
			return err
		}
	}
	return nil
}

// dueSlots are the newest two slots that are due: one catch-up, not one for each slot that was slept through.
func dueSlots(spec cron.Schedule, zone *time.Location, since, now time.Time) (due []time.Time) {
	for slot := NextSlot(spec, zone, since); !slot.IsZero() && !slot.After(now); slot = NextSlot(spec, zone, slot) {
		if due = append(due, slot); len(due) > 2 {
			due = due[1:]
		}
	}
	return due
}

// lastSlot is the newest slot on record; a schedule without one begins now.
func (e *Engine) lastSlot(ctx context.Context, task string, now time.Time) (time.Time, error) {
	var last *time.Time
	err := e.pool.QueryRow(ctx, `select max(previsto_para) from agenda_disparo where tarefa = $1`, task).Scan(&last)
	if err != nil {
		return now, fmt.Errorf("slots of %s: %w", task, err)
	}
	if last == nil {
		e.firstLook.LoadOrStore(task, now)
		first, _ := e.firstLook.Load(task)
		return first.(time.Time), nil
	}
	return *last, nil
}

const claimSlotSQL = `
	insert into agenda_disparo (tarefa, previsto_para, executor, estado, detalhe, terminado_em)
	values ($1, $2, $3, $4::text, nullif($5, ''), case when $4 <> 'executando' then clock_timestamp() end)
	on conflict (tarefa, previsto_para) do nothing`

func (e *Engine) fire(ctx context.Context, s Schedule, slot time.Time, missed bool, now time.Time) error {
	if missed {
		tag, err := e.pool.Exec(ctx, claimSlotSQL, s.Name, slot, e.host, "perdido", remarkMissed)
		if err == nil && tag.RowsAffected() == 1 {
			e.log.Error("schedule slot missed", "name", s.Name, "slot", slot.In(s.Zone))
		}
		return err
	}
	var failure error
	err := pgx.BeginFunc(ctx, e.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, claimSlotSQL, s.Name, slot, e.host, "executando", "")
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if _, _, busy, err := atWork(ctx, tx, s.Name, slot); err != nil || busy {
			return cmp.Or(err, errAtWork) // and the slot is nobody's again
		}
		var detail string
		// A savepoint, so that a failing task leaves its slot on record.
		failure = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) (err error) {
			detail, err = runTask(ctx, s.Task, tx, slot)
			return err
		})
		state := "concluido"
		if failure != nil {
			state, detail = "falhou", clean(failure.Error())
		} else if slices.Contains([]string{sweepTask}, detail) {
			state, detail = "executando", "" // the job writes how it ended
		}
		if late := now.Sub(slot).Round(time.Second); late > time.Minute {
			detail = fmt.Sprintf(remarkLate, detail, late)
		}
		_, err = tx.Exec(ctx, `
			update agenda_disparo set estado = $3::text, detalhe = nullif($4, ''), terminado_em = case when $3::text <> 'executando' then clock_timestamp() end
			where tarefa = $1 and previsto_para = $2`, s.Name, slot, state, detail)
		return err
	})
	if err != nil {
		return fmt.Errorf("fire %s of %s: %w", s.Name, slot.Format(time.RFC3339), err)
	}
	if failure != nil {
		e.log.Error("scheduled task failed", "name", s.Name, "slot", slot.In(s.Zone), "error", failure)
	}
	return nil
}

// runTask turns a panic into a failure of this slot alone.
func runTask(ctx context.Context, task Task, tx pgx.Tx, slot time.Time) (detail string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return task(ctx, tx, slot)
}

// sweepTask is what SweepSchedule answers: the slot is finished by the job, not by the claim.
const sweepTask = "sweep"

// SweepSchedule is the task that sweeps.
func (s *Store) SweepSchedule(name string) Task {
	return func(ctx context.Context, tx pgx.Tx, slot time.Time) (string, error) {
		_, err := s.jobs.InsertTx(ctx, tx, SweepArgs{Task: name, Slot: slot.UTC().Format(time.RFC3339Nano)}, insertOpts(controlQueue, 1))
		return sweepTask, err
	}
}

// QueueSchedule is the task that queues a replay for a slot; a slot that is fired twice is one replay.
func (s *Store) QueueSchedule(request func(slot time.Time) Request) Task {
	return func(ctx context.Context, tx pgx.Tx, slot time.Time) (string, error) {
		q, err := s.complete(request(slot))
		if err != nil {
			return "", err
		}
		r, err := s.insert(ctx, tx, q, Replay{Rules: s.rules})
		if errors.Is(err, ErrExists) {
			return fmt.Sprintf(remarkQueuedBefore, q.ID), nil
		}
		return fmt.Sprintf(remarkQueued, r.ID), err
	}
}

// Firings lists slots, newest first, after one (nil: from the newest).
func (s *Store) Firings(ctx context.Context, limit int, after *Firing) ([]Firing, error) {
	if after == nil {
		after = &Firing{Slot: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	}
	rows, err := s.pool.Query(ctx, `
		select tarefa, previsto_para, estado, executor, reivindicado_em, terminado_em, coalesce(detalhe, '')
		from agenda_disparo where previsto_para <= $1 and (previsto_para < $1 or tarefa > $2)
		order by previsto_para desc, tarefa limit $3`, after.Slot, after.Task, limit)
	if err != nil {
		return nil, fmt.Errorf("firings: %w", err)
	}
	firings, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (f Firing, err error) {
		return f, row.Scan(&f.Task, &f.Slot, &f.State, &f.Host, &f.ClaimedAt, &f.FinishedAt, &f.Detail)
	})
	if err != nil {
		return nil, fmt.Errorf("firings: %w", err)
	}
	return firings, nil
}
