package batch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/batch"
)

// TestP10_SlotsAcrossClockChanges: a slot in the skipped hour fires once, right after the jump; one in the
// repeated hour fires once; a schedule for every hour goes by elapsed time.
func TestP10_SlotsAcrossClockChanges(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, spec, zone, after string
		want                    []string
	}{
		{"spring forward", "30 2 * * *", "America/New_York", "2026-03-07T00:00:00-05:00",
			[]string{"2026-03-07T02:30:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"}},
		{"spring forward in Lisbon", "30 1 * * *", "Europe/Lisbon", "2026-03-28T00:00:00Z",
			[]string{"2026-03-28T01:30:00Z", "2026-03-29T02:00:00+01:00", "2026-03-30T01:30:00+01:00"}},
		{"the skipped hour is midnight", "0 0 * * *", "America/Sao_Paulo", "2018-11-02T12:00:00-03:00",
			[]string{"2018-11-03T00:00:00-03:00", "2018-11-04T01:00:00-02:00", "2018-11-05T00:00:00-02:00"}},
		{"the day before midnight is repeated", "0 0 * * *", "America/Sao_Paulo", "2018-02-17T12:00:00-02:00",
			[]string{"2018-02-18T00:00:00-03:00", "2018-02-19T00:00:00-03:00"}},
		{"the repeated hour is before midnight", "30 23 * * *", "America/Sao_Paulo", "2018-02-17T12:00:00-02:00",
			[]string{"2018-02-17T23:30:00-02:00", "2018-02-18T23:30:00-03:00"}},
		{"fall back", "30 1 * * *", "America/New_York", "2026-10-31T12:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}},
		{"fall back in Lisbon", "30 1 * * *", "Europe/Lisbon", "2026-10-24T12:00:00+01:00",
			[]string{"2026-10-25T01:30:00+01:00", "2026-10-26T01:30:00Z"}},
		{"asked between the two readings", "30 1 * * *", "America/New_York", "2026-11-01T01:10:00-05:00",
			[]string{"2026-11-02T01:30:00-05:00"}},
		{"several slots in the skipped hour are one", "*/20 2 * * *", "America/New_York", "2026-03-08T00:00:00-05:00",
			[]string{"2026-03-08T03:00:00-04:00", "2026-03-09T02:00:00-04:00"}},
		{"every five minutes through the repeated hour", "*/5 * * * *", "America/New_York", "2026-11-01T01:50:00-04:00",
			[]string{"2026-11-01T01:55:00-04:00", "2026-11-01T01:00:00-05:00", "2026-11-01T01:05:00-05:00"}},
		{"every five minutes over the jump", "*/5 * * * *", "America/New_York", "2026-03-08T01:50:00-05:00",
			[]string{"2026-03-08T01:55:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T03:05:00-04:00"}},
		{"at an interval", "@every 90m", "America/New_York", "2026-11-01T00:00:00-04:00",
			[]string{"2026-11-01T01:30:00-04:00", "2026-11-01T02:00:00-05:00"}},
		{"a leap day", "0 3 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"2028-02-29T03:00:00Z", "2032-02-29T03:00:00Z"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			spec, err := batch.ParseSpec(tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			zone := zoneOf(t, tc.zone)
			at := instant(t, tc.after)
			var got []string
			for range tc.want {
				at = batch.NextSlot(spec, zone, at)
				got = append(got, at.In(zone).Format(time.RFC3339))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestP10_EveryDayHasOneSlot in each zone and hour, over a year with both changes.
func TestP10_EveryDayHasOneSlot(t *testing.T) {
	t.Parallel()
	for zoneName, year := range map[string]int{"America/New_York": 2026, "Europe/Lisbon": 2026, "America/Sao_Paulo": 2018, "Australia/Lord_Howe": 2026, "UTC": 2026} {
		zone := zoneOf(t, zoneName)
		for hour := range 24 {
			spec, err := batch.ParseSpec(fmt.Sprintf("30 %d * * *", hour))
			if err != nil {
				t.Fatal(err)
			}
			days := map[string]int{}
			end := time.Date(year+1, 1, 1, 0, 0, 0, 0, zone)
			for at := batch.NextSlot(spec, zone, time.Date(year, 1, 1, 0, 0, 0, -1, zone)); at.Before(end); at = batch.NextSlot(spec, zone, at) {
				days[at.In(zone).Format(time.DateOnly)]++
			}
			for day, n := range days {
				if n != 1 {
					t.Errorf("%s, hour %d: %d slots on %s", zoneName, hour, n, day)
				}
			}
			if len(days) != 365 {
				t.Errorf("%s, hour %d: slots on %d days", zoneName, hour, len(days))
			}
		}
	}
}

// TestSpecsThatNeverFireAreErrors, and none panics.
func TestSpecsThatNeverFireAreErrors(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"CRON_TZ=America/Sao_Paulo", "TZ=", "0 2 31 2 *", "0 2 * * 7", "", "   ", "🌙 2 * * *", "0 2 * *", "* * * * * *", "60 2 * * *", "@every", "@nonsense"} {
		if s, err := batch.ParseSpec(spec); err == nil {
			t.Errorf("%q was taken; next firing %s", spec, s.Next(time.Now()))
		}
	}
	// Where both days are given, cron means either of them.
	spec, err := batch.ParseSpec("0 2 */2 * 1")
	if err != nil {
		t.Fatal(err)
	}
	at := instant(t, "2026-06-01T00:00:00Z")
	var got []string
	for range 5 {
		at = batch.NextSlot(spec, time.UTC, at)
		got = append(got, at.Format("Mon 02"))
	}
	if diff := cmp.Diff([]string{"Mon 01", "Wed 03", "Fri 05", "Sun 07", "Mon 08"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestP10_TwoHostsRunASlotOnce: a hundred slots, both hosts at the same moment.
func TestP10_TwoHostsRunASlotOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const slots = 100
	var runs sync.Map
	s := batch.Schedule{Name: "race", Spec: "*/5 * * * *", Zone: time.UTC, Task: func(_ context.Context, _ pgx.Tx, slot time.Time) (string, error) {
		n, _ := runs.LoadOrStore(slot.UTC(), new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		return "ran", nil
	}}
	first := instant(t, "2026-06-01T00:00:00Z")
	b.slotOnRecord(s.Name, first)
	hosts := []*batch.Engine{b.host(), b.host()}
	for i := range slots {
		now := first.Add(time.Duration(i+1) * 5 * time.Minute)
		barrier := make(chan struct{})
		var both sync.WaitGroup
		for _, h := range hosts {
			both.Go(func() {
				<-barrier
				if err := h.FireDue(context.Background(), s, now); err != nil {
					t.Error(err)
				}
			})
		}
		close(barrier)
		both.Wait()
	}
	seen := 0
	for slot, n := range runs.Range {
		seen++
		if n := n.(*atomic.Int64).Load(); n != 1 {
			t.Errorf("%v ran %d times", slot, n)
		}
	}
	if seen != slots {
		t.Errorf("%d slots ran, want %d", seen, slots)
	}
	if n := scan[int](b, `select count(*) from agenda_disparo where tarefa = 'race' and estado = 'concluido' and detalhe = 'ran'`); n != slots {
		t.Errorf("%d slots on record", n)
	}
}

// TestP10_PanicFailsItsSlotAlone: with its stack on record, and the next tick runs.
func TestP10_PanicFailsItsSlotAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ticks := 0
	s := batch.Schedule{Name: "panics once", Spec: "*/5 * * * *", Zone: time.UTC, Task: func(_ context.Context, tx pgx.Tx, _ time.Time) (string, error) {
		if ticks++; ticks == 1 {
			// What the task wrote before it panicked is undone.
			if _, err := tx.Exec(context.Background(), `insert into comissao (pedido_id, valor_centavos, versao_evento) values ('P', 1, 1)`); err != nil {
				t.Error(err)
			}
			panic("first tick")
		}
		return "ran", nil
	}}
	first := instant(t, "2026-06-01T00:00:00Z")
	b.slotOnRecord(s.Name, first)
	host := b.host()
	for i := range 4 {
		if err := host.FireDue(context.Background(), s, first.Add(time.Duration(i+1)*5*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.slots(s.Name); got != "falhou concluido concluido concluido" {
		t.Errorf("slots: %s", got)
	}
	detail := scan[string](b, `select detalhe from agenda_disparo where tarefa = $1 and estado = 'falhou'`, s.Name)
	if !strings.Contains(detail, "first tick") || !strings.Contains(detail, "schedule_test.go") {
		t.Errorf("detail without reason or stack: %s", detail)
	}
	if n := scan[int](b, `select count(*) from comissao`); n != 0 {
		t.Error("what the panicking task wrote was kept")
	}
}

// TestP10_ClockJumpIsOneCatchUp, not one for each slot that was slept through; past the deadline it is marked missed.
func TestP10_ClockJumpIsOneCatchUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ran := map[string]int{}
	task := func(name string) batch.Task {
		return func(context.Context, pgx.Tx, time.Time) (string, error) { ran[name]++; return "ran", nil }
	}
	first := instant(t, "2026-06-01T00:00:00Z")
	host := b.host()
	for _, s := range []batch.Schedule{
		{Name: "often", Spec: "*/5 * * * *", Zone: time.UTC, Task: task("often")},
		{Name: "nightly", Spec: "0 2 * * *", Zone: time.UTC, Task: task("nightly")},
		{Name: "patient", Spec: "0 2 * * *", Zone: time.UTC, Deadline: 12 * time.Hour, Task: task("patient")},
	} {
		b.slotOnRecord(s.Name, first)
		for range 3 {
			if err := host.FireDue(context.Background(), s, first.Add(6*time.Hour+20*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"often": 1, "patient": 1}, ran); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"often": "perdido concluido", "nightly": "perdido", "patient": "concluido"} {
		if got := b.slots(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := scan[string](b, `select detalhe from agenda_disparo where tarefa = 'patient' and estado = 'concluido' and previsto_para > $1`, first); !strings.Contains(got, "4h0m20s late") {
		t.Errorf("a late run says %q", got)
	}
}

func (b *bench) slotOnRecord(task string, slot time.Time) {
	b.t.Helper()
	b.exec(`insert into agenda_disparo (tarefa, previsto_para, executor, estado) values ($1, $2, 'before', 'concluido')`, task, slot)
}

// slots are the states of a task's slots, in order, without the one that was there before.
func (b *bench) slots(task string) string {
	b.t.Helper()
	return scan[string](b, `select string_agg(estado, ' ' order by previsto_para) from agenda_disparo where tarefa = $1 and executor <> 'before'`, task)
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func zoneOf(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}
