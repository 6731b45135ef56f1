package main

import (
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
)

func newLive(a *app) *cobra.Command {
	var from int64
	var handler string
	c := &cobra.Command{
		Use:   "live",
		Short: "The live consumer: follow the archive and process each event as it arrives",
		Long: "Follows the archive with the execution id 'ao-vivo', through the same applier and the same ledger as a replay. It begins where it stopped; the first time, " +
			"at the archive's end, or after --from. Two of them share one checkpoint: one works, the other stands by.",
		Example: "  reprise live\n  reprise live --from 0",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			engine, err := a.engine(cmd.Context())
			if err != nil {
				return err
			}
			h, err := a.handler(handler)
			if err != nil {
				return err
			}
			var begin *int64
			if cmd.Flags().Changed("from") {
				begin = &from
			}
			line := newStatusLine()
			a.log.Info("live consumer started", "host", engine.Host())
			err = engine.Live(cmd.Context(), h, begin, func(p batch.LiveProgress) {
				text := fmt.Sprintf("live: position %d, %s events", p.Position, humanize.Comma(p.Counters.Read))
				for _, kind := range kinds(p.Counters) {
					e := p.Counters.Effects[kind]
					text += fmt.Sprintf(", %s %s applied, %s uncertain", humanize.Comma(e.Applied), kind, humanize.Comma(e.Uncertain))
				}
				if p.Waiting != "" {
					text += ", waits: " + p.Waiting
				}
				line.show(text)
			})
			line.done()
			a.log.Info("live consumer stopped")
			return err
		},
	}
	c.Flags().Int64Var(&from, "from", 0, "position after which a consumer that never ran begins")
	c.Flags().StringVar(&handler, "handler", "", "which handler (default: the only one)")
	return c
}
