package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// DefaultMaxAttempts is the meaning of a Policy.MaxAttempts of 0.
const DefaultMaxAttempts = 5

// Validate reports everything that is wrong with the policy for a kind of effect, given the ledger's sweep age
// and margin. It names the values that clash. An [ErrInvalid].
func (p Policy) Validate(kind string, sweepAge, margin time.Duration) error {
	var wrong []error
	say := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%w: effects of kind %q: %s", ErrInvalid, kind, fmt.Sprintf(format, args...)))
	}
	switch p.OnFailure {
	case Release, Keep, LookUp:
	default:
		say("policy on failure %q: use %q, %q or %q", p.OnFailure, Release, Keep, LookUp)
	}
	if p.CallTimeout <= 0 {
		say("the call timeout is %s: it must be positive", p.CallTimeout)
	}
	if p.CallTimeout+margin >= sweepAge {
		say("the call timeout (%s) with the margin of %s must end inside the sweep age (%s): shorten the one or lengthen the other", p.CallTimeout, margin, sweepAge)
	}
	switch {
	case p.DedupWindow < 0:
		say("the deduplication window is %s: it must not be negative", p.DedupWindow)
	case p.DedupWindow > 0 && p.OnFailure != Release:
		say("a deduplication window (%s) needs the policy %q, it is %q", p.DedupWindow, Release, p.OnFailure)
	case p.DedupWindow > 0 && p.DedupWindow <= p.CallTimeout+margin:
		say("the deduplication window (%s) is over before a call (%s with a margin of %s) could be repeated: use %q, or shorten the call timeout", p.DedupWindow, p.CallTimeout, margin, Keep)
	}
	if p.Quarantine != 0 && p.Quarantine < p.CallTimeout+margin {
		say("the quarantine (%s) must cover the call timeout (%s) with the margin of %s", p.Quarantine, p.CallTimeout, margin)
	}
	if p.MaxAttempts < 0 {
		say("the maximum of attempts is %d: it must not be negative", p.MaxAttempts)
	}
	return errors.Join(wrong...)
}

func (p Policy) maxAttempts() int { return cmp.Or(p.MaxAttempts, DefaultMaxAttempts) }

// windowMicros is the deduplication window as the statements take it; nil means that it never ends.
func (p Policy) windowMicros() *int64 {
	if p.DedupWindow == 0 {
		return nil
	}
	us := microseconds(p.DedupWindow)
	return &us
}

func (l *Ledger) quarantine(p Policy) time.Duration { return cmp.Or(p.Quarantine, l.SweepAge) }
