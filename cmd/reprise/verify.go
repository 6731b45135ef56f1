package main

import (
	"fmt"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
)

func newVerify(a *app) *cobra.Command {
	var from, to, positions, zone, handler string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Reconcile the archive with state, ledger and run counters, and check the chain of decisions",
		Long: "Computes from the archive what the state should be and which effects it asks for, and compares. Changes nothing. " +
			"Exits with 3 if something is wrong: an order whose state is not what its newest event says, a run whose counters disagree with the ledger, a decision that was tampered with.",
		Example: "  reprise verify\n  reprise verify --from 2026-10-14 --to 2026-10-15 --zone America/Sao_Paulo",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var scope batch.Scope
			if err := parseScope(&scope, from, to, positions, zone, a.zone()); err != nil {
				return usageError{err}
			}
			engine, err := a.engine(cmd.Context())
			if err != nil {
				return err
			}
			h, err := a.handler(handler)
			if err != nil {
				return err
			}
			line := newStatusLine()
			began := time.Now()
			report, err := engine.Verify(cmd.Context(), h, scope, func(n int64) { line.show(fmt.Sprintf("verify: %s events", humanize.Comma(n))) })
			line.done()
			if err != nil {
				return err
			}
			if a.json {
				if err := printJSON(cmd.OutOrStdout(), report); err != nil {
					return err
				}
			} else if err := printVerify(cmd, report, time.Since(began)); err != nil {
				return err
			}
			if !report.OK() {
				return silent(exitPartial)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&from, "from", "", "begin of the window (default: the whole archive)")
	f.StringVar(&to, "to", "", "end of the window, not part of it")
	f.StringVar(&zone, "zone", "", "time zone of --from and --to")
	f.StringVar(&positions, "positions", "", "closed range of positions A:B")
	f.StringVar(&handler, "handler", "", "which handler (default: the only one)")
	return c
}

func printVerify(cmd *cobra.Command, r batch.VerifyReport, took time.Duration) error {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "archive   %s events read in %s, %s poison\n", humanize.Comma(r.Events), took.Round(10*time.Millisecond), humanize.Comma(r.Poison))
	fmt.Fprintf(w, "state     %s orders differ from what their newest event says\n", humanize.Comma(r.WrongN))
	rows := make([][]string, len(r.Wrong))
	for i, d := range r.Wrong {
		rows[i] = []string{d.OrderID, cents(d.Before), cents(&d.After)}
	}
	if len(rows) > 0 {
		if err := printTable(w, []string{"ORDER", "STORED", "SHOULD BE"}, rows); err != nil {
			return err
		}
	}
	for kind, e := range r.Effects {
		fmt.Fprintf(w, "effects   %s: %s wanted = %s done + %s uncertain + %s in flight + %s not in the ledger; %s went out with another content\n", printable(kind),
			humanize.Comma(e.Wanted), humanize.Comma(e.Done), humanize.Comma(e.Uncertain), humanize.Comma(e.InFlight), humanize.Comma(e.Missing), humanize.Comma(e.Differs))
	}
	for _, run := range r.Runs {
		fmt.Fprintf(w, "run       %s\n", printable(run))
	}
	fmt.Fprintf(w, "decisions %s\n", r.Chain)
	return nil
}
