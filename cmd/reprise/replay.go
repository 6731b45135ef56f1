package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
)

func newReplay(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "replay",
		Short: "Queue, watch and command replays",
	}
	c.AddCommand(newReplayQueue(a), newReplayList(a), newReplayShow(a), newReplayRun(a), newReplayDiff(a), newReplayApprove(a), newReplayRevert(a),
		a.replayCommand("pause", "Stop a replay after the calls in flight; it keeps its checkpoints", (*batch.Store).Pause),
		a.replayCommand("cancel", "End a replay for good; what it did stays done", (*batch.Store).Cancel),
		newReplayResume(a))
	return c
}

func newReplayQueue(a *app) *cobra.Command {
	var (
		q                   batch.Request
		from, to, positions string
		simulate, apply     bool
		zone                string
		dry                 bool
	)
	c := &cobra.Command{
		Use:   "queue",
		Short: "Queue a replay of a window or of positions; a simulation unless --apply",
		Long: "Queues a replay. The window is half-open: --from is part of it, --to is not. A day alone means its midnight in --zone. " +
			"The window is printed as UTC instants, with the number of events and the effects at stake. A simulation changes nothing and calls no provider.",
		Example: "  reprise replay queue --from 2026-10-14 --to 2026-10-15 --zone America/Sao_Paulo\n" +
			"  reprise replay queue --id fix-14 --positions 1000:2000 --type pedido.pago --apply",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if simulate && apply {
				return usageError{fmt.Errorf("--simulate and --apply exclude each other")}
			}
			if apply {
				q.Mode = batch.Apply
			}
			if err := parseScope(&q.Scope, from, to, positions, zone, a.zone()); err != nil {
				return usageError{err}
			}
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			p, err := store.Preview(cmd.Context(), q)
			if err != nil {
				return err
			}
			if dry {
				return a.printPreview(cmd, p)
			}
			r, err := store.Queue(cmd.Context(), p.Request)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), r)
			}
			if err := a.printPreview(cmd, p); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "queued %s; a running \"reprise run\" takes it up, or work it here: reprise replay run %s\n", r.ID, r.ID)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&q.ID, "id", "", "name of the replay (default: made from mode and scope)")
	f.StringVar(&from, "from", "", "begin of the window, part of it: a day, a local time or an instant with offset")
	f.StringVar(&to, "to", "", "end of the window, not part of it")
	f.StringVar(&zone, "zone", "", "time zone of --from and --to, e.g. America/Sao_Paulo (default: the configured one)")
	f.StringVar(&positions, "positions", "", "closed range of positions A:B")
	f.StringSliceVar(&q.Scope.Types, "type", nil, "only events of this type (may be repeated)")
	f.StringSliceVar(&q.Scope.Orders, "order", nil, "only events of this order (may be repeated)")
	f.BoolVar(&simulate, "simulate", false, "compute the diff and count effects, change nothing (the default)")
	f.BoolVar(&apply, "apply", false, "write state and bring effects about")
	f.IntVar(&q.Partitions, "partitions", 0, fmt.Sprintf("parts that are worked in parallel (default %d)", batch.DefaultPartitions))
	f.Int64Var(&q.Limits.Effects, "limit-effects", 0, "stop after exactly this many effects (0: no limit)")
	f.IntVar(&q.Priority, "priority", 0, "1 goes first, 4 last (default 2)")
	f.StringVar(&q.Handler, "handler", "", "which handler (default: the one that takes the events)")
	f.BoolVar(&dry, "dry-run", false, "print what it would take and queue nothing")
	return c
}

// parseScope reads a scope as people write it.
func parseScope(s *batch.Scope, from, to, positions, zone string, def *time.Location) error {
	loc := def
	if zone != "" {
		var err error
		if loc, err = time.LoadLocation(zone); err != nil {
			return fmt.Errorf("--zone %q is not a time zone of this system (write it like America/Sao_Paulo)", zone)
		}
	}
	for _, end := range []struct {
		flag, text string
		to         **time.Time
	}{{"--from", from, &s.From}, {"--to", to, &s.To}} {
		if end.text == "" {
			continue
		}
		t, err := parseInstant(end.text, loc)
		if err != nil {
			return fmt.Errorf("%s: %w", end.flag, err)
		}
		*end.to = &t
	}
	if s.From != nil || s.To != nil {
		s.Zone = loc.String()
	}
	if positions != "" {
		a, b, ok := strings.Cut(positions, ":")
		first, err1 := strconv.ParseInt(a, 10, 64)
		last, err2 := strconv.ParseInt(b, 10, 64)
		if !ok || err1 != nil || err2 != nil {
			return fmt.Errorf("--positions %q: write A:B, both positions of the log", positions)
		}
		s.FirstPos, s.LastPos = &first, &last
	}
	return nil
}

// parseInstant reads a day, a local time or an instant with its offset. A local time that a clock change skips or
// repeats is refused: only an offset says which instant is meant.
func parseInstant(text string, loc *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04:05.999999", "2006-01-02 15:04:05.999999"} {
		t, err := time.ParseInLocation(layout, text, loc)
		if err != nil {
			continue
		}
		if layout != "2006-01-02" && (t.Format(layout) != text || ambiguous(t, loc)) {
			return t, fmt.Errorf("%q does not name one instant in %s (the clocks change): write it with its offset, like 2026-10-14T02:30:00-03:00", text, loc)
		}
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write 2026-10-14, 2026-10-14T09:30 or 2026-10-14T09:30:00-03:00", text)
}

func ambiguous(t time.Time, loc *time.Location) bool {
	const layout = "2006-01-02T15:04:05.999999999"
	for _, d := range []time.Duration{-time.Hour, time.Hour, -30 * time.Minute, 30 * time.Minute} {
		if t.Add(d).In(loc).Format(layout) == t.Format(layout) {
			return true
		}
	}
	return false
}

func (a *app) printPreview(cmd *cobra.Command, p batch.Preview) error {
	if a.json {
		return printJSON(cmd.OutOrStdout(), p)
	}
	w := cmd.OutOrStdout()
	what := "simulate: nothing is changed, no provider is called"
	if p.Request.Mode == batch.Apply {
		what = "APPLY: state is written and effects are brought about"
	}
	fmt.Fprintf(w, "replay   %s (%s)\n", p.Request.ID, what)
	if p.UTCFrom != nil {
		zone, err := time.LoadLocation(p.Request.Scope.Zone)
		if err != nil {
			zone = time.UTC
		}
		fmt.Fprintf(w, "window   %s to %s, end not included\n", instant(p.UTCFrom, zone), instant(p.UTCTo, zone))
		fmt.Fprintf(w, "as UTC   %s to %s\n", p.UTCFrom.Format(time.RFC3339Nano), p.UTCTo.Format(time.RFC3339Nano))
	}
	fmt.Fprintf(w, "events   %d of %d orders", p.Events, p.Orders)
	if p.Events > 0 {
		fmt.Fprintf(w, ", positions %d to %d", p.First, p.Last)
	}
	fmt.Fprintln(w)
	for _, k := range p.Kinds {
		fmt.Fprintf(w, "effects  %s: %s, at most %d, of which %d are in the ledger (%d uncertain); on failure %s\n",
			printable(k.Kind), k.Rule.Mode, k.Wanted, k.Registered, k.Uncertain, k.Rule.OnFailure)
	}
	for _, o := range p.Overlaps {
		fmt.Fprintf(w, "waits    %s works some of these positions now\n", printable(o))
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "warning  %s\n", printable(warning))
	}
	return nil
}

func newReplayList(a *app) *cobra.Command {
	var q batch.ReplayQuery
	c := &cobra.Command{
		Use: "list", Short: "List replays, newest first", Example: "  reprise replay list --limit 20 --text 2026-10-14", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			list, err := store.Replays(cmd.Context(), q)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), list)
			}
			rows := make([][]string, len(list))
			for i, r := range list {
				events := "-"
				if r.Events != nil {
					events = strconv.FormatInt(*r.Events, 10)
				}
				rows[i] = []string{r.ID, string(r.Mode), string(r.State), events, instant(&r.CreatedAt, a.zone()), r.RequestedBy, r.Waiting}
			}
			if err := printTable(cmd.OutOrStdout(), []string{"ID", "MODE", "STATE", "EVENTS", "QUEUED", "BY", "WAITS FOR"}, rows); err != nil {
				return err
			}
			return printMore(cmd, len(list), q.Limit, func(ctx ctxType) (batch.Count, error) { return store.ReplayCount(ctx, q) })
		},
	}
	c.Flags().IntVar(&q.Limit, "limit", 50, "at most this many")
	c.Flags().StringVar(&q.Text, "text", "", "only those with this in their id, state or mode, or in the name of who requested or approved them")
	return c
}

func (a *app) replayCommand(verb, short string, do func(*batch.Store, ctxType, string) (batch.Replay, error)) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ID", Short: short, Example: "  reprise replay " + verb + " fix-14", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			r, err := do(store, cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), r)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s\n", r.ID, r.State)
			return nil
		},
	}
}

func newReplayResume(a *app) *cobra.Command {
	var limit int64
	c := &cobra.Command{
		Use: "resume ID", Short: "Carry on a replay that was paused, or that ended partial or failed", Args: cobra.ExactArgs(1),
		Example: "  reprise replay resume fix-14\n  reprise replay resume fix-14 --limit-effects 0",
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			var limits *batch.Limits
			if cmd.Flags().Changed("limit-effects") {
				limits = &batch.Limits{Effects: limit}
			}
			r, err := store.Resume(cmd.Context(), args[0], limits)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), r)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is %s; a running \"reprise run\" takes it up, or work it here: reprise replay run %s\n", r.ID, r.State, r.ID)
			return nil
		},
	}
	c.Flags().Int64Var(&limit, "limit-effects", 0, "replace the limit that it stopped at (0: no limit)")
	return c
}
