package ledger_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/pgtest"
)

const kind = "notificar-vendedor"

// policy is one under which everything happens at once.
func policy(onFailure ledger.OnFailure) ledger.Policy {
	return ledger.Policy{OnFailure: onFailure, CallTimeout: time.Second}
}

func effect(id string, onFailure ledger.OnFailure) ledger.Effect {
	return ledger.Effect{EventID: id, Kind: kind, Execution: ledger.Live, Content: json.RawMessage(`{"valorCentavos":150}`), Policy: policy(onFailure)}
}

// open returns a ledger on a database of its own.
func open(t testing.TB, o ledger.Options) (*ledger.Ledger, *pgxpool.Pool) {
	t.Helper()
	pool := pgtest.New(t)
	return with(t, pool, o), pool
}

func with(t testing.TB, pool *pgxpool.Pool, o ledger.Options) *ledger.Ledger {
	t.Helper()
	l := ledger.New(pool, o)
	t.Cleanup(l.Close)
	return l
}

func ok(context.Context, ledger.Attempt) (json.RawMessage, error) {
	return json.RawMessage(`{"id":1}`), nil
}
