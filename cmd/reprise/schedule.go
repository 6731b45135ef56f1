package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
)

func newSchedule(a *app) *cobra.Command {
	c := &cobra.Command{Use: "schedule", Short: "What fires when, what fired, and run now"}
	c.AddCommand(newScheduleList(a), newScheduleRun(a))
	return c
}

func newScheduleList(a *app) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List the next firings, the running processes, and the latest slots with what they did", Example: "  reprise schedule list --limit 20", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			slots, err := store.Firings(cmd.Context(), limit, nil)
			if err != nil {
				return err
			}
			hosts, err := store.Hosts(cmd.Context())
			if err != nil {
				return err
			}
			next := a.config.NextFirings(time.Now())
			w := cmd.OutOrStdout()
			if a.json {
				return printJSON(w, map[string]any{"next": next, "hosts": hosts, "slots": slots})
			}
			for _, n := range next {
				fmt.Fprintf(w, "next  %s  %s (%s)\n", instant(&n.Next, a.zone()), printable(n.Task), printable(n.Spec))
			}
			for _, h := range hosts {
				fmt.Fprintf(w, "host  %s, %s, pid %d, version %s, seen %s\n", printable(h.Machine), printable(h.Role), h.PID, printable(h.Version), instant(&h.SeenAt, a.zone()))
			}
			if len(slots) == 0 {
				fmt.Fprintln(w, "no slot fired yet")
				return nil
			}
			rows := make([][]string, len(slots))
			for i, f := range slots {
				rows[i] = []string{instant(&f.Slot, a.zone()), f.Task, f.State, f.Host, instant(f.FinishedAt, a.zone()), f.Detail}
			}
			if err := printTable(w, []string{"SLOT", "TASK", "STATE", "BY", "ENDED", "WHAT IT DID"}, rows); err != nil {
				return err
			}
			return printMore(cmd, len(slots), limit, store.FiringCount)
		},
	}
	c.Flags().IntVar(&limit, "limit", 20, "at most this many slots")
	return c
}

func newScheduleRun(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "run NAME", Short: "Run a schedule's task now; refused while it is at work", Example: "  reprise schedule run varredura", Args: cobra.ExactArgs(1),
		Long: "Does what the schedule does, at once: the slot that is due and that nobody ran, or one of its own. A sweep is done by a running \"reprise run\". " +
			"While the task is at work, by schedule or by hand, this says who has it and exits with 4.",
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			f, err := a.runNow(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), f)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s %s\n", printable(f.Task), f.State, printable(f.Detail))
			return nil
		},
	}
}

// runNow sets a configured schedule's task going.
func (a *app) runNow(ctx context.Context, store *batch.Store, task string) (batch.Firing, error) {
	for _, s := range a.config.OpenSchedules(store) {
		if s.Name != task {
			continue
		}
		by, err := a.person(ctx)
		if err != nil {
			return batch.Firing{}, err
		}
		return store.RunNow(ctx, s, by)
	}
	return batch.Firing{}, fmt.Errorf("schedule %q is not in the configuration: %w", task, batch.ErrUsage)
}

// person names who commands, as a slot's row shows it: the database role, and this machine.
func (a *app) person(ctx context.Context) (role string, err error) {
	if err := a.pool.QueryRow(ctx, `select session_user`).Scan(&role); err != nil {
		return "", err
	}
	if host, err := os.Hostname(); err == nil {
		role += "@" + host
	}
	return role, nil
}
