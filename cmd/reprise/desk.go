package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/tui"
)

// desk is what the dashboard reads and commands: the same functions as the command line's.
type desk struct {
	*batch.Store
	*ledger.Ledger
	app *app
}

// Identity says which database answers, as whom; or why this program cannot work with it.
func (d desk) Identity(ctx context.Context) (tui.Identity, error) {
	var who tui.Identity
	if err := schema.Check(ctx, d.app.pool); err != nil {
		return who, err
	}
	err := d.app.pool.QueryRow(ctx, `
		select current_database(), coalesce(host(inet_server_addr()), 'local'), session_user`).Scan(&who.Database, &who.Server, &who.Role)
	return who, err
}

func (d desk) Pause(ctx context.Context, id string) error {
	_, err := d.Store.Pause(ctx, id)
	return err
}

func (d desk) Resume(ctx context.Context, id string, limits *batch.Limits) error {
	_, err := d.Store.Resume(ctx, id, limits)
	return err
}

func (d desk) Cancel(ctx context.Context, id string) error {
	_, err := d.Store.Cancel(ctx, id)
	return err
}

func (d desk) ApprovePreview(ctx context.Context, id, newID string) (batch.ApprovalPreview, error) {
	return d.app.approvalPreview(ctx, d.Store, id, newID)
}

func (d desk) Decide(ctx context.Context, decision ledger.Decision) (ledger.DecisionRecord, error) {
	return d.Store.Decide(ctx, d.Ledger, decision)
}

func (d desk) NextFirings() []batch.NextFiring { return d.app.config.NextFirings(time.Now()) }

func (d desk) RunNow(ctx context.Context, task string) (batch.Firing, error) {
	return d.app.runNow(ctx, d.Store, task)
}

func (d desk) Handlers() []string { return slices.Sorted(maps.Keys(d.app.config.Handlers())) }

// approvalPreview says what approving a simulation sets going, and when its effects may be sent.
func (a *app) approvalPreview(ctx context.Context, store *batch.Store, id, newID string) (batch.ApprovalPreview, error) {
	p, err := store.ApprovalPreview(ctx, id, newID)
	if err == nil {
		p.Hours = a.sendingHours(p.Rules)
	}
	return p, err
}

// sendingHours names the providers that take effects at some hours only, and those hours; "" if there are none.
func (a *app) sendingHours(rules map[string]batch.Rule) string {
	found := map[string]bool{}
	for _, r := range rules {
		p := a.config.Providers[r.Provider]
		if r.Mode != batch.ModeApply || p.Hours == "" {
			continue
		}
		zone := p.Zone
		if zone == "" {
			zone = "UTC"
		}
		found[fmt.Sprintf("%s %s (%s)", p.Hours, zone, r.Provider)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), ", ")
}
