package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"reprise.dev/reprise/schema"
)

func newMigrate(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database's schema up to this program's version",
		Long: "Creates or upgrades the tables, and those of the job engine in a schema of their own. A database that already has the live " +
			"consumer's tables is adopted as it is: nothing is renamed or dropped, and the consumer's statements keep working. Several hosts may migrate at once.",
		Example: "  reprise migrate --database postgres://reprise@db.internal/orders?sslmode=verify-full",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pool, err := a.open(cmd.Context(), schema.Options{MaxConns: 4})
			if err != nil {
				return err
			}
			report, err := schema.Migrate(cmd.Context(), pool)
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), report)
			}
			fmt.Fprintln(cmd.OutOrStdout(), report)
			return nil
		},
	}
}
