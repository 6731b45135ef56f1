package main

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/tui"
)

func newTUI(a *app) *cobra.Command {
	var replay string
	c := &cobra.Command{
		Use: "tui", Short: "The dashboard: watch replays, page through diffs, settle uncertain effects",
		Long:    "Opens the dashboard; ? shows the keys. It only watches and commands: closing it never stops work.",
		Example: "  reprise tui\n  reprise tui --replay fix-14",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.dashboard(cmd, replay) },
	}
	c.Flags().StringVar(&replay, "replay", "", "replay that the screens are about at first")
	return c
}

func (a *app) dashboard(cmd *cobra.Command, replay string) error {
	if !isatty.IsTerminal(os.Stdin.Fd()) || !isatty.IsTerminal(os.Stdout.Fd()) {
		return usageError{errors.New("the dashboard needs a terminal; the commands do the same without one (reprise --help)")}
	}
	ctx := cmd.Context()
	c, err := a.settings()
	if err != nil {
		return err
	}
	pool, err := a.open(ctx, schema.Options{MaxConns: c.PoolSize(), Lazy: true})
	if err != nil {
		return err
	}
	// The screen belongs to the dashboard from here on: a log line would tear it.
	a.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := a.newStore(pool)
	if err != nil {
		return err
	}
	a.books = a.newLedger(pool)
	d := desk{Store: store, Ledger: a.books, app: a}
	o := tui.Options{
		Data: d, Language: c.Language, Theme: c.Theme, Zone: c.Location(), Version: a.version, Replay: replay, Origin: origin(a.version),
	}
	o.Host, _ = os.Hostname()
	// A database that is away may come back: the dashboard waits for it. What only a person can mend ends it here.
	if o.Identity, err = d.Identity(ctx); err != nil && !away(err) {
		return err
	}
	err = tui.Run(ctx, o)
	if errors.Is(err, tui.ErrInterrupted) {
		return silent(exitInterrupted)
	}
	return err
}

// away reports whether an error means that the database cannot be reached or does not answer now, rather than that it
// refuses what it is asked for.
func away(err error) bool {
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) {
		return pgerrcode.IsOperatorIntervention(refusal.Code) || pgerrcode.IsInsufficientResources(refusal.Code) ||
			pgerrcode.IsConnectionException(refusal.Code)
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
