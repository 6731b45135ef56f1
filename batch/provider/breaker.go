package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sony/gobreaker/v2"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

// newBreaker stops calls after consecutive failures, not sent or ambiguous, and then lets one at a time try. A
// refusal is an answer, and a call that we cut off ourselves says nothing.
func (p *Provider) newBreaker() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: p.Name, MaxRequests: 1, Timeout: p.BreakerWait,
		ReadyToTrip: func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(p.BreakerAfter) },
		IsSuccessful: func(err error) bool {
			var refused *ledger.RefusedError
			return err == nil || errors.As(err, &refused)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(name string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				at := time.Now().Add(p.BreakerWait)
				p.opensAt.Store(&at)
				p.Log.Warn("provider fails; calls stop", "provider", name, "until", at)
			case gobreaker.StateClosed:
				p.Log.Info("provider answers again", "provider", name)
			case gobreaker.StateHalfOpen:
			}
		},
	})
}

// failing is a [*batch.ClosedError] while the breaker is open.
func (p *Provider) failing() error {
	if p.breaker.State() != gobreaker.StateOpen {
		return nil
	}
	until := time.Now().Add(p.BreakerWait)
	if at := p.opensAt.Load(); at != nil {
		until = *at
	}
	return &batch.ClosedError{Why: fmt.Sprintf(batch.Counted(p.BreakerAfter, remarkFailedOnce, remarkFailed), p.BreakerAfter), Until: until, Failing: true}
}

// admit lets one caller at a time pass while the breaker is half-open.
func (p *Provider) admit() (endProbe func(), err error) {
	if p.breaker.State() != gobreaker.StateHalfOpen {
		return func() {}, nil
	}
	if !p.probing.CompareAndSwap(false, true) {
		return nil, &batch.ClosedError{Why: remarkProbed, Until: time.Now().Add(time.Second), Failing: true}
	}
	return func() { p.probing.Store(false) }, nil
}
