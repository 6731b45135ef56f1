package main

import (
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise.dev/reprise/ledger"
)

func newReview(a *app) *cobra.Command {
	c := &cobra.Command{Use: "review", Short: "Triage effects that only a person can settle"}
	c.AddCommand(newReviewList(a), newReviewShow(a), newReviewDecide(a))
	return c
}

func newReviewList(a *app) *cobra.Command {
	var q ledger.UncertainQuery
	var counts bool
	c := &cobra.Command{
		Use: "list", Short: "List uncertain effects, oldest first", Example: "  reprise review list --kind notificar-vendedor --reason sem-resposta", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.ledger(cmd.Context())
			if err != nil {
				return err
			}
			if counts {
				return a.printCounts(cmd, l, q)
			}
			list, err := l.Uncertain(cmd.Context(), q)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), list)
			}
			rows := make([][]string, len(list))
			for i, e := range list {
				rows[i] = []string{e.Key, e.Reason, e.Execution, fmt.Sprint(e.Attempts), instant(&e.Since, a.zone()), decidable(e), string(e.Content)}
			}
			if len(rows) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "the review queue is empty")
				return nil
			}
			return printTable(cmd.OutOrStdout(), []string{"EFFECT", "REASON", "RUN", "ATTEMPTS", "SINCE", "DECIDABLE", "CONTENT"}, rows)
		},
	}
	f := c.Flags()
	f.StringVar(&q.Kind, "kind", "", "only this kind of effect")
	f.StringVar(&q.Reason, "reason", "", "only this reason")
	f.StringVar(&q.Execution, "run", "", "only effects of this run")
	f.StringVar(&q.Text, "text", "", "only keys that contain this")
	f.IntVar(&q.Limit, "limit", 100, "at most this many")
	f.BoolVar(&counts, "counts", false, "count all that matches, by kind and reason")
	return c
}

func (a *app) printCounts(cmd *cobra.Command, l *ledger.Ledger, q ledger.UncertainQuery) error {
	list, err := l.UncertainCounts(cmd.Context(), q)
	if err != nil {
		return err
	}
	if a.json {
		return printJSON(cmd.OutOrStdout(), list)
	}
	rows := make([][]string, len(list))
	for i, c := range list {
		rows[i] = []string{c.Kind, c.Reason, fmt.Sprint(c.Effects), instant(&c.Oldest, a.zone())}
	}
	return printTable(cmd.OutOrStdout(), []string{"KIND", "REASON", "EFFECTS", "OLDEST"}, rows)
}

func decidable(e ledger.UncertainEffect) string {
	if e.QuarantineLeft > 0 {
		return "in " + e.QuarantineLeft.Round(time.Second).String()
	}
	return "now"
}

func newReviewShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show EFFECT", Short: "Show one effect with its evidence: event, content, attempts, decisions", Example: "  reprise review show ev-17:notificar-vendedor", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.ledger(cmd.Context())
			if err != nil {
				return err
			}
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			ctx, key := cmd.Context(), args[0]
			e, found, err := l.UncertainByKey(ctx, key)
			if err != nil {
				return err
			}
			occurrences, err := l.Occurrences(ctx, key)
			if err != nil {
				return err
			}
			decisions, err := l.Decisions(ctx, key)
			if err != nil {
				return err
			}
			eventID, _, _ := ledger.SplitKey(key)
			event, eventErr := store.Event(ctx, eventID)
			if a.json {
				return printJSON(cmd.OutOrStdout(), map[string]any{"uncertain": found, "effect": e, "event": event, "occurrences": occurrences, "decisions": decisions})
			}
			w := cmd.OutOrStdout()
			if found {
				fmt.Fprintf(w, "%s is uncertain since %s: %s\n", printable(key), instant(&e.Since, a.zone()), printable(e.Reason))
				fmt.Fprintf(w, "  row version  %s (for --seen)\n", e.Version.UTC().Format(time.RFC3339Nano))
				fmt.Fprintf(w, "  decidable    %s\n  run          %s, %d attempts, on failure %s\n", decidable(e), printable(e.Execution), e.Attempts, e.OnFailure)
				fmt.Fprintf(w, "  to be sent   %s\n", printable(string(e.Content)))
			} else {
				fmt.Fprintf(w, "%s is not uncertain\n", printable(key))
			}
			if eventErr == nil {
				fmt.Fprintf(w, "  event        position %d, %s, order %s version %d, %s\n  payload      %s\n", event.Position, printable(event.Type), printable(event.OrderID), event.Version,
					instant(&event.OccurredAt, a.zone()), printable(string(event.Payload)))
			} else {
				fmt.Fprintf(w, "  event        %s\n", printable(eventErr.Error()))
			}
			for _, o := range occurrences {
				fmt.Fprintf(w, "  %s  %s %s %s\n", instant(&o.At, a.zone()), printable(o.Kind), printable(o.Text), printable(string(o.Answer)))
			}
			for _, d := range decisions {
				fmt.Fprintf(w, "  %s  %s decided %s: %s (%s)\n", instant(&d.At, a.zone()), printable(d.Reviewer), d.Verdict, printable(d.Note), printable(d.Origin))
			}
			return nil
		},
	}
}

func newReviewDecide(a *app) *cobra.Command {
	var d ledger.Decision
	var seen string
	c := &cobra.Command{
		Use:   "decide EFFECT confirm|resend|discard",
		Short: "Settle one uncertain effect, with a note",
		Long: "confirm: it went out, nothing is sent. resend: it did not, the runner sends it once more. discard: it must not go out any more.\n" +
			"The decision applies to the row that was seen: with --seen it is refused if the row changed since; without, to the row as it is now. " +
			"A row can be decided only when no call can still be alive; --force decides earlier and is recorded: a call in flight may then be repeated.",
		Example: "  reprise review decide ev-17:notificar-vendedor confirm --note \"seller shows the message\"",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			verdict, ok := map[string]ledger.Verdict{
				"confirm": ledger.Confirm, "resend": ledger.Resend, "discard": ledger.Discard,
				string(ledger.Confirm): ledger.Confirm, string(ledger.Resend): ledger.Resend, string(ledger.Discard): ledger.Discard,
			}[args[1]]
			if !ok {
				return usageError{fmt.Errorf("decision %q: confirm, resend or discard", args[1])}
			}
			d.Key, d.Verdict, d.Origin = args[0], verdict, origin(a.version)
			l, err := a.ledger(cmd.Context())
			if err != nil {
				return err
			}
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			if seen != "" {
				if d.Seen, err = time.Parse(time.RFC3339Nano, seen); err != nil {
					return usageError{fmt.Errorf("--seen %q: the row version that review show prints", seen)}
				}
			} else {
				e, _, err := l.UncertainByKey(cmd.Context(), d.Key)
				if err != nil {
					return err
				}
				d.Seen = e.Version // of no row: refused, and recorded as such
			}
			rec, err := store.Decide(cmd.Context(), l, d)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), rec)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "decision %d by %s: %s %s\n", rec.ID, printable(rec.Reviewer), rec.Verdict, printable(rec.Key))
			if verdict == ledger.Resend {
				fmt.Fprintln(cmd.OutOrStdout(), "the runner sends it: a running \"reprise run\", or the next \"reprise run --once\"")
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&d.Note, "note", "", "why (required)")
	f.StringVar(&seen, "seen", "", "row version that was seen")
	f.BoolVar(&d.Force, "force", false, "decide although a call could still be alive")
	return c
}

// origin says from where a decision was made; who made it is the database's role.
func origin(version string) string {
	parts := []string{"reprise " + version}
	if u, err := user.Current(); err == nil {
		parts = append(parts, u.Username)
	}
	if h, err := os.Hostname(); err == nil {
		parts = append(parts, h)
	}
	return strings.Join(parts, " ")
}
