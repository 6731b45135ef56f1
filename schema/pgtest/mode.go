package pgtest

import (
	"net/url"
	"os"
	"testing"
)

// modeVariable names how every test talks to its database: a default_query_exec_mode of pgx, or [pooled].
// Empty is pgx's default, with prepared statements.
const modeVariable = "REPRISE_PGTEST_MODE"

// pooled is through a pooler in transaction mode, without prepared statements.
const pooled = "pooler"

// inMode is the URL of a server's database as the mode wants it.
func inMode(t testing.TB, target, owner string) string {
	t.Helper()
	mode := os.Getenv(modeVariable)
	if mode == "" {
		return target
	}
	u, err := url.Parse(target)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if mode == pooled {
		u.Host = pooler(t, u, owner)
		mode = "exec"
	}
	query := u.Query()
	query.Set("default_query_exec_mode", mode)
	u.RawQuery = query.Encode()
	return u.String()
}
