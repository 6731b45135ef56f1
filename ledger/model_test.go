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

func (s *search) executor(w world, who int) {
	e := w.ex[who]
	name := string(rune('A' + who))
	if e.at != idle && w.faults < s.faults {
		n := w
		n.faults++
		n.ex[who] = executor{}
		s.to(w, n, name+" dies", "")
	}
	switch e.at {
	case idle:
		if w.tokens < s.reserving {
			n := w
			n.tokens++
			n.ex[who] = executor{at: asking, token: n.tokens}
			s.reserve(w, n, who, name+" reserves")
		}
	case asking:
		s.reserve(w, w, who, name+" asks again")
	case owning:
		s.begin(w, who, name)
	case calling:
		s.finishCall(w, who, name)
	case reporting:
		s.report(w, who, name)
	}
}

// reserve executes a reservation: its reply arrives, or is lost, or the statement itself is late.
func (s *search) reserve(from, w world, who int, action string) {
	n := w
	n.reserved(s, who, n.ex[who].token, true)
	s.to(from, n, action, "")
	if w.faults < s.faults {
		n = w
		n.faults++
		n.reserved(s, who, n.ex[who].token, false)
		s.to(from, n, action+", reply lost", "")
		if w.late.at == idle {
			n = w
			n.faults++
			n.late = late{at: asking, who: int8(who), token: n.ex[who].token, content: s.contents[who]}
			s.to(from, n, action+", statement late", "")
		}
	}
}

// reserved executes the statement; heard says whether the executor gets the reply.
func (w *world) reserved(s *search, who int, token int8, heard bool) {
	before := w.row
	mine := w.row.reserve(s.caller(who, token), s.without)
	if w.row != before {
		w.holder = token
	}
	if w.row != before && s.windowed && (before.state == absent || !before.left) {
		w.window, w.closed = windowOpen, false
	}
	if !heard {
		return
	}
	e := executor{}
	if mine {
		e = executor{at: owning, token: token, human: w.row.resend, retry: w.row.attempts > 1 && !w.row.resend, old: w.row.stale,
			windowed: w.row.window != noWindow, over: w.row.window == windowOver}
	}
	w.ex[who] = e
}

func (s *search) begin(w world, who int, name string) {
	e := w.ex[who]
	young := !e.old && !(e.retry && e.over)
	if !e.old || s.without == callOnlyWhileYoung {
		if !(e.retry && e.over) || s.without == callOnlyInWindow || s.without == retakeOnlyInWindow {
			n := w
			n.ex[who].at, n.ex[who].timely = calling, young
			bad := ""
			if taken := w.row.state == doubtful || w.row.state == reserved && !w.row.ownedBy(e.token); taken && !e.old {
				bad = "P5: a young reservation was taken from its owner"
			}
			s.to(w, n, name+" calls", bad)
		}
	}
	n := w
	n.ex[who].at, n.ex[who].answer = reporting, unsent
	s.to(w, n, name+" gives up before it calls", "")
}

// finishCall ends a call in each way there is.
func (s *search) finishCall(w world, who int, name string) {
	e := w.ex[who]
	content := s.contents[who]
	end := func(n world, a answer, action, bad string) {
		n.ex[who].at, n.ex[who].answer, n.ex[who].timely = reporting, a, false
		s.to(w, n, name+action, bad)
		if a == ambiguous && s.without == callOnceWhenInDoubt {
			n.ex[who].at = owning
			s.to(w, n, name+action+" and tries again", bad)
		}
	}
	sent := w
	sent.sent = true
	if !e.human {
		sent.automatic++
	}
	delivered := sent
	bad := delivered.deliver(s, content, !e.human)
	end(delivered, acted, ": the provider acts", bad)
	end(delivered, ambiguous, ": the provider acts, no answer", bad)
	end(sent, ambiguous, ": no answer, nothing happened", "")
	end(w, refusedIt, ": refused", "")
	n := w
	n.ex[who].at = owning
	s.to(w, n, name+": not sent", "")
	if w.wire == 0 {
		n = sent
		n.wire, n.wireTime, n.wireAuto = content, e.timely, !e.human
		end(n, ambiguous, ": no answer, still on the wire", "")
	}
}

// deliver is what the provider does with a request.
func (w *world) deliver(s *search, content byte, automatic bool) (bad string) {
	if w.first != 0 && content != w.first && automatic {
		bad = "P2: another content was sent under the same key"
	}
	if w.first == 0 {
		w.first = content
	}
	if deduplicates := s.policy == release && !w.closed; !deduplicates || w.effective == 0 {
		w.effective++
	}
	return bad
}

func (s *search) report(w world, who int, name string) {
	e := w.ex[who]
	n := w
	bad := n.written(s, e.token, e.answer, e.old || e.wrote)
	lost := n
	n.ex[who] = executor{}
	s.to(w, n, name+" reports", bad)
	if w.faults < s.faults {
		lost.faults++
		lost.ex[who].wrote = true
		s.to(w, lost, name+" reports, reply lost", bad)
		if w.late.at == idle {
			n = w
			n.faults++
			n.late = late{at: reporting, token: e.token, answer: e.answer}
			n.ex[who].wrote = true // it may be, from now on
			s.to(w, n, name+" reports, statement late", "")
		}
	}
}

// written executes a write-back. excused: the owner may have lost the reservation, or has written already.
func (w *world) written(s *search, token int8, a answer, excused bool) (bad string) {
	before := w.row
	switch a {
	case acted, refusedIt:
		w.row.conclude(token, s.without)
	case unsent:
		w.row.giveBack(token, s.without)
	default:
		w.row.doubt(token, s.without)
	}
	switch {
	case w.row != before && w.holder != token:
		return "P5: changed by somebody who does not own it"
	case !excused && (before.state == doubtful || before.state == reserved && before.owner != token):
		return "P5: a young reservation was taken from its owner"
	}
	return ""
}

func (s *search) lateStatement(w world) {
	switch w.late.at {
	case asking:
		n := w
		n.late = late{}
		n.reserved(s, int(w.late.who), w.late.token, false)
		s.to(w, n, "late reservation arrives", "")
	case reporting:
		n := w
		n.late = late{}
		bad := n.written(s, w.late.token, w.late.answer, true)
		s.to(w, n, "late report arrives", bad)
	}
	if w.late.at != idle {
		n := w
		n.late = late{}
		s.to(w, n, "late statement is lost", "")
	}
}

// consumer is a consumer without tokens: one attempt, in time.
func (s *search) consumer(w world) {
	switch e := w.foreign; e.at {
	case idle:
		if e.wrote {
			return
		}
		n := w
		before := n.row
		if n.row.foreignReserve(s.policy == release, s.without) {
			n.foreign.at, n.holder = calling, -1
			if before.state == absent && s.windowed {
				n.window = windowOpen
			}
			s.to(w, n, "consumer reserves", "")
		}
	case calling:
		n := w
		n.foreign.at, n.foreign.answer = reporting, acted
		bad := n.deliver(s, 1, true)
		s.to(w, n, "consumer calls", bad)
		n.foreign.answer = ambiguous
		s.to(w, n, "consumer calls, no answer", bad)
		n = w
		n.foreign.at, n.foreign.answer = reporting, ambiguous
		s.to(w, n, "consumer calls, nothing happens", "")
	case reporting:
		n := w
		n.foreign = executor{wrote: true}
		switch {
		case e.answer == acted:
			n.row.foreignComplete()
		case s.policy == release:
			n.row.foreignDelete(s.without)
			if n.row.state == absent {
				n.first, n.effective = 0, 0 // what it forgets of its own nobody can know
			}
		default:
			n.row.foreignDoubt(s.without)
		}
		s.to(w, n, "consumer reports", "")
		n = w
		n.foreign = executor{wrote: true}
		s.to(w, n, "consumer dies", "")
	}
}

// clock lets time pass. A call that began in time has ended by then: that is what its deadline and the margin
// are for. So has a request on the wire.
func (s *search) clock(w world) {
	busy := w.foreign.at == calling || w.wire != 0 && w.wireTime
	for _, e := range w.ex {
		busy = busy || e.at == calling && e.timely
	}
	if !busy && (w.row.state == reserved && !w.row.stale || !w.ex[0].old && w.ex[0].at > asking || !w.ex[1].old && w.ex[1].at > asking) {
		n := w
		n.row.stale = n.row.state == reserved
		n.row.recent, n.row.quarantine = false, false
		for i := range n.ex {
			n.ex[i].old = n.ex[i].at > asking
		}
		s.to(w, n, "the sweep age passes", "")
	}
	if !busy && (w.row.quarantine || w.row.recent && w.row.state == reserved && w.row.free) {
		n := w
		n.row.recent, n.row.quarantine = false, false
		s.to(w, n, "the quarantine passes", "")
	}
	if w.window == windowOpen {
		n := w
		n.window = windowOver
		if n.row.window == windowOpen || n.row.policy == unknownPolicy && n.row.state != absent {
			n.row.window = windowOver
		}
		for i := range n.ex {
			n.ex[i].over = n.ex[i].windowed
		}
		s.to(w, n, "too late for a call in the window", "")
	}
	if !busy && w.window == windowOver && !w.closed {
		n := w
		n.closed = true
		s.to(w, n, "the provider forgets the key", "")
	}
}

func (s *search) network(w world) {
	if w.wire == 0 {
		return
	}
	n := w
	n.wire, n.wireTime, n.wireAuto = 0, false, false
	s.to(w, n, "the request on the wire is lost", "")
	bad := n.deliver(s, w.wire, w.wireAuto)
	s.to(w, n, "the request on the wire arrives", bad)
}

func (s *search) sweepAndReview(w world) {
	n := w
	if n.row.sweep(s.caller(0, 0), s.without) {
		bad := ""
		if w.row.resend && w.row.free {
			bad = "P12: what a person decided is undone"
		}
		s.to(w, n, "sweep", bad)
	}
	if w.row.state != absent && !w.seen {
		n = w
		n.seen = true
		s.to(w, n, "a reviewer looks", "")
	}
	if w.decided == maxDecisions {
		return
	}
	for v, name := range []string{"confirm", "resend", "discard"} {
		n = w
		if !n.row.decide(verdict(v), w.seen, s.without) {
			continue
		}
		n.decided++
		if verdict(v) == resend {
			n.permitted++
		}
		bad := ""
		switch {
		case !w.seen:
			bad = "P11: decided on a row that nobody saw"
		case w.wire != 0 || w.ex[0].at == calling || w.ex[1].at == calling || w.foreign.at == calling:
			bad = "P6: decided while a call is alive"
		}
		s.to(w, n, "a reviewer decides: "+name, bad)
	}
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
