package main

import (
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
)

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
