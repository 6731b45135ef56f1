package ledger_test

import (
	"slices"
	"strings"
	"testing"
)

// The model check: everything that can happen to one effect, searched breadth first. Two executors, a consumer
// without tokens, a provider, a reviewer, sweeps and the clock take steps in every order; replies get lost,
// statements arrive late, processes die, requests stay on the wire after their caller gave up.
//
// The protocol must not reach a bad state. Each variant that lacks one guard must: so the model sees what each
// guard is for.

// scenario is what stays the same during a search.
type scenario struct {
	name      string
	policy    modelPolicy
	windowed  bool // the provider deduplicates for a while only
	contents  [2]byte
	foreign   bool // a consumer without tokens takes part
	reserving int8 // how many reservations may be asked for
	faults    int8 // how many deaths, lost replies and late statements there may be
}

var scenarios = []scenario{
	{name: "keep", policy: keep, contents: [2]byte{1, 1}, reserving: 3, faults: 2},
	{name: "release", policy: release, contents: [2]byte{1, 2}, reserving: 3, faults: 2},
	{name: "release, windowed", policy: release, windowed: true, contents: [2]byte{1, 1}, reserving: 3, faults: 1},
	{name: "keep, beside a consumer without tokens", policy: keep, contents: [2]byte{1, 1}, foreign: true, reserving: 2, faults: 1},
	{name: "release, beside a consumer without tokens", policy: release, windowed: true, contents: [2]byte{1, 1}, foreign: true, reserving: 2, faults: 0},
}

// step is where an executor is in its attempt.
type step byte

const (
	idle      step = iota
	asking         // the reply to its reservation was lost; it asks again with the same token
	owning         // it may call
	calling        // the request may be on the wire
	reporting      // the answer is known, and is being written back
)

type answer byte

const (
	noAnswer answer = iota
	acted
	refusedIt
	unsent
	ambiguous
)

type executor struct {
	at       step
	token    int8
	answer   answer
	retry    bool // an earlier attempt may have left, and no person allowed this one
	human    bool // a person allowed this one
	old      bool // the reservation is as old as the sweep age
	windowed bool // it knows of a window
	over     bool // which has ended
	wrote    bool // its write-back was executed, the reply lost
	timely   bool // the call began in time
}

// late is a statement whose sender got an error and which the database executes nevertheless.
type late struct {
	at      step // asking or reporting; idle: none
	who     int8
	token   int8
	answer  answer
	content byte
}

// world is a state of the search. It is a map's key.
type world struct {
	row      modelRow
	ex       [2]executor
	late     late
	foreign  executor
	wire     byte // content of a request whose caller gave up, still on its way; 0: none
	wireTime bool // it began in time
	wireAuto bool
	window   modelWindow // what the provider keeps
	closed   bool        // the provider has forgotten the key

	first     byte // content that the provider saw first
	effective int8
	automatic int8 // sent by executors without a person's permission
	permitted int8 // re-sends that persons allowed
	ours      bool // the row must not vanish any more
	sent      bool // by an executor: that must not be forgotten

	seen                    bool // a reviewer looks at the row as it is
	holder                  int8 // token that reserved last; -1: the consumer without tokens
	tokens, faults, decided int8
}

// maxDecisions is how often a person may decide.
const maxDecisions = 1

type edge struct {
	from   world
	action string
}

// search holds one breadth-first search.
type search struct {
	scenario
	without guard
	parents map[world]edge
	queue   []world
	bad     string
	end     world
}

func (s *search) run() (states int, trace []string, bad string) {
	start := world{}
	s.parents = map[world]edge{start: {}}
	s.queue = []world{start}
	for len(s.queue) > 0 && s.bad == "" {
		w := s.queue[0]
		s.queue = s.queue[1:]
		s.expand(w)
	}
	if s.bad != "" {
		for w := s.end; w != start; w = s.parents[w].from {
			trace = append(trace, s.parents[w].action)
		}
		slices.Reverse(trace)
	}
	return len(s.parents), trace, s.bad
}

// to adds a state that an action leads to; bad says which promise it breaks, or nothing.
func (s *search) to(from, w world, action, bad string) {
	if s.bad != "" {
		return
	}
	if w.row != from.row {
		w.seen = false
	}
	w.ours = w.ours || w.row.ours
	if bad == "" {
		bad = s.broken(from, w)
	}
	if _, known := s.parents[w]; known && bad == "" {
		return
	}
	if _, known := s.parents[w]; !known {
		s.parents[w] = edge{from, action}
		s.queue = append(s.queue, w)
	}
	if bad != "" {
		s.bad, s.end = bad, w
	}
}

// broken says which promise a transition breaks.
func (s *search) broken(from, w world) string {
	switch {
	case w.effective > 1+w.permitted:
		return "P1/P2: delivered twice without a person"
	case w.automatic > modelMaxAttempts:
		return "P2: more automatic attempts than allowed"
	case w.row.state == absent && w.ours:
		return "P4: the row is forgotten"
	case w.row.state == reserved && !w.row.left && w.sent:
		return "P4: that something may have left is forgotten"
	case from.row.state == done && w.row.state != done:
		return "P5: something finished is changed"
	case s.stuck(w):
		return "P3: nobody may retake it and no sweep moves it"
	}
	return ""
}

// stuck: everybody has gone, and the row would stay reserved for ever.
func (s *search) stuck(w world) bool {
	r := w.row
	if r.state != reserved || !r.free && !r.stale || w.late.at != idle || w.foreign.at != idle || w.ex[0].at != idle || w.ex[1].at != idle {
		return false
	}
	if !r.left || r.free && r.resend || r.retryAllowed(s.caller(0, 0), none) {
		return false
	}
	return !r.sweep(s.caller(0, 0), s.without)
}

func (s *search) caller(who int, token int8) caller {
	return caller{token: token, content: s.contents[who], policy: s.policy, windowed: s.windowed}
}

func (s *search) expand(w world) {
	for who := range w.ex {
		s.executor(w, who)
	}
	s.lateStatement(w)
	if s.foreign {
		s.consumer(w)
	}
	s.clock(w)
	s.network(w)
	s.sweepAndReview(w)
}

func TestModel_TheProtocolKeepsItsPromises(t *testing.T) {
	t.Parallel()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			if testing.Short() { // the race detector makes it ten times as long
				sc.reserving, sc.faults = 2, min(sc.faults, 1)
			}
			s := &search{scenario: sc}
			states, trace, bad := s.run()
			t.Logf("%d states", states)
			if bad != "" {
				t.Errorf("%s\n  %s", bad, strings.Join(trace, "\n  "))
			}
		})
	}
}

func TestModel_EveryGuardIsNeeded(t *testing.T) {
	t.Parallel()
	for g := none + 1; g < guards; g++ {
		t.Run(variants[g].guard, func(t *testing.T) {
			i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == variants[g].scenario })
			s := &search{scenario: scenarios[i], without: g}
			states, trace, bad := s.run()
			if bad == "" {
				t.Fatalf("nothing goes wrong without it, in %d states", states)
			}
			t.Logf("without it, in %d steps (%d states): %s\n  %s", len(trace), states, bad, strings.Join(trace, "\n  "))
		})
	}
}
