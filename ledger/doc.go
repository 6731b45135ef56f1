// Package ledger is the ledger of external effects: one row for each effect of each event, under a key that
// depends on nothing else, so that whoever processes the event — a live consumer, a replay, a second replay — finds
// out what already happened and does only what is missing. A consumer imports this package and nothing else.
//
//	books := ledger.New(pool, ledger.Options{})
//	defer books.Close()
//	if err := books.Check(ctx); err != nil { // is the database migrated, by no newer version?
//		return err
//	}
//	effect := ledger.Effect{
//		EventID: "ev-17", Kind: "notificar-vendedor", Execution: ledger.Live, Content: body,
//		Policy: ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 10 * time.Second},
//	}
//	outcome, err := books.Do(ctx, effect, func(ctx context.Context, a ledger.Attempt) (json.RawMessage, error) {
//		return gateway.Notify(ctx, a.Content, a.Key) // one request; a.Key is its idempotency key
//	})
//	again := err != nil || outcome.Did == ledger.DidWait // whether the event has to come again
//
// The events and the kinds of effect may be any. The tables are made by "reprise migrate", or by package schema; the
// pool is any to that database. The package's example is a whole consumer.
//
// # What it promises
//
//   - P1: under any single fault a provider that does not deduplicate gets an effect at most once automatically.
//     A second delivery needs a recorded decision of a person.
//   - P2: a provider that deduplicates gets at most one effective delivery; it is tried again only while it still
//     deduplicates that key, and only with the same content.
//   - P3: nothing stays reserved longer than the sweep age plus one sweep period: it is done, back in work, or
//     uncertain. (Somebody has to call [Ledger.Sweep]: a running "reprise run" does for the kinds of its
//     configuration, whose events are in its archive; for others, who brings them about.)
//   - P4: once a request may have left, its row is never deleted.
//   - P5: only the attempt that owns a reservation changes it; a late answer changes nothing and is logged.
//   - P6: a person's decision cannot race with a call that could still be alive.
//   - P12: every decision is attributable, and its record is tamper-evident.
//
// # How
//
// [Ledger.Do] reserves, calls, records. To reserve is one conditional statement, never a check and then an act. The
// call's error says what is known of the request: [NotSent], [RefusedBy], or anything else, which is ambiguous. What
// follows from an ambiguous attempt is the policy that it was reserved under: [Release] tries again, [Keep] leaves it
// to a person, [LookUp] asks the provider first. Effects that run at the same time share statements.
//
// All ages come from the database's clock, and nothing relies on a session: a pooler may be in the path. A consumer
// that runs the original statements without tokens may work on the same rows; triggers of the schema keep it
// from undoing what is promised here.
//
// # What stays
//
// The form of keys, the three states, and the values that are stored for states, results, policies and reasons stay what
// they are: databases and other programs hold them. Reasons are open: providers and later versions add some. So do the
// names and the behaviour in this package, until a new major version. The statements and the columns beyond those of
// the original consumer are the package's own: read them through it. A database is served by the version
// that migrated it, or by a newer one after "reprise migrate".
//
// # What it does not do
//
// Between "the provider acted" and "it is recorded" there is a window that no ledger closes. For a provider
// that does not deduplicate the ledger prefers an effect that is possibly missing, and seen by a person, to one that possibly
// happens twice. It trusts three things: that a call makes at most one request and ends at its deadline, that a
// provider deduplicates for as long as the policy says, and that the database does not lose what it committed.
package ledger
