// Package failpoint marks the steps at which tests kill the process. In a normal build [Hit] is empty and costs
// nothing; built with the tag "failpoint", the environment variable REPRISE_FAILPOINT=NAME or NAME:N makes the
// N-th hit of a step end the process with SIGKILL, as a crash would: nothing is flushed, closed or rolled back.
package failpoint

// The steps, in the order in which an effect passes them.
const (
	BeforeReserve    = "before-reserve"    // nothing is written
	AfterReserve     = "after-reserve"     // the reservation is durable, the call has not begun
	RequestWritten   = "request-written"   // the request is on the wire, the answer is not there
	AfterCall        = "after-call"        // the answer is known, nothing of it is written
	AfterRecord      = "after-record"      // the answer is written, the checkpoint has not moved
	BeforeCheckpoint = "before-checkpoint" // inside the transaction that would move it
	AfterCheckpoint  = "after-checkpoint"  // it has moved, the slice goes on
	BeforeState      = "before-state"      // inside the transaction that would write a part of the state
	AfterState       = "after-state"       // a part of the state is written, its effects have not begun
	AfterPlan        = "after-plan"        // partitions exist, none is worked
	BeforeConclude   = "before-conclude"   // everything is done but the account
	MidSweep         = "mid-sweep"         // some of what a sweep found is settled
	AfterDecision    = "after-decision"    // a decision is durable, its re-send is not made
	MidImport        = "mid-import"        // some batches of a file are in the archive
)
