package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"reprise.dev/reprise/batch/provider"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui"
	"reprise.dev/reprise/tui/text"
)

// parity says which command does what the dashboard does: every way in which the dashboard reads or commands, and the
// command and flag that answer the same. Both go through the same function.
var parity = map[string]string{
	"Now":             "doctor",
	"Identity":        "doctor",
	"Replays":         "replay list --text",
	"ReplayCount":     "replay list --limit",
	"FiringCount":     "schedule list --limit",
	"FailureCount":    "replay show --failures",
	"Progress":        "replay show",
	"Failures":        "replay show --failures",
	"Handlers":        "replay queue --handler",
	"Preview":         "replay queue --dry-run",
	"Queue":           "replay queue",
	"Pause":           "replay pause",
	"Resume":          "replay resume --limit-effects",
	"Cancel":          "replay cancel",
	"Revert":          "replay revert",
	"ApprovePreview":  "replay approve --dry-run",
	"Approve":         "replay approve --id",
	"Diff":            "replay diff --sort",
	"DiffTotals":      "replay diff --totals",
	"ExportDiff":      "replay diff --export",
	"Divergences":     "replay diff --told-otherwise",
	"OrderHistory":    "history",
	"Event":           "review show",
	"Uncertain":       "review list --kind --reason --run --text",
	"UncertainCounts": "review list --counts",
	"UncertainByKey":  "review show",
	"Occurrences":     "review show",
	"Decisions":       "review show",
	"Decide":          "review decide --note",
	"Firings":         "schedule list",
	"NextFirings":     "schedule list",
	"Hosts":           "schedule list",
	"RunNow":          "schedule run",
}

func TestACommandDoesAllThatTheDashboardDoes(t *testing.T) {
	data := reflect.TypeFor[tui.Data]()
	for i := range data.NumMethod() {
		if name := data.Method(i).Name; parity[name] == "" {
			t.Errorf("the dashboard has %s, no command does", name)
		}
	}
	for name, line := range parity {
		if _, ok := data.MethodByName(name); !ok {
			t.Errorf("the dashboard has no %s any more", name)
		}
		command, options, _ := strings.Cut(line, " --")
		words := strings.Fields(command)
		c, rest, err := newRoot().Find(words)
		if err != nil || len(rest) > 0 || !slices.Equal(strings.Fields(c.CommandPath())[1:], words) {
			t.Errorf("%s: no command %q", name, line)
			continue
		}
		for flag := range strings.FieldsSeq(options) {
			if flag = strings.TrimPrefix(flag, "--"); c.Flags().Lookup(flag) == nil {
				t.Errorf("%s: command %q has no flag --%s", name, line, flag)
			}
		}
	}
}

// TestEveryOccurrenceIsExplained: a reviewer reads in words what happened to an effect.
func TestEveryOccurrenceIsExplained(t *testing.T) {
	for _, kind := range []string{
		ledger.LogNotSent, ledger.LogDoubt, ledger.LogRefused, ledger.LogLate, ledger.LogSwept, ledger.LogLookUp, ledger.LogRefusedDecision,
	} {
		if words := text.Occurrences[kind]; words[text.English] == "" || words[text.Portuguese] == "" {
			t.Errorf("%s is not explained", kind)
		}
	}
}

// TestEveryReasonIsExplained: a reviewer reads in words why an effect is uncertain, and what a look-up led to.
func TestEveryReasonIsExplained(t *testing.T) {
	for _, reason := range []string{
		ledger.ReasonUnknown, ledger.ReasonPanic, ledger.ReasonAbandoned, ledger.ReasonWindow, ledger.ReasonAttempts, ledger.ReasonContent,
		ledger.ReasonNotFound, ledger.ReasonNotSent, provider.ReasonNoAnswer, provider.ReasonInterrupted, provider.ReasonDropped,
		provider.ReasonGarbled, provider.ReasonIncomplete, provider.ReasonNoReceipt, provider.ReasonBadKey,
		string(ledger.Found), string(ledger.NotFound), string(ledger.Unreachable),
	} {
		if words := text.Reasons[reason]; words[text.English] == "" || words[text.Portuguese] == "" {
			t.Errorf("%s is not explained", reason)
		}
	}
}
