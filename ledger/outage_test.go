package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

// soon is far from what anything measured on a busy machine takes, and from the minute for which a reservation is asked for.
const soon = 30 * time.Second

// A database that swallows everything: each call ends inside its deadline, and the next one works.
func TestAStalledDatabaseStallsNobodyForEver(t *testing.T) {
	t.Parallel()
	l, link, _ := openLinked(t, ledger.Options{StatementTimeout: 300 * time.Millisecond})
	e := doubted(t, l, "ev-1")
	version := uncertain(t, l, e.Key()).Version
	heal := link.toxic(`{"name":"hole","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
	for name, call := range map[string]func(context.Context) error{
		"sweep": func(ctx context.Context) error {
			_, err := l.Sweep(ctx, ledger.SweepScope{Policies: policies(e.Policy)})
			return err
		},
		"look":  func(ctx context.Context) error { _, err := l.Look(ctx, []ledger.Effect{e}); return err },
		"queue": func(ctx context.Context) error { _, err := l.Uncertain(ctx, ledger.UncertainQuery{}); return err },
		"decide": func(ctx context.Context) error {
			_, err := l.Decide(ctx, ledger.Decision{Key: e.Key(), Verdict: ledger.Confirm, Note: "n", Seen: version, Force: true})
			return err
		},
		"verify": func(ctx context.Context) error { _, err := l.VerifyChain(ctx); return err },
		"due":    func(ctx context.Context) error { _, err := l.DueLookUps(ctx, 1); return err },
	} {
		began := time.Now()
		if err := call(t.Context()); err == nil {
			t.Errorf("%s: no error", name)
		}
		if took := time.Since(began); took > soon {
			t.Errorf("%s: ended after %s", name, took)
		}
	}
	heal()
	do(t, l, effect("ev-2", ledger.Keep), newProvider(always(nil)).call, ledger.DidApply)
}

// No provider call follows a reservation that failed, and who stops waiting is let go.
func TestP1_NoCallWithoutAReservation(t *testing.T) {
	t.Parallel()
	l, link, pool := openLinked(t, ledger.Options{})
	link.Stop()
	p := newProvider(always(nil))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := l.Do(ctx, effect("ev-1", ledger.Keep), p.call); err == nil {
		t.Error("no error")
	}
	if took := time.Since(began); took > soon {
		t.Errorf("let go after %s", took)
	}
	if n := p.deliveries(ledger.Key("ev-1", kind)); n != 0 {
		t.Errorf("%d deliveries", n)
	}
	if n := count(t, pool, `select count(*) from efeito_aplicado`); n != 0 {
		t.Errorf("%d rows", n)
	}
	if _, err := l.Do(ctx, effect("ev-1", ledger.Keep), p.call); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("already stopped: %v", err)
	}
}

// A database that says no for good is not asked again.
func TestARightThatIsMissingIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	execSQL(t, pool, `alter table efeito_aplicado rename to elsewhere`)
	began := time.Now()
	if _, err := l.Do(t.Context(), effect("ev-1", ledger.Keep), newProvider(always(nil)).call); err == nil {
		t.Error("no error")
	}
	if took := time.Since(began); took > soon {
		t.Errorf("said after %s", took)
	}
}
