package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
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
	store, err := a.store(ctx)
	if err != nil {
		return err
	}
	// The screen belongs to the dashboard from here on: a log line would tear it.
	a.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	books, err := a.ledger(ctx)
	if err != nil {
		return err
	}
	o := tui.Options{
		Data: desk{Store: store, Ledger: books, app: a}, Language: a.config.Language, Theme: a.config.Theme, Zone: a.config.Location(),
		Version: a.version, Replay: replay, Origin: origin(a.version),
	}
	o.Host, _ = os.Hostname()
	if err := a.pool.QueryRow(ctx, `
		select current_database(), coalesce(host(inet_server_addr()), 'local'), session_user`).Scan(&o.Database, &o.Server, &o.Role); err != nil {
		return err
	}
	err = tui.Run(ctx, o)
	if errors.Is(err, tui.ErrInterrupted) {
		return silent(exitInterrupted)
	}
	return err
}

// desk is what the dashboard reads and commands: the same functions as the command line's.
type desk struct {
	*batch.Store
	*ledger.Ledger
	app *app
}

func (d desk) Pause(ctx context.Context, id string) error {
	_, err := d.Store.Pause(ctx, id)
	return err
}

func (d desk) Resume(ctx context.Context, id string) error {
	_, err := d.Store.Resume(ctx, id, nil)
	return err
}

func (d desk) Cancel(ctx context.Context, id string) error {
	_, err := d.Store.Cancel(ctx, id)
	return err
}

func (d desk) ApprovePreview(ctx context.Context, id string) (batch.ApprovalPreview, error) {
	return d.Store.ApprovalPreview(ctx, id, "")
}

func (d desk) Decide(ctx context.Context, decision ledger.Decision) (ledger.DecisionRecord, error) {
	return d.Store.Decide(ctx, d.Ledger, decision)
}

func (d desk) NextFirings() []batch.NextFiring { return d.app.config.NextFirings(time.Now()) }
