package batch

import (
	"time"

	"reprise.dev/reprise/ledger"
)

// Request asks for a replay.
type Request struct {
	ID         string // "": made from the mode and the day
	Handler    string // "": the only one that takes the scope's types
	Mode       Mode   // "": Simulate
	Scope      Scope
	Partitions int // 0: DefaultPartitions
	Limits     Limits
	Priority   int // 0: 2
}

// KindPreview is what a replay would do with one kind of effect, as far as can be said before it runs.
type KindPreview struct {
	Kind       string
	Rule       Rule
	Wanted     int64 // at most one per event that the handler takes
	Registered int64 // keys of this kind that the ledger already knows in the scope
	Uncertain  int64
}

// Preview is shown before a replay is queued.
type Preview struct {
	Request  Request
	Events   int64
	Orders   int64
	First    int64 // position
	Last     int64
	FirstAt  *time.Time
	LastAt   *time.Time
	Kinds    []KindPreview
	Warnings []string
	UTCFrom  *time.Time
	UTCTo    *time.Time
	Overlaps []string // applies in progress on overlapping positions
}

// ApprovalPreview says what approving a simulation will set going.
type ApprovalPreview struct {
	Simulation  Replay
	NewID       string
	Totals      DiffTotals
	Effects     map[string]EffectCounters
	Rules       map[string]Rule
	Drift       []string // what moved since the simulation
	Hours       string   // when effects may be sent, or ""
	RequestedBy string
}

// DefaultPartitions are many more than workers, so that skew evens out and every replay gets a similar share
// of the runners.
const DefaultPartitions = 32

// policyOf gives the rule of a kind; a kind that nobody configured is suppressed.
func policyOf(rules map[string]Rule, kind string) (Rule, bool) {
	r, ok := rules[kind]
	if !ok {
		return Rule{Mode: ModeSuppress, When: WhenAlways, Policy: ledger.Policy{OnFailure: ledger.Keep}}, false
	}
	return r, true
}

// What a Rule does with a kind of effect, and when.
const (
	ModeApply    = "aplicar"
	ModeSuppress = "suprimir"
	WhenAlways   = "sempre"     // follow the event: the seed's behaviour
	WhenWritten  = "se-gravado" // only a state that stands: an old amount is not announced after a new one
)
