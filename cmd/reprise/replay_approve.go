package main

import (
	"fmt"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
)

func newReplayApprove(a *app) *cobra.Command {
	var newID string
	var dry bool
	c := &cobra.Command{
		Use: "approve ID", Short: "Turn a finished simulation into an apply of exactly the same scope and policy", Args: cobra.ExactArgs(1),
		Long:    "Queues an apply of the simulation's scope and policy. What moved since the simulation (state, events, policy, program version) is printed. With four-eyes on, whoever requested the simulation cannot approve it.",
		Example: "  reprise replay approve simular-14 --id fix-14",
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			p, err := a.approvalPreview(cmd.Context(), store, args[0], newID)
			if err != nil {
				return err
			}
			if dry {
				if a.json {
					return printJSON(cmd.OutOrStdout(), p)
				}
				printApproval(cmd.OutOrStdout(), p)
				return nil
			}
			r, err := store.Approve(cmd.Context(), args[0], newID)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), r)
			}
			printApproval(cmd.OutOrStdout(), p)
			fmt.Fprintf(cmd.OutOrStdout(), "queued %s; a running \"reprise run\" takes it up, or work it here: reprise replay run %s\n", r.ID, r.ID)
			return nil
		},
	}
	c.Flags().StringVar(&newID, "id", "", "name of the apply (default: the simulation's, with aplicar- in place of simular-)")
	c.Flags().BoolVar(&dry, "dry-run", false, "print what would happen and queue nothing")
	return c
}

func printApproval(w io.Writer, p batch.ApprovalPreview) {
	fmt.Fprintf(w, "apply    %s, from %s\n", p.NewID, p.Simulation.ID)
	fmt.Fprintf(w, "state    %s orders change, %s are new\n", humanize.Comma(p.Totals.Changed), humanize.Comma(p.Totals.New))
	for kind, e := range p.Effects {
		rule := p.Rules[kind]
		fmt.Fprintf(w, "effects  %s: %s to provider %s, %s registered before stay as they are\n",
			printable(kind), humanize.Comma(e.Applied), printable(rule.Provider), humanize.Comma(e.Registered))
	}
	if p.Hours != "" {
		fmt.Fprintf(w, "sending  only %s; outside these hours effects wait\n", p.Hours)
	}
	for _, d := range p.Drift {
		fmt.Fprintf(w, "drift    %s\n", printable(d))
	}
}
