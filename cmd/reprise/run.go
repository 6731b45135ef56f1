package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
)

func newRun(a *app) *cobra.Command {
	var once bool
	c := &cobra.Command{
		Use:   "run",
		Short: "The batch runner: work the queue, sweep and fire schedules; --once for one pass",
		Long: "Runs until it is told to stop, beside any number of others on any hosts. On SIGTERM it ends after the calls in flight; other runners carry on.\n" +
			"With --once it sweeps, re-sends what reviewers allowed, works the queue until nothing is left that can be worked now, and says on one screen what happened: " +
			"made for a system cron or a systemd timer. It needs no terminal, no standard input and no environment but the database's URL.",
		Example: "  reprise run\n  */10 * * * * reprise run --once --config /etc/reprise.toml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			engine, err := a.engine(cmd.Context())
			if err != nil {
				return err
			}
			if !once {
				schedules := a.config.OpenSchedules(engine.Store)
				stop, err := a.serveMetrics(engine)
				if err != nil {
					return err
				}
				defer stop()
				a.log.Info("runner started", "host", engine.Host(), "schedules", len(schedules))
				err = engine.RunDaemon(cmd.Context(), schedules)
				a.log.Info("runner stopped")
				return err
			}
			report, err := engine.RunOnce(cmd.Context())
			if err != nil {
				return err
			}
			return a.printOnce(cmd, report)
		},
	}
	c.Flags().BoolVar(&once, "once", false, "one pass, then exit")
	return c
}

func (a *app) printOnce(cmd *cobra.Command, report batch.OnceReport) error {
	partial := len(report.Waiting) > 0
	for _, r := range report.Replays {
		partial = partial || r.State != batch.Done
	}
	for _, n := range report.Sweep.Uncertain {
		partial = partial || n > 0
	}
	if a.json {
		if err := printJSON(cmd.OutOrStdout(), report); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(cmd.OutOrStdout(), "sweep: %s\n", report.Sweep)
		if err := a.printSweepDetails(cmd, report.Sweep); err != nil {
			return err
		}
		if len(report.Replays)+len(report.Waiting) == 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "replays: nothing was queued")
		}
		for _, r := range append(report.Replays, report.Waiting...) {
			if err := a.printReplay(cmd, r); err != nil {
				return err
			}
		}
	}
	if partial {
		return silent(exitPartial)
	}
	return nil
}

func newSweep(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "sweep",
		Short: "One sweep: settle abandoned reservations, ask providers about uncertain effects",
		Long: "Looks at every reservation older than the sweep age. For a provider that does not deduplicate it becomes uncertain and goes to review; for one that does, " +
			"inside its window, the effect is brought to its end from the archived event. Kinds that this host has no policy for are left alone and listed.",
		Example: "  reprise sweep --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			engine, err := a.engine(cmd.Context())
			if err != nil {
				return err
			}
			report, err := engine.Sweep(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), report)
			}
			fmt.Fprintln(cmd.OutOrStdout(), report)
			return a.printSweepDetails(cmd, report)
		},
	}
}

func (a *app) printSweepDetails(cmd *cobra.Command, r batch.SweepReport) error {
	for reason, n := range r.Uncertain {
		fmt.Fprintf(cmd.OutOrStdout(), "  %d to review: %s\n", n, printable(reason))
	}
	for kind, n := range r.Unknown {
		fmt.Fprintf(cmd.OutOrStdout(), "  %d left alone: this host has no policy for effects of kind %s\n", n, printable(kind))
	}
	if r.Waiting != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "  left over because: %s\n", printable(r.Waiting))
	}
	return nil
}
