package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/config"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/devserver"
)

type ctxType = context.Context

// app is what the commands share. Everything in it is opened when it is first needed.
type app struct {
	configPath string
	database   string
	json       bool
	verbose    bool
	version    string
	log        *slog.Logger

	config *config.Config
	pool   *pgxpool.Pool
	books  *ledger.Ledger
	desk   *batch.Store
}

func newRoot() *cobra.Command {
	a := &app{version: version()}
	root := &cobra.Command{
		Use:   "reprise",
		Short: "Replay archived events without repeating what they already did to the outside world",
		Long: "Reprise replays archived events without repeating what they already did to the outside world. Every external effect has one row in a ledger, under a key " +
			"that live consumer and replay share; what cannot be known goes to a person, never to a blind resend.\n\nWithout a command it opens the dashboard.\n\n" +
			"Exit codes: 0 done, 1 error, 2 usage or configuration, 3 partial (something needs a person), 4 refused (held by another, stale, not allowed), 130 interrupted.",
		Example:       "  reprise up\n  reprise import day.ndjson.gz\n  reprise replay queue --from 2026-10-14 --to 2026-10-15 --zone America/Sao_Paulo\n  reprise",
		Version:       a.version,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRun: func(*cobra.Command, []string) {
			level := slog.LevelInfo
			if a.verbose {
				level = slog.LevelDebug
			}
			a.log = newLogger(os.Stderr, level)
		},
		PersistentPostRun: func(*cobra.Command, []string) { a.close() },
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (see %s --help)", err, c.CommandPath())}
	})
	f := root.PersistentFlags()
	f.StringVar(&a.configPath, "config", "", "configuration file (default: $REPRISE_CONFIG, ./reprise.toml, ~/.config/reprise/config.toml)")
	f.StringVar(&a.database, "database", "", "database URL (default: $REPRISE_DATABASE_URL, the configuration's, the development server)")
	f.BoolVar(&a.json, "json", false, "print data as JSON")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log more")
	root.AddCommand(newUp(a), newDown(a), newMigrate(a), newDoctor(a), newConfig(a), newImport(a), newReplay(a), newRun(a), newSweep(a),
		newReview(a), newLive(a), newVerify(a), newTUI(a), newProvider(a), newSchedule(a), newHistory(a))
	root.RunE = func(cmd *cobra.Command, args []string) error { return a.dashboard(cmd, "") }
	root.Args = cobra.NoArgs
	usageArgs(root)
	return root
}

// usageArgs makes wrong arguments a usage error for every command.
func usageArgs(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError{fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		usageArgs(sub)
	}
}

func (a *app) settings() (*config.Config, error) {
	if a.config == nil {
		c, err := config.Load(a.configPath)
		if err != nil {
			return nil, usageError{err}
		}
		a.config = &c
	}
	return a.config, nil
}

// zone is the configured time zone, in which times are printed.
func (a *app) zone() *time.Location {
	c, err := a.settings()
	if err != nil {
		return time.UTC
	}
	return c.Location()
}

// databaseURL finds the database: flag, environment, configuration, else the development server.
func (a *app) databaseURL(ctx context.Context) (string, error) {
	if a.database != "" {
		return a.database, nil
	}
	c, err := a.settings()
	if err != nil {
		return "", err
	}
	url, err := c.DatabaseURL()
	if err != nil {
		return "", usageError{err}
	}
	if url != "" {
		return url, nil
	}
	server, err := devserver.New(devserver.Options{})
	if err != nil {
		return "", err
	}
	if _, running := server.Running(ctx); !running {
		return "", usageError{errors.New("no database is configured and the development server is not running: start it with \"reprise up\", or name a database with --database, REPRISE_DATABASE_URL or the configuration's database key")}
	}
	a.log.Info("no database is configured; using the development server", "dir", server.Dir())
	return server.URL(devDatabase), nil
}

// open connects to the database, migrated or not.
func (a *app) open(ctx context.Context, o schema.Options) (*pgxpool.Pool, error) {
	if a.pool != nil {
		return a.pool, nil
	}
	url, err := a.databaseURL(ctx)
	if err != nil {
		return nil, err
	}
	o.ApplicationName = "reprise"
	a.pool, err = schema.Open(ctx, url, o)
	return a.pool, err
}

// migrated connects to a database whose schema is this program's.
func (a *app) migrated(ctx context.Context) (*pgxpool.Pool, error) {
	c, err := a.settings()
	if err != nil {
		return nil, err
	}
	pool, err := a.open(ctx, schema.Options{MaxConns: c.PoolSize()})
	if err != nil {
		return nil, err
	}
	return pool, schema.Check(ctx, pool)
}

func (a *app) store(ctx context.Context) (*batch.Store, error) {
	if a.desk != nil {
		return a.desk, nil
	}
	pool, err := a.migrated(ctx)
	if err != nil {
		return nil, err
	}
	a.desk, err = a.newStore(pool)
	return a.desk, err
}

func (a *app) newStore(pool *pgxpool.Pool) (*batch.Store, error) {
	return batch.NewStore(pool, batch.StoreOptions{
		Handlers: a.config.Handlers(), Rules: a.config.Rules(), FourEyes: a.config.Review.FourEyes, CodeVersion: a.version,
	})
}

func (a *app) ledger(ctx context.Context) (*ledger.Ledger, error) {
	if a.books != nil {
		return a.books, nil
	}
	pool, err := a.migrated(ctx)
	if err != nil {
		return nil, err
	}
	a.books = a.newLedger(pool)
	return a.books, nil
}

func (a *app) newLedger(pool *pgxpool.Pool) *ledger.Ledger {
	o := a.config.LedgerOptions()
	o.Logger = a.log
	return ledger.New(pool, o)
}

// engine makes what executes; it needs the providers and their secrets.
func (a *app) engine(ctx context.Context) (*batch.Engine, error) {
	store, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	books, err := a.ledger(ctx)
	if err != nil {
		return nil, err
	}
	if most, least := int(a.pool.Config().MaxConns), a.config.SmallestPool(); most < least {
		return nil, usageError{fmt.Errorf("pool_max_conns = %d in the database URL: run.workers = %d need at least %d connections", most, a.config.Run.Workers, least)}
	}
	providers, err := a.config.OpenProviders(a.log)
	if err != nil {
		return nil, usageError{err}
	}
	return batch.NewEngine(a.pool, store, books, providers, a.config.EngineOptions(), a.log), nil
}

func (a *app) handler(name string) (batch.Handler, error) {
	c, err := a.settings()
	if err != nil {
		return nil, err
	}
	handlers := c.Handlers()
	if name == "" && len(handlers) == 1 {
		for n := range handlers {
			name = n
		}
	}
	h, err := handlers.Get(name)
	if err != nil {
		return nil, usageError{err}
	}
	return h, nil
}

func (a *app) close() {
	if a.books != nil {
		a.books.Close()
	}
	if a.pool != nil {
		a.pool.Close()
	}
}
