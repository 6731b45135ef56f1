package batch

import "errors"

// Errors that the command line turns into exit codes. They are wrapped with what was being done and to which
// replay.
var (
	// ErrNotFound: there is no replay of that id.
	ErrNotFound = errors.New("no such replay")
	// ErrExists: a replay of that id exists with another content; choose another id.
	ErrExists = errors.New("a replay of that id exists")
	// ErrHeld: somebody else is working the replay, or overlapping positions; wait for them or stop them.
	ErrHeld = errors.New("held by another")
	// ErrState: the replay is in a state that does not allow this; look at it again.
	ErrState = errors.New("not allowed in this state")
	// ErrNotAllowed: a rule such as four-eyes forbids this; another person has to do it.
	ErrNotAllowed = errors.New("not allowed")
	// ErrUsage: the request itself is wrong; correct it.
	ErrUsage = errors.New("invalid request")

	// errFenced: another slice claimed the partition; what this one did not commit is void.
	errFenced = errors.New("partition was claimed by another slice")
	// errStopped: the replay was paused, cancelled or taken over.
	errStopped = errors.New("replay stopped")
)
