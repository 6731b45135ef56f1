package ledger

import (
	"encoding/json"
	"time"
)

// Verdict is what a person decides about an uncertain effect.
type Verdict string

// The verdicts.
const (
	Confirm Verdict = "confirmar" // it went out: Done
	Resend  Verdict = "reenviar"  // it did not: one more send, made by the runner
	Discard Verdict = "descartar" // it must not go out any more: Done, nothing is sent
)

// Decision is a verdict on the row that the reviewer saw.
type Decision struct {
	Key     string
	Verdict Verdict
	Note    string    // why; required
	Seen    time.Time // UncertainEffect.Version of the row that was shown
	Force   bool      // decide although a call could still be alive; recorded
	Origin  string    // host, operating-system user and program version; free text
}

// Uncertain effects as the review queue shows them.
type UncertainEffect struct {
	Key, EventID, Kind, Execution string
	Reason                        string // machine-readable, e.g. "sem-resposta"
	OnFailure                     OnFailure
	Attempts                      int
	Since                         time.Time     // when it became uncertain
	Version                       time.Time     // names this very row; goes into Decision.Seen
	QuarantineLeft                time.Duration // 0: decidable; by the database's clock
	NextLookUp                    *time.Time
	LookUps                       int
	Content                       json.RawMessage // what was, or was about to be, sent
}

// Occurrence is one line of the log of what was not plain success.
type Occurrence struct {
	ID                         int64
	Key, Execution, Kind, Text string // Kind: what happened, e.g. "falha-ambigua"
	Answer                     json.RawMessage
	At                         time.Time
}

// DecisionRecord is one decision as it was recorded.
type DecisionRecord struct {
	ID             int64
	Key            string
	Verdict        Verdict
	Reviewer       string // the database role
	Origin, Note   string
	Forced         bool
	Reason         string // why it had been uncertain
	At             time.Time
	Hash, PrevHash []byte
}

// UncertainQuery selects a page of the review queue, oldest first.
type UncertainQuery struct {
	Kind, Execution, Reason string // "" matches all
	Text                    string // substring of the key
	After                   *Cursor
	Limit                   int // 0: 100
	Backwards               bool
}

// UncertainCount is a part of the review queue, counted.
type UncertainCount struct {
	Kind, Reason string
	Effects      int64
	Oldest       time.Time // since when the oldest of them is uncertain
}

// Cursor names a place in the review queue.
type Cursor struct {
	Version time.Time
	Key     string
}
