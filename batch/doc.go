// Package batch is what happens to archived events: replays are queued, planned, worked in partitions by any number of
// hosts and accounted for, the live consumer follows the archive, schedules fire, and abandoned effects are swept. What
// is told to the outside world goes through package ledger; what an event means is said by a [Handler].
//
// A [Store] asks and commands, as a person does; an [Engine] executes.
package batch
