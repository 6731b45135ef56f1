package batch

import (
	"encoding/json"
	"fmt"
	"sort"
)

// Handler is the extension point: it says which event types it takes, what state an event leads to and which
// effects it wants. A handler is pure: the same event gives the same projection, on any host, at any time.
//
// A new handler is one file that implements this interface and one line in [Handlers].
type Handler interface {
	// Name is what configuration, queue and reports call it.
	Name() string
	// Types are the event types that it takes; others in scope are passed over and counted.
	Types() []string
	// Kinds are the kinds of effect that it may want.
	Kinds() []string
	// Project computes what an event means. An error marks the event as poison: it is recorded with its
	// position and the run ends partial.
	Project(Event) (Projection, error)
	// State is the table that its projections are stored in.
	State() StateTable
}

// Projection is what one event leads to.
type Projection struct {
	Value   int64 // new value of the order's state, in the handler's unit (cents for a commission)
	Effects []Wanted
	// OtherValue is what the handler's other arithmetic (exact against IEEE) gives, if that differs.
	OtherValue *int64
}

// Wanted is an effect that an event asks for.
type Wanted struct {
	Kind    string
	Content json.RawMessage
}

// StateTable holds a handler's own set-based statements. What events lead to is in reprocessamento_projetado: by run
// and part, arrays of order ids, versions and values; the newest version of each order counts.
type StateTable struct {
	// Diff ($1 execution id, $2 part, null for all) fills reprocessamento_diff from what was projected and the state
	// as it is, leaving out orders whose state is newer. All parts run as of one snapshot.
	Diff string
	// Drift ($1 execution id) counts the orders of a diff whose state is not its 'antes' any more.
	Drift string
	// Write ($1 execution id, $2 part, $3 whether the run may have written the part before) writes the state where
	// the stored version is not newer, together with the before-image in reprocessamento_diff. Returned: how many events
	// the part has; how many orders this run wrote; how many were right already; and whether all of that is true. If
	// not, or if it fails with a unique violation, somebody wrote at the same time: it is rolled back and repeated.
	Write string
	// Follow ($1 order ids, distinct, $2 values, $3 versions) writes the state where the stored version is
	// not newer, returning the ids of the orders that it wrote.
	Follow string
	// Versions reads the state of each order ($1 order ids): order id, value, version.
	Versions string
	// Revert ($1 execution id) undoes what a run wrote and nobody overwrote since, returning the order ids.
	Revert string
}

// Handlers maps names to handlers.
type Handlers map[string]Handler

// Get finds a handler by name.
func (h Handlers) Get(name string) (Handler, error) {
	if handler, ok := h[name]; ok {
		return handler, nil
	}
	names := make([]string, 0, len(h))
	for n := range h {
		names = append(names, n)
	}
	sort.Strings(names)
	return nil, fmt.Errorf("no handler %q; there are: %v", name, names)
}
