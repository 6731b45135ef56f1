package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Errors of the ledger. They come wrapped with what was being done and to which effect.
var (
	// ErrLostOwnership: the reservation belongs to somebody else by now, or was settled by a sweep or a person.
	// What was reported changed nothing and is in the log of occurrences. Look at the effect again.
	ErrLostOwnership = errors.New("reservation no longer owned")
	// ErrTooOld: a call made now could outlive the reservation. Give the reservation back and reserve anew.
	ErrTooOld = errors.New("reservation too old for a call")
	// ErrClosed: the ledger was closed.
	ErrClosed = errors.New("ledger is closed")
	// ErrInvalid: the effect or its policy is malformed; nothing was written. Correct it, do not retry.
	ErrInvalid = errors.New("invalid effect")

	// ErrStale: the row changed since the reviewer saw it; see [*StaleError]. Show it again.
	ErrStale = errors.New("changed since it was shown")
	// ErrQuarantined: a call could still be alive; see [*QuarantineError]. Wait, or force the decision.
	ErrQuarantined = errors.New("a call could still be alive")
	// ErrNotUncertain: there is nothing to decide.
	ErrNotUncertain = errors.New("not uncertain")
	// ErrNoNote: a decision needs a note that says why.
	ErrNoNote = errors.New("a decision needs a note")
)

// StaleError says what became of a row that a reviewer saw. It is an [ErrStale].
type StaleError struct {
	State    State           // of the row now
	Decision *DecisionRecord // that was made on what the reviewer saw, or the newest one; nil if it changed for another reason
}

func (e *StaleError) Error() string {
	if e.Decision == nil {
		return fmt.Sprintf("%v: it is %v now", ErrStale, e.State)
	}
	return fmt.Sprintf("%v: %s decided %q at %s", ErrStale, e.Decision.Reviewer, e.Decision.Verdict, e.Decision.At.UTC().Format(time.RFC3339))
}

// Is makes it an [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// QuarantineError says how long a row cannot be decided yet. It is an [ErrQuarantined].
type QuarantineError struct{ Left time.Duration }

func (e *QuarantineError) Error() string {
	return fmt.Sprintf("%v for %s", ErrQuarantined, e.Left.Round(time.Second))
}

// Is makes it an [ErrQuarantined].
func (e *QuarantineError) Is(target error) bool { return target == ErrQuarantined }

// NotSentError is a failure of which it is certain that nothing of the request left.
type NotSentError struct{ Err error }

// NotSent classifies err: nothing of the request left, so it is safe to try again.
func NotSent(err error) error { return &NotSentError{Err: err} }

func (e *NotSentError) Error() string { return fmt.Sprintf("not sent: %v", e.Err) }
func (e *NotSentError) Unwrap() error { return e.Err }

// RefusedError is a definite refusal: the provider did not act, and never will for this content.
type RefusedError struct {
	Reason string          // machine-readable
	Answer json.RawMessage // the provider's, or nil
}

// RefusedBy classifies an answer: a definite refusal.
func RefusedBy(reason string, answer json.RawMessage) error {
	return &RefusedError{Reason: reason, Answer: answer}
}

func (e *RefusedError) Error() string { return "refused by the provider: " + e.Reason }

// AmbiguousError is a failure after which the provider may or may not have acted. Every error that is neither
// [NotSent] nor [RefusedBy] counts as one, with the reason [ReasonUnknown].
type AmbiguousError struct {
	Reason string          // machine-readable, e.g. "sem-resposta", "resposta-503", "sem-recibo"
	Answer json.RawMessage // the provider's, or nil
	Err    error           // or nil
}

func (e *AmbiguousError) Error() string {
	if e.Err == nil {
		return "ambiguous: " + e.Reason
	}
	return fmt.Sprintf("ambiguous: %s: %v", e.Reason, e.Err)
}
func (e *AmbiguousError) Unwrap() error { return e.Err }

// An error that says both that something may have left and that it did not is ambiguous.

func ambiguous(err error) bool {
	var e *AmbiguousError
	return errors.As(err, &e)
}

func notSent(err error) bool {
	var e *NotSentError
	return errors.As(err, &e) && !ambiguous(err) && definite(err) == nil
}

func definite(err error) *RefusedError {
	var e *RefusedError
	if errors.As(err, &e) && !ambiguous(err) {
		return e
	}
	return nil
}
