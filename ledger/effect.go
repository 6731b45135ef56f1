package ledger

import (
	"encoding/json"
	"time"
)

// Live is the execution id of the live consumer; every other execution is a replay.
const Live = "ao-vivo"

// State is what the ledger stores of an effect. There are three, no others.
type State string

// The states of an effect.
//
//	            reserve                       answer known
//	(no row) ────────────▶ Reserved ─────────────────────────────▶ Done
//	                        │    ▲ retake (stale or given back,     ▲
//	                        │    │  while that is safe)             │ confirm, discard,
//	      ambiguous, swept  ▼    │ resend (a person)                │ look-up
//	                       Uncertain ───────────────────────────────┘
const (
	Reserved  State = "reservado"
	Done      State = "concluido"
	Uncertain State = "incerto"
)

// Result is how a Done effect ended.
type Result string

// The results of an effect that is Done.
const (
	Applied   Result = "aplicado"   // the provider did it
	Refused   Result = "recusado"   // the provider definitely did not, and never will
	Confirmed Result = "confirmado" // a reviewer said that it went out
	Discarded Result = "descartado" // a reviewer said that it must not go out any more
)

// OnFailure is what a failure that may have reached the provider leads to. It follows from what the provider
// does with a key that it has seen before.
type OnFailure string

// The policies on failure.
const (
	Release OnFailure = "liberar"   // the provider deduplicates by key: try again while it still does
	Keep    OnFailure = "manter"    // it does not: uncertain, for a person
	LookUp  OnFailure = "consultar" // it does not, but can be asked what it did with a key: uncertain, asked, then for a person
)

// Policy says how effects of one kind are treated. It is stored with the reservation, so that a later change
// of configuration cannot change the fate of an attempt that was made under it.
type Policy struct {
	OnFailure OnFailure
	// DedupWindow is how long after the first attempt the provider still deduplicates a key. Only for Release;
	// 0 means that it never forgets one.
	DedupWindow time.Duration
	// CallTimeout bounds one call to the provider.
	CallTimeout time.Duration
	// Quarantine is how long a call could still be alive somewhere: after it was given up, or after an
	// abandoned attempt began. A person decides only after it. 0 means the sweep age.
	Quarantine time.Duration
	// MaxAttempts bounds automatic attempts that may have left, over all executions. 0 means 5.
	MaxAttempts int
}

// Effect is one thing to do in the outside world because of one event.
type Effect struct {
	EventID   string
	Kind      string
	Execution string          // Live or a replay's id
	Content   json.RawMessage // what will be sent; kept, and compared by its canonical form
	Policy    Policy

	checked json.RawMessage // the canonical form of Content, once it is known
}

// Key is the effect's key in the ledger and the provider's idempotency key.
func (e Effect) Key() string { return Key(e.EventID, e.Kind) }

// Standing is what the ledger knows of an effect at the moment of asking. It is never one bucket: done,
// uncertain, in flight elsewhere and needing review are told apart.
type Standing string

// The standings.
const (
	Absent      Standing = "ausente" // no row, or one that may be (re)taken: it would be applied
	Mine        Standing = "minha"   // the caller owns a reservation now
	AlreadyDone Standing = "ja-registrado"
	InDoubt     Standing = "incerto"      // waits for a person or a look-up
	InFlight    Standing = "em-andamento" // somebody else's attempt, not yet stale: look again later
	NeedsReview Standing = "a-revisar"    // stale, but not safe to retake (window over, content differs, attempts used up)
)

// Status is a Standing with what a report wants to know of the row behind it.
type Status struct {
	Standing  Standing
	Execution string // that reserved or finished it
	Result    Result // when AlreadyDone
	Reason    string // when InDoubt or NeedsReview
	// Differs is true if content is known to have gone out, or to be in flight, under this key with another
	// value than the caller's.
	Differs bool
	// Content is what went out, when Differs.
	Content json.RawMessage
}
