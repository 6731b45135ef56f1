package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cenkalti/backoff/v5"

	"reprise.dev/reprise/schema/failpoint"
)

// Call makes one attempt at the provider: at most one request on the wire, within the context's deadline. Its
// error is classified by [NotSent], [RefusedBy] and [AmbiguousError]; any other error is ambiguous. Beware of clients that
// repeat requests by themselves: net/http does, of those with an Idempotency-Key, unless GetBody is nil.
type Call func(ctx context.Context, a Attempt) (result json.RawMessage, err error)

// Attempt is what a [Call] needs to know.
type Attempt struct {
	Key     string // the provider's idempotency key
	Number  int    // counts the attempts that may have left, this one included
	Content json.RawMessage
}

// What [Ledger.Do] did.
const (
	DidApply  = "applied"    // the provider acted, and it is recorded
	DidRefuse = "refused"    // the provider refused, and it is recorded
	DidDoubt  = "uncertain"  // the attempt may have left; a person or a look-up decides
	DidFind   = "registered" // nothing: it is done or uncertain already
	DidWait   = "pending"    // nothing that lasts: in flight elsewhere, or given back; look again
	DidReview = "review"     // nothing: an abandoned reservation that is not safe to retake; the next sweep settles it
)

// Outcome is what became of an effect.
type Outcome struct {
	Status
	Did     string          // one of the Did… constants
	Answer  json.RawMessage // the provider's, when DidApply
	Attempt int             // 0: no attempt was made
	Err     error           // the provider's, unless DidApply
}

// notSentTries is how often a call is made under one reservation while nothing of it leaves.
const notSentTries = 6

// Do is the whole protocol for one effect: reserve, call, record. The error is the ledger's, never the
// provider's; [ErrLostOwnership] if the answer came too late to be recorded. After an error, and when it [DidWait], the
// effect has to be asked for again; else the event is dealt with, as far as this effect is concerned: what is
// uncertain is in other hands.
//
// Cancelling ctx cancels the call; what is known then is still recorded.
func (l *Ledger) Do(ctx context.Context, e Effect, call Call) (Outcome, error) {
	if err := l.begin(); err != nil {
		return Outcome{}, fmt.Errorf("reserve %s: %w", e.Key(), err)
	}
	defer l.inFlight.Done()
	r, status, err := l.Reserve(ctx, e)
	if err != nil {
		return Outcome{}, err
	}
	switch status.Standing {
	case Mine:
		return l.attempt(ctx, r, call)
	case AlreadyDone, InDoubt:
		return Outcome{Status: status, Did: DidFind}, nil
	case NeedsReview:
		return Outcome{Status: status, Did: DidReview}, nil
	default:
		return Outcome{Status: status, Did: DidWait}, nil
	}
}

// TimeLeft is how long a call under the reservation may take if it starts now, at most the policy's call
// timeout; 0 if there is not that much time left, before the sweep age and before the end of the window in which the
// provider deduplicates a retry. It is measured from before the reservation was asked for, by the monotonic clock, so it
// never exceeds what the database sees.
func (l *Ledger) TimeLeft(r Reservation) time.Duration {
	end := time.Since(r.since) + r.Policy.CallTimeout + l.Margin
	if end >= l.SweepAge || r.window > 0 && end > r.window {
		return 0
	}
	return r.Policy.CallTimeout
}

// attempt calls until something may have left, and records what came of it.
func (l *Ledger) attempt(ctx context.Context, r Reservation, call Call) (Outcome, error) {
	pause := &backoff.ExponentialBackOff{InitialInterval: 200 * time.Millisecond, RandomizationFactor: 0.3, Multiplier: 2, MaxInterval: 5 * time.Second}
	pause.Reset()
	failure := NotSent(ErrTooOld)
	for try := 0; try < notSentTries && ctx.Err() == nil; try++ {
		if try > 0 && !sleep(ctx, pause.NextBackOff()) {
			break
		}
		left := l.TimeLeft(r)
		if left == 0 {
			break
		}
		var answer json.RawMessage
		failpoint.Hit(failpoint.AfterReserve)
		answer, failure = l.callOnce(ctx, r, left, call)
		failpoint.Hit(failpoint.AfterCall)
		if failure == nil {
			return l.applied(ctx, r, answer)
		}
		if !notSent(failure) {
			return l.failed(ctx, r, failure)
		}
	}
	if ctx.Err() != nil && errors.Is(failure, ErrTooOld) {
		failure = NotSent(ctx.Err())
	}
	if err := l.GiveBack(ctx, r, failure); err != nil {
		return Outcome{Attempt: r.Attempt, Err: failure, Did: DidWait}, err
	}
	return Outcome{
		Status: Status{Standing: Absent, Execution: r.Execution, Reason: ReasonNotSent}, Did: DidWait, Attempt: r.Attempt, Err: failure,
	}, nil
}

func (l *Ledger) callOnce(ctx context.Context, r Reservation, limit time.Duration, call Call) (answer json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			l.Logger.Error("call panicked", "effect", r.Key(), "panic", p, "stack", string(debug.Stack()))
			err = &AmbiguousError{Reason: ReasonPanic, Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	return call(ctx, Attempt{Key: r.Key(), Number: r.Attempt, Content: r.Content})
}

func (l *Ledger) applied(ctx context.Context, r Reservation, answer json.RawMessage) (Outcome, error) {
	out := Outcome{
		Status: Status{Standing: AlreadyDone, Execution: r.Execution, Result: Applied}, Did: DidApply, Answer: answer, Attempt: r.Attempt,
	}
	err := l.Complete(ctx, r, answer)
	failpoint.Hit(failpoint.AfterRecord)
	return out, err
}

// failed records a failure after which something left.
func (l *Ledger) failed(ctx context.Context, r Reservation, failure error) (Outcome, error) {
	out := Outcome{Status: Status{Execution: r.Execution}, Attempt: r.Attempt, Err: failure}
	if refused := definite(failure); refused != nil {
		out.Did, out.Standing, out.Result, out.Reason = DidRefuse, AlreadyDone, Refused, refused.Reason
		return out, l.Refuse(ctx, r, refused)
	}
	state, reason, err := l.Doubt(ctx, r, failure)
	out.Did, out.Standing, out.Reason = DidDoubt, InDoubt, reason
	if state == Reserved {
		out.Did, out.Standing = DidWait, Absent
	}
	return out, err
}

// sleep reports whether it slept all of it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
