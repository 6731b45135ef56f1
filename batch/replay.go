package batch

import (
	"time"

	"reprise.dev/reprise/ledger"
)

// Mode says whether a replay only computes or also acts.
type Mode string

// The modes.
const (
	Simulate Mode = "simular"
	Apply    Mode = "aplicar"
)

// State is where a replay is in its life.
type State string

// The states of a replay, and how one leads to another:
//
//	Queued ──plan──▶ Running ──finish──▶ Done | Partial | Failed
//	   │               │  ▲
//	   │         pause ▼  │ resume
//	   │             Paused
//	   └──── cancel ───┴────────────────▶ Cancelled
//
// A Partial or Failed replay may be resumed, which makes it Running again.
const (
	Queued    State = "enfileirado"
	Running   State = "executando"
	Paused    State = "pausado"
	Done      State = "concluido"
	Partial   State = "parcial"
	Failed    State = "falhou"
	Cancelled State = "cancelado"
)

// Scope says which events a replay takes: a half-open window of time or a closed range of positions, or both,
// narrowed by types and orders (empty: all).
type Scope struct {
	From, To *time.Time `json:",omitempty"` // [From, To)
	Zone     string     `json:",omitempty"` // in which the window was asked for, e.g. America/Sao_Paulo
	FirstPos *int64     `json:",omitempty"` // [FirstPos, LastPos]
	LastPos  *int64     `json:",omitempty"`
	Types    []string   `json:",omitempty"`
	Orders   []string   `json:",omitempty"`
}

// Rule is what a replay does with one kind of effect.
type Rule struct {
	Mode          string // "aplicar" or "suprimir"
	When          string // "sempre" or "se-gravado"
	ledger.Policy        // how the ledger treats it
	Provider      string // name in the configuration
}

// Limits bound a run.
type Limits struct {
	Effects int64 `json:",omitempty"` // newly attempted effects; 0: no limit
}

// Replay is one queued run.
type Replay struct {
	ID         string
	Handler    string
	Mode       Mode
	State      State
	Scope      Scope
	Rules      map[string]Rule // by kind of effect, frozen when queued
	Limits     Limits
	Partitions int
	Priority   int    // 1 goes first, 4 last
	Events     *int64 // in scope, counted at planning
	Simulation string // the run that an apply was approved from

	RequestedBy, ApprovedBy string
	Holder                  string // foreground process that holds it, or ""
	HolderSince             *time.Time
	Waiting                 string // why it waits, or ""
	Error                   string
	Summary                 *Summary // once finished
	CodeVersion             string
	Generation              int // raised whenever its jobs are handed out anew

	CreatedAt             time.Time
	PlannedAt, StartedAt  *time.Time
	FinishedAt, UpdatedAt *time.Time
}

// Counters account for what was done with events and effects. They are moved in the transaction that moves a
// checkpoint, so they never count anything twice.
type Counters struct {
	Read      int64 // events in scope that were read
	Passed    int64 // of a type that the handler does not take
	Written   int64 // state written by this run
	Unchanged int64 // state was already right
	Newer     int64 // a newer version was kept
	Poison    int64
	OtherMode int64                     // events whose value differs between exact and IEEE arithmetic
	Effects   map[string]EffectCounters // by kind
	InHand    map[string]EffectCounters `json:",omitempty"` // of events that the checkpoint has not passed yet; not added up
	// Reached is the most events that were ever settled one after another, in hand or not; 0 if that was not seen. A
	// process that dies leaves it ahead of the checkpoint. Not added up.
	Reached int64 `json:",omitempty"`
}

// EffectCounters account for the effects of one kind.
type EffectCounters struct {
	Applied    int64 // done by this run (in a simulation: that it would do)
	Registered int64 // done before, by whomever
	Refused    int64 // by the provider, in this run
	Uncertain  int64 // waiting for a person or a look-up
	Suppressed int64
	Superseded int64 // not wanted because a newer version was kept ("se-gravado")
	Pending    int64 // given back or in flight elsewhere
	Differs    int64 // went out with another value; also counted above
}

// Gap is a range of positions that the archive does not hold.
type Gap struct{ First, Last int64 }

// Summary is the final account of a run. Every event in scope is in exactly one of the counters.
type Summary struct {
	Counters
	Events   int64    // in scope at the end, counted again
	Gaps     []Gap    // the first hundred
	GapCount int64    // positions missing
	Late     int64    // events that became visible behind a checkpoint and were processed
	Orders   int64    // orders in the diff
	Changed  int64    // of them, with another value
	Missing  []string // what keeps it from being Done, in words
	Elapsed  time.Duration
}

// Partition is a contiguous range of positions with its own checkpoint.
type Partition struct {
	Index       int
	First, Last int64 // positions
	Position    int64 // the checkpoint
	Events      int64 // in scope at planning
	Done        bool
	Owner       string // process that works it now, or ""
	Epoch       int64
	Counters    Counters // up to Position
	Settled     int64    // events settled one after another, also of what is in hand beyond Position; never falls

	// Of an apply's first stage.
	ProjectedAll bool
	Projection   Counters
}

// Stage is how far a run is. A simulation has the last one only; an apply takes all of its events, writes all of its
// state, and only then begins with effects.
type Stage string

// The stages, in their order.
const (
	Projecting Stage = "projetar" // finding out what the events lead to
	Writing    Stage = "gravar"   // writing the state
	Working    Stage = "efeitos"  // bringing about effects; in a simulation, everything
)

// Progress is what a person watches of a run: taken in one query, plain to test and to print.
type Progress struct {
	Replay     Replay
	Stage      Stage
	StageDone  int64 // of StageAll: events projected, or parts of the state written; in the last stage, events settled
	StageAll   int64
	Partitions []Partition
	Settled    int64     // events, of all partitions
	Total      Counters  // of what is settled, and of the state that is written
	At         time.Time // database clock
	Hosts      []Host
}

// Host is a running process of Reprise.
type Host struct {
	ID, Machine, Role, Version string
	PID                        int
	StartedAt, SeenAt          time.Time
}

// Failure is an event that could not be processed.
type Failure struct {
	Execution        string
	Position         int64
	EventID, OrderID string
	Reason           string
	At               time.Time
}

// Firing is one slot of a schedule.
type Firing struct {
	Task       string
	Slot       time.Time
	State      string // executando, concluido, falhou, perdido
	Host       string
	ClaimedAt  time.Time
	FinishedAt *time.Time
	Detail     string
}

// NextFiring is when a schedule fires next.
type NextFiring struct {
	Task, Spec string
	Next       time.Time
}
