package main

import (
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

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

func kinds(c batch.Counters) []string {
	names := make([]string, 0, len(c.Effects))
	for k := range c.Effects {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}

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
			return printTable(w, []string{"POSITION", "EVENT", "ORDER", "COULD NOT BE PROCESSED BECAUSE"}, rows)
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

func newReplayDiff(a *app) *cobra.Command {
	var (
		q            batch.DiffQuery
		sort, export string
		told, totals bool
	)
	c := &cobra.Command{
		Use: "diff ID", Short: "Show or export what a replay changes, or would change", Args: cobra.ExactArgs(1),
		Example: "  reprise replay diff simular-14 --sort delta --desc --limit 20\n  reprise replay diff simular-14 --export csv > diff.csv\n  reprise replay diff simular-14 --told-otherwise",
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			ctx, w := cmd.Context(), cmd.OutOrStdout()
			if _, err := store.Replay(ctx, args[0]); err != nil {
				return err
			}
			q.Execution, q.Sort = args[0], batch.DiffSort(sort)
			switch {
			case export != "":
				return store.ExportDiff(ctx, args[0], export, w)
			case told:
				return a.printDivergences(cmd, store, args[0], q.Limit)
			}
			t, err := store.DiffTotals(ctx, args[0])
			if err != nil {
				return err
			}
			var page []batch.DiffRow
			if !totals {
				if page, err = store.Diff(ctx, q); err != nil {
					return err
				}
			}
			if a.json {
				return printJSON(w, struct {
					Totals batch.DiffTotals
					Rows   []batch.DiffRow
				}{t, page})
			}
			rows := make([][]string, len(page))
			for i, r := range page {
				rows[i] = []string{r.OrderID, cents(r.Before), cents(&r.After), r.Delta(), versionText(r.BeforeVersion), versionText(r.AfterVersion)}
			}
			if !totals {
				if err := printTable(w, []string{"ORDER", "BEFORE", "AFTER", "DELTA", "VERSION", "NEW VERSION"}, rows); err != nil {
					return err
				}
			}
			fmt.Fprintf(w, "changed %s orders, from %s to %s cents; new %s orders, %s cents; unchanged %s\n",
				humanize.Comma(t.Changed), t.ChangedBefore, t.ChangedAfter, humanize.Comma(t.New), t.NewAfter, humanize.Comma(t.Same))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&sort, "sort", string(batch.ByOrder), "pedido, delta, percentual, antes, depois or versao")
	f.BoolVar(&q.Descending, "desc", false, "largest first")
	f.StringVar(&q.Prefix, "prefix", "", "only orders that begin with this")
	f.BoolVar(&q.NewOnly, "new", false, "only orders that had no value")
	f.BoolVar(&q.ChangedOnly, "changed", false, "only orders whose value differs")
	f.IntVar(&q.Limit, "limit", 50, "at most this many rows")
	f.StringVar(&export, "export", "", "write the whole diff as csv or json (an object a line)")
	f.BoolVar(&told, "told-otherwise", false, "list the effects that already went out with another content")
	f.BoolVar(&totals, "totals", false, "only the totals")
	return c
}

func cents(n *int64) string {
	if n == nil {
		return "—"
	}
	return fmt.Sprint(*n)
}

func versionText(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func (a *app) printDivergences(cmd *cobra.Command, store *batch.Store, id string, limit int) error {
	list, err := store.Divergences(cmd.Context(), id, "", limit)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(cmd.OutOrStdout(), list)
	}
	rows := make([][]string, len(list))
	for i, d := range list {
		rows[i] = []string{d.Key, d.OrderID, d.Sent, d.WouldSend}
	}
	return printTable(cmd.OutOrStdout(), []string{"EFFECT", "ORDER", "WENT OUT", "WOULD GO OUT NOW"}, rows)
}

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
	c.Flags().StringVar(&newID, "id", "", "name of the apply (default: the simulation's with -aplicar)")
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

func newReplayRevert(a *app) *cobra.Command {
	var confirm string
	c := &cobra.Command{
		Use: "revert ID", Short: "Undo the state that an apply wrote and nobody overwrote since; effects cannot be undone", Args: cobra.ExactArgs(1),
		Example: "  reprise replay revert fix-14 --confirm fix-14",
		RunE: func(cmd *cobra.Command, args []string) error {
			if confirm != args[0] {
				return usageError{errors.New("revert changes state: repeat the replay's id with --confirm")}
			}
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			reverted, left, err := store.Revert(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), map[string]int64{"reverted": reverted, "left": left})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s orders are as before %s; %s were changed by others since and stay as they are\n", humanize.Comma(reverted), args[0], humanize.Comma(left))
			return nil
		},
	}
	c.Flags().StringVar(&confirm, "confirm", "", "the replay's id, once more")
	return c
}
