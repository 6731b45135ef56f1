package batch

// Remarks are what the engine says to people about its work. They are stored in English, to be read in psql as well;
// package tui knows each by its format and says it in the reader's language.
const (
	// Why a replay waits.
	remarkGap         = "%d position is missing; waiting for open transactions that may fill it"
	remarkGaps        = "%d positions are missing; waiting for open transactions that may fill them"
	remarkInFlightOne = "%d effect is in flight elsewhere; it is settled at the latest when it reaches the sweep age"
	remarkInFlight    = "%d effects are in flight elsewhere; they are settled at the latest when they reach the sweep age"
	remarkProvider    = "provider %s: %s"
	remarkOverlap     = "positions are being worked by %s"
	remarkRetry       = "tried again after an error: %s"
	remarkNoProvider  = "effects of kind %s go to provider %q, which this host does not know: add [providers.%s] to its configuration"

	// What a run lacks.
	remarkPoisonOne   = "%d event could not be processed (replay show lists it)"
	remarkPoison      = "%d events could not be processed (replay show lists them)"
	remarkDoubtOne    = "%d effect is uncertain and waits for review"
	remarkDoubt       = "%d effects are uncertain and wait for review"
	remarkPendingOne  = "%d effect is pending"
	remarkPending     = "%d effects are pending"
	remarkOpenGap     = "%d position is missing and a transaction that may still fill it has been open for more than %s"
	remarkOpenGaps    = "%d positions are missing and a transaction that may still fill them has been open for more than %s"
	remarkLimitOne    = "limit of %d effect reached"
	remarkLimit       = "limit of %d effects reached"
	remarkNoPolicy    = "no policy for effects of kind %s: they were suppressed"
	remarkUnfinished  = "not every partition was worked to its end"
	remarkInfinite    = "ocorrido_em is infinite" // of one event
	remarkHandlerFell = "handler %s panicked: %v"

	// What a request would meet.
	remarkNoEvents    = "no archived event is in this scope: check the window and its time zone"
	remarkUnknownKind = "effects of kind %s have no policy in the configuration: they will be suppressed"
	remarkSuppressed  = "%s suppressed effects of kind %s on some of these positions; this run would send them"

	// What moved since a simulation.
	remarkApproved   = "it was approved before, as %s (%v)"
	remarkMovedOne   = "the state of %d order changed since the simulation"
	remarkMoved      = "the state of %d orders changed since the simulation"
	remarkScopeOne   = "the scope holds %d event, the simulation saw %d"
	remarkScope      = "the scope holds %d events, the simulation saw %d"
	remarkNewPolicy  = "the configured policy for effects of kind %s changed; the apply keeps the simulation's"
	remarkOldProgram = "the simulation ran with program version %s, this is %s"

	// What the engine refuses, and why.
	refusePause     = "pause %s: %w"
	refuseResume    = "resume %s: %w"
	refuseCancel    = "cancel %s: %w"
	refuseRevert    = "revert %s: %w"
	refuseApproval  = "approve %s: %w"
	refuseRequest   = "queue %s: %w"
	refuseRunNow    = "run %s now: %w"
	becauseOfState  = "it is %v: %w"
	becauseNoChange = "a simulation changed nothing: %w"
	becauseOfMode   = "it is a replay in mode %v, %v; only a finished simulation can be approved: %w"
	becauseFourEyes = "%s requested it; with four-eyes on another database role has to approve: %w"
	becauseTaken    = "%w with another scope, mode or limit; it is %v. Choose another id"
	becauseAtWork   = "it is worked by %s since %s: %w"
	wrongID         = "id %q: 1 to 100 of letters, digits, '.', '_', ':' and '-', starting with a letter or digit"
	wrongLiveID     = "id %q names the live consumer; choose another"
	wrongHandler    = "%d handlers take event types %v; name one"

	// How a slot of a schedule went. What a sweep did is a list of them.
	remarkMissed       = "not run in time: nobody was there, or the one before was at work"
	remarkLate         = "%s (%s late)"
	remarkQueued       = "queued %s"
	remarkQueuedBefore = "already queued as %s"
	remarkSwept        = "%d moved to review"
	remarkRetried      = "%d brought to an end"
	remarkLeftOver     = "%d left over"
	remarkLookedUp     = "%d looked up"
	remarkStrange      = "%d of unknown kind"
	remarkNoEvent      = "%d without event"
	remarkNothing      = "nothing to settle"
)

// Counted is the format of a remark for the number 1, or for any other.
func Counted[N int | int64 | float64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
