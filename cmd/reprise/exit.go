package main

import (
	"context"
	"errors"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

// Exit codes.
const (
	exitDone        = 0
	exitError       = 1
	exitUsage       = 2 // usage or configuration
	exitPartial     = 3 // finished, and something needs a person
	exitRefused     = 4 // held by another, stale, or not allowed
	exitInterrupted = 130
)

// usageError marks a mistake in the command line or the configuration.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// silent is an exit code whose reason was printed already.
type silent int

func (silent) Error() string { return "" }

func exitCode(err error) int {
	var code silent
	var usage usageError
	switch {
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.Is(err, batch.ErrUsage):
		return exitUsage
	case errors.Is(err, batch.ErrHeld), errors.Is(err, batch.ErrState), errors.Is(err, batch.ErrNotAllowed), errors.Is(err, batch.ErrExists),
		errors.Is(err, ledger.ErrStale), errors.Is(err, ledger.ErrQuarantined), errors.Is(err, ledger.ErrNotUncertain):
		return exitRefused
	default:
		return exitError
	}
}
