package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newHistory(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "history ORDER", Short: "Every archived event of an order, oldest version first, with its payload", Example: "  reprise history P-1042", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := a.store(cmd.Context())
			if err != nil {
				return err
			}
			events, err := store.OrderHistory(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), events)
			}
			if len(events) == 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "the archive holds no event of order %s\n", printable(args[0]))
				return nil
			}
			rows := make([][]string, len(events))
			for i, ev := range events {
				rows[i] = []string{fmt.Sprint(ev.Version), ev.ID, ev.Type, instant(&ev.OccurredAt, a.zone()), fmt.Sprint(ev.Position), string(ev.Payload)}
			}
			return printTable(cmd.OutOrStdout(), []string{"VERSION", "EVENT", "TYPE", "OCCURRED", "POSITION", "PAYLOAD"}, rows)
		},
	}
}
