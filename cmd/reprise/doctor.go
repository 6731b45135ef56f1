package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/schema"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check the environment and the database, and say what to do about what is wrong",
		Example: "  reprise doctor", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := doctor{w: cmd.OutOrStdout()}
			ctx := cmd.Context()
			c, err := a.settings()
			d.check("configuration", err, func() string {
				if c.Path == "" {
					return "none, defaults"
				}
				return c.Path
			})
			if err == nil {
				_, err = c.OpenProviders(a.log)
				d.check("providers", err, func() string { return fmt.Sprintf("%d", len(c.Providers)) })
			}
			pool, err := a.open(ctx, schema.Options{MaxConns: 4})
			d.check("database", err, func() string { return describe(ctx, pool) })
			if err == nil {
				d.check("schema", schema.Check(ctx, pool), func() string { return "as this program needs it" })
				d.database(ctx, pool)
			}
			if d.bad > 0 {
				return silent(exitError)
			}
			return nil
		},
	}
}

type doctor struct {
	w   io.Writer
	bad int
}

func (d *doctor) check(what string, err error, ok func() string) {
	if err != nil {
		d.bad++
		fmt.Fprintf(d.w, "✗ %-14s %s\n", what, printable(err.Error()))
		return
	}
	fmt.Fprintf(d.w, "✓ %-14s %s\n", what, printable(ok()))
}

func describe(ctx context.Context, pool *pgxpool.Pool) string {
	var text string
	if err := pool.QueryRow(ctx, `select format('PostgreSQL %s, database %s, role %s', current_setting('server_version'), current_database(), session_user)`).Scan(&text); err != nil {
		return err.Error()
	}
	return text
}

// database checks what the promises rest on.
func (d *doctor) database(ctx context.Context, pool *pgxpool.Pool) {
	var commit, fsync string
	var replica bool
	var now time.Time
	err := pool.QueryRow(ctx, `select current_setting('synchronous_commit'), current_setting('fsync'), pg_is_in_recovery(), clock_timestamp()`).Scan(&commit, &fsync, &replica, &now)
	if err == nil && commit == "off" {
		err = fmt.Errorf("synchronous_commit is off: a crash of the server may forget reservations that were acknowledged; set it to on for this role or database")
	}
	if err == nil && fsync == "off" {
		err = fmt.Errorf("fsync is off: a crash of the machine loses the ledger; set fsync = on")
	}
	if err == nil && replica {
		err = fmt.Errorf("this is a replica: the ledger must be read and written on the primary")
	}
	d.check("durability", err, func() string { return "synchronous_commit " + commit + ", fsync " + fsync })
	if !now.IsZero() {
		skew := time.Since(now).Round(time.Second)
		fmt.Fprintf(d.w, "  clock          database and this machine differ by %s (ages are measured by the database alone)\n", skew.Abs())
	}
	var reserved, uncertain int64
	err = pool.QueryRow(ctx, `
		select (select count(*) from (select 1 from efeito_aplicado where estado = 'reservado' limit 100000) r),
			(select count(*) from (select 1 from efeito_aplicado where estado = 'incerto' limit 100000) u)`).Scan(&reserved, &uncertain)
	d.check("ledger", err, func() string { return fmt.Sprintf("%d reserved, %d uncertain", reserved, uncertain) })
}
