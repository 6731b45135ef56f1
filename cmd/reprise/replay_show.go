package main

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
)

func newReplayShow(a *app) *cobra.Command {
	var failures int
	c := &cobra.Command{
		Use: "show ID", Short: "Show one replay: scope, progress, account, failures", Example: "  reprise replay show fix-14", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			p, err := store.Progress(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			list, err := store.Failures(cmd.Context(), args[0], -1<<62, failures)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), struct {
					batch.Progress
					Failures []batch.Failure
				}{p, list})
			}
			w := cmd.OutOrStdout()
			if p.Replay.Summary == nil {
				fmt.Fprintln(w, printable(progressLine(p)))
			}
			if err := a.printReplay(cmd, p.Replay); err != nil {
				return err
			}
			if p.Replay.Summary == nil {
				printCounters(w, p.Replay, p.Total)
			}
			if len(list) == 0 {
				return nil
			}
			rows := make([][]string, len(list))
			for i, f := range list {
				rows[i] = []string{fmt.Sprint(f.Position), f.EventID, f.OrderID, f.Reason}
			}
			if err := printTable(w, []string{"POSITION", "EVENT", "ORDER", "COULD NOT BE PROCESSED BECAUSE"}, rows); err != nil {
				return err
			}
			return printMore(cmd, len(list), failures, func(ctx ctxType) (batch.Count, error) { return store.FailureCount(ctx, args[0]) })
		},
	}
	c.Flags().IntVar(&failures, "failures", 100, "list at most this many events that could not be processed")
	return c
}

// printReplay prints a replay and its final account.
func (a *app) printReplay(cmd *cobra.Command, r batch.Replay) error {
	if a.json {
		return printJSON(cmd.OutOrStdout(), r)
	}
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s: %s, %s", r.ID, r.Mode, r.State)
	if r.Simulation != "" {
		fmt.Fprintf(w, ", from simulation %s", r.Simulation)
	}
	fmt.Fprintf(w, "; requested by %s", printable(r.RequestedBy))
	if r.ApprovedBy != "" {
		fmt.Fprintf(w, ", approved by %s", printable(r.ApprovedBy))
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "  scope     %s\n", printable(scopeText(r.Scope, a.zone())))
	if r.Holder != "" {
		fmt.Fprintf(w, "  held by   %s since %s\n", printable(r.Holder), instant(r.HolderSince, a.zone()))
	}
	if r.Waiting != "" {
		fmt.Fprintf(w, "  waits     %s\n", printable(r.Waiting))
	}
	if r.Error != "" {
		fmt.Fprintf(w, "  error     %s\n", printable(r.Error))
	}
	s := r.Summary
	if s == nil {
		return nil
	}
	printCounters(w, r, s.Counters)
	fmt.Fprintf(w, "  orders    %s in the diff, %s with another value\n", humanize.Comma(s.Orders), humanize.Comma(s.Changed))
	if s.Late > 0 {
		fmt.Fprintf(w, "  late      %s events became visible behind a checkpoint and were processed\n", humanize.Comma(s.Late))
	}
	if s.GapCount > 0 {
		fmt.Fprintf(w, "  gaps      %s positions are not in the archive: %s\n", humanize.Comma(s.GapCount), gapText(s.Gaps, s.GapCount))
	}
	if s.Elapsed > 0 {
		fmt.Fprintf(w, "  took      %s (%s events/s)\n", s.Elapsed.Round(10*time.Millisecond), humanize.Comma(int64(float64(s.Read)/s.Elapsed.Seconds())))
	}
	for _, m := range s.Missing {
		fmt.Fprintf(w, "  missing   %s\n", printable(m))
	}
	return nil
}

func printCounters(w io.Writer, r batch.Replay, c batch.Counters) {
	n := humanize.Comma
	if r.Mode == batch.Simulate {
		fmt.Fprintf(w, "  events    %s read = %s projected + %s of other types + %s poison\n", n(c.Read), n(c.Written), n(c.Passed), n(c.Poison))
	} else {
		fmt.Fprintf(w, "  events    %s read = %s written + %s already right + %s with a newer version kept + %s of other types + %s poison\n",
			n(c.Read), n(c.Written), n(c.Unchanged), n(c.Newer), n(c.Passed), n(c.Poison))
	}
	if c.OtherMode > 0 {
		fmt.Fprintf(w, "  cents     %s events give another value in the other arithmetic (IEEE against exact)\n", n(c.OtherMode))
	}
	done := "applied"
	if r.Mode == batch.Simulate {
		done = "would be applied"
	}
	for _, kind := range kinds(c) {
		e := c.Effects[kind]
		parts := []string{fmt.Sprintf("%s %s", n(e.Applied), done), fmt.Sprintf("%s registered before", n(e.Registered))}
		for _, p := range []struct {
			n    int64
			text string
		}{{e.Uncertain, "uncertain"}, {e.Refused, "refused by the provider"}, {e.Suppressed, "suppressed"}, {e.Superseded, "not wanted after a newer version"}, {e.Pending, "pending"}} {
			if p.n > 0 {
				parts = append(parts, fmt.Sprintf("%s %s", n(p.n), p.text))
			}
		}
		fmt.Fprintf(w, "  effects   %s: %s\n", printable(kind), strings.Join(parts, ", "))
		if e.Differs > 0 {
			fmt.Fprintf(w, "            %s of them went out with another content (told otherwise)\n", n(e.Differs))
		}
	}
}

func kinds(c batch.Counters) []string {
	names := make([]string, 0, len(c.Effects))
	for k := range c.Effects {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}

func scopeText(s batch.Scope, def *time.Location) string {
	var parts []string
	if s.From != nil {
		zone, err := time.LoadLocation(s.Zone)
		if err != nil || s.Zone == "" {
			zone = def
		}
		parts = append(parts, fmt.Sprintf("%s to %s (UTC %s to %s)", instant(s.From, zone), instant(s.To, zone),
			s.From.UTC().Format(time.RFC3339), s.To.UTC().Format(time.RFC3339)))
	}
	if s.FirstPos != nil {
		parts = append(parts, fmt.Sprintf("positions %d to %d", *s.FirstPos, *s.LastPos))
	}
	if len(s.Types) > 0 {
		parts = append(parts, "types "+strings.Join(s.Types, ", "))
	}
	if len(s.Orders) > 0 {
		parts = append(parts, "orders "+strings.Join(s.Orders, ", "))
	}
	return strings.Join(parts, "; ")
}

func gapText(gaps []batch.Gap, all int64) string {
	var parts []string
	var listed int64
	for _, g := range gaps {
		listed += g.Last - g.First + 1
		if g.First == g.Last {
			parts = append(parts, fmt.Sprint(g.First))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", g.First, g.Last))
		}
	}
	if listed < all {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}
