package batch

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// RunNow sets a schedule's task going at once: the slot that is due and that nobody ran, if there is one, else one of
// its own. While the task is at work, whoever set it going, it is [ErrHeld] and says who that is. by names who asks.
func (s *Store) RunNow(ctx context.Context, schedule Schedule, by string) (Firing, error) {
	spec, err := ParseSpec(schedule.Spec)
	if err != nil {
		return Firing{}, fmt.Errorf(refuseRunNow, schedule.Name, fmt.Errorf("%w: %w", ErrUsage, err))
	}
	f := Firing{Task: schedule.Name, State: "executando", Host: by}
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		// A slot that somebody is claiming right now is waited for, and seen.
		if _, err := tx.Exec(ctx, `lock table agenda_disparo in share row exclusive mode`); err != nil {
			return err
		}
		holder, since, busy, err := atWork(ctx, tx, f.Task, time.Time{})
		if err != nil {
			return err
		}
		if busy {
			return fmt.Errorf(becauseAtWork, holder, since.In(schedule.Zone).Format("15:04:05 MST"), ErrHeld)
		}
		var last *time.Time
		var now time.Time
		err = tx.QueryRow(ctx, `
			select (select max(previsto_para) from agenda_disparo where tarefa = $1), clock_timestamp()`, f.Task).Scan(&last, &now)
		if err != nil {
			return err
		}
		f.Slot = now
		if last != nil {
			if due := dueSlots(spec, schedule.Zone, *last, now); len(due) > 0 {
				f.Slot = due[len(due)-1]
			}
		}
		if _, err := tx.Exec(ctx, claimSlotSQL, f.Task, f.Slot, by, "executando", ""); err != nil {
			return err
		}
		if f.Detail, err = runTask(ctx, schedule.Task, tx, f.Slot); err != nil {
			return err
		}
		if f.Detail == sweepTask { // the job writes how it ended
			f.Detail = ""
			return nil
		}
		f.State = "concluido"
		_, err = tx.Exec(ctx, `
			update agenda_disparo set estado = $3, detalhe = nullif($4, ''), terminado_em = clock_timestamp()
			where tarefa = $1 and previsto_para = $2`, f.Task, f.Slot, f.State, f.Detail)
		return err
	})
	if err != nil {
		return Firing{}, fmt.Errorf(refuseRunNow, schedule.Name, err)
	}
	return f, nil
}
