package main

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
)

func newReplayRun(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "run ID",
		Short: "Work one replay here, in the foreground, with progress",
		Long: "Works a queued replay, or carries on one that was interrupted or ended partial, and holds it for itself meanwhile: if another process " +
			"works it, this says who and since when, and exits with 4. Ctrl-C ends it after the calls in flight; what was done stays done, and running it again carries on.",
		Example: "  reprise replay run fix-14",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			engine, err := a.engine(cmd.Context())
			if err != nil {
				return err
			}
			line := newStatusLine()
			r, err := engine.RunReplay(cmd.Context(), args[0], func(p batch.Progress) { line.show(progressLine(p)) })
			line.done()
			if err != nil {
				return err
			}
			if err := a.printReplay(cmd, r); err != nil {
				return err
			}
			return replayExit(r)
		},
	}
}

// replayExit turns how a replay ended into an exit code; the reason was printed.
func replayExit(r batch.Replay) error {
	switch r.State {
	case batch.Partial:
		return silent(exitPartial)
	case batch.Failed:
		return silent(exitError)
	case batch.Paused, batch.Cancelled:
		return silent(exitRefused)
	}
	return nil
}

// stages are what a running apply is said to do.
var stages = map[batch.Stage]string{
	batch.Projecting: "projecting", batch.Writing: "writing state", batch.Working: "effects",
}

func progressLine(p batch.Progress) string {
	done := 0
	for _, part := range p.Partitions {
		if part.Done {
			done++
		}
	}
	share := "-"
	if p.StageAll > 0 {
		share = fmt.Sprintf("%.0f%%", min(100, 100*float64(p.StageDone)/float64(p.StageAll)))
	}
	line := fmt.Sprintf("%s %s", p.Replay.ID, p.Replay.State)
	if p.Replay.Mode == batch.Apply && p.Replay.State == batch.Running {
		line += ", " + stages[p.Stage]
	}
	unit := "events"
	if p.Stage == batch.Writing {
		unit = "parts"
	}
	line += fmt.Sprintf(" %s  %s of %s %s  partitions %d/%d", share, humanize.Comma(p.StageDone), humanize.Comma(p.StageAll), unit, done, len(p.Partitions))
	for _, kind := range kinds(p.Total) {
		e := p.Total.Effects[kind]
		line += fmt.Sprintf("  %s: %s applied, %s registered, %s uncertain", kind, humanize.Comma(e.Applied), humanize.Comma(e.Registered), humanize.Comma(e.Uncertain))
	}
	if p.Replay.Waiting != "" {
		line += "  waits: " + p.Replay.Waiting
	}
	return line
}
