package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/devserver"
)

const devDatabase = "reprise"

func newUp(a *app) *cobra.Command {
	var name string
	var fresh bool
	c := &cobra.Command{
		Use:     "up",
		Short:   "Start the development server, a private PostgreSQL of your own, and migrate it",
		Long:    "Finds PostgreSQL's programs on this machine, makes a private cluster that only you can reach, starts it and migrates it. It keeps running until reprise down. Run again, it finds the server running and changes nothing.",
		Example: "  reprise up",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := devserver.New(devserver.Options{})
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if err := server.Start(ctx); err != nil {
				return err
			}
			if fresh {
				if err := dropDatabase(ctx, server, name); err != nil {
					return err
				}
			}
			if err := server.CreateDatabase(ctx, name); err != nil {
				return err
			}
			pool, err := schema.Open(ctx, server.URL(name), schema.Options{MaxConns: 4})
			if err != nil {
				return err
			}
			defer pool.Close()
			report, err := schema.Migrate(ctx, pool)
			if err != nil {
				return err
			}
			pid, _ := server.Running(ctx)
			if a.json {
				return printJSON(cmd.OutOrStdout(), map[string]any{"url": server.URL(name), "dir": server.Dir(), "pid": pid, "migrations": report})
			}
			fmt.Fprintf(cmd.OutOrStdout(), "development server is up (process %d, files in %s)\n%s\nREPRISE_DATABASE_URL=%s\n", pid, server.Dir(), report, server.URL(name))
			return nil
		},
	}
	c.Flags().StringVar(&name, "name", devDatabase, "database in the development server; other commands use "+devDatabase+" unless told otherwise")
	c.Flags().BoolVar(&fresh, "fresh", false, "drop that database first, with all that is in it")
	return c
}

// dropDatabase drops a database of the development server; it can reach no other server.
func dropDatabase(ctx context.Context, server *devserver.Server, name string) error {
	pool, err := schema.Open(ctx, server.URL("postgres"), schema.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "drop database if exists "+pgx.Identifier{name}.Sanitize()+" with (force)"); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

func newDown(*app) *cobra.Command {
	return &cobra.Command{
		Use:     "down",
		Short:   "Stop the development server; its data stays",
		Example: "  reprise down",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := devserver.New(devserver.Options{})
			if err != nil {
				return err
			}
			err = server.Stop(cmd.Context())
			if errors.Is(err, devserver.ErrNotRunning) {
				fmt.Fprintln(cmd.OutOrStdout(), "development server is not running")
				return nil
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "development server stopped; its data stays in %s\n", server.Dir())
			return nil
		},
	}
}
