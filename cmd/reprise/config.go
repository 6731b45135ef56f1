package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

func newConfig(a *app) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "Check the configuration"}
	c.AddCommand(&cobra.Command{
		Use: "check", Short: "Say what is wrong with the configuration, what it does with each effect, and when its schedules fire next",
		Example: "  reprise config check --config /etc/reprise.toml", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.settings()
			if err != nil {
				return err
			}
			if _, err := c.OpenProviders(a.log); err != nil {
				return usageError{err}
			}
			next := c.NextFirings(time.Now())
			if a.json {
				return printJSON(cmd.OutOrStdout(), map[string]any{"path": c.Path, "rules": c.Rules(), "next": next})
			}
			w := cmd.OutOrStdout()
			if c.Path == "" {
				fmt.Fprintln(w, "no configuration file: defaults")
			} else {
				fmt.Fprintf(w, "%s is fine\n", c.Path)
			}
			rules := c.Rules()
			if len(rules) == 0 {
				fmt.Fprintln(w, "no kind of effect is configured: all are suppressed")
			}
			for kind, r := range rules {
				fmt.Fprintf(w, "effects %s: %s, %s, provider %s, on failure %s\n", kind, r.Mode, r.When, r.Provider, r.OnFailure)
			}
			for _, n := range next {
				fmt.Fprintf(w, "schedule %s (%s): next %s\n", n.Task, n.Spec, instant(&n.Next, a.zone()))
			}
			return nil
		},
	})
	return c
}
