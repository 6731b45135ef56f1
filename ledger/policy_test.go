package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

func TestAPolicyThatCannotKeepThePromisesIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy ledger.Policy
		says   []string // nothing: it is fine
	}{
		"keep":                   {ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 10 * time.Second}, nil},
		"look up":                {ledger.Policy{OnFailure: ledger.LookUp, CallTimeout: 10 * time.Second, Quarantine: time.Minute, MaxAttempts: 1}, nil},
		"release":                {ledger.Policy{OnFailure: ledger.Release, CallTimeout: 10 * time.Second, DedupWindow: 24 * time.Hour}, nil},
		"longest call":           {ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 289 * time.Second}, nil},
		"call too long":          {ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 400 * time.Second}, []string{"call timeout (6m40s)", "margin of 10s", "sweep age (5m0s)"}},
		"call as long":           {ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 290 * time.Second}, []string{"call timeout (4m50s)", "sweep age (5m0s)"}},
		"no call timeout":        {ledger.Policy{OnFailure: ledger.Keep}, []string{"call timeout is 0s"}},
		"no policy":              {ledger.Policy{CallTimeout: time.Second}, []string{`"liberar", "manter" or "consultar"`}},
		"unknown policy":         {ledger.Policy{OnFailure: "x", CallTimeout: time.Second}, []string{`"x"`}},
		"window without release": {ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second, DedupWindow: time.Hour}, []string{"1h0m0s", `"liberar"`, `"manter"`}},
		"window too short":       {ledger.Policy{OnFailure: ledger.Release, CallTimeout: time.Minute, DedupWindow: time.Minute}, []string{"window (1m0s)", "call (1m0s with a margin of 10s)"}},
		"negative window":        {ledger.Policy{OnFailure: ledger.Release, CallTimeout: time.Second, DedupWindow: -1}, []string{"negative"}},
		"quarantine too short":   {ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Minute, Quarantine: time.Minute}, []string{"quarantine (1m0s)", "call timeout (1m0s)"}},
		"negative attempts":      {ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second, MaxAttempts: -1}, []string{"attempts is -1"}},
		"everything":             {ledger.Policy{CallTimeout: 10 * time.Minute, DedupWindow: -1, MaxAttempts: -1}, []string{"policy on failure", "call timeout", "negative", "attempts"}},
	} {
		err := c.policy.Validate("notificar-vendedor", ledger.DefaultSweepAge, ledger.DefaultMargin)
		if (err != nil) != (len(c.says) > 0) || err != nil && !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range append(c.says, "notificar-vendedor") {
			if err != nil && !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q is missing in: %v", name, part, err)
			}
		}
	}
}
