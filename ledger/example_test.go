package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"reprise.dev/reprise/ledger"
)

// An effect happens once, however often its event is processed and whoever processes it.
func ExampleLedger_Do() {
	pool, drop := exampleDatabase()
	defer drop()
	books := ledger.New(pool, ledger.Options{})
	defer books.Close()

	effect := ledger.Effect{
		EventID: "ev-17", Kind: "notificar-vendedor", Execution: ledger.Live,
		Content: json.RawMessage(`{"pedidoId":"p-1","valorCentavos":150}`),
		Policy:  ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 10 * time.Second},
	}
	notify := func(_ context.Context, a ledger.Attempt) (json.RawMessage, error) {
		fmt.Printf("to the provider, under %s: %s\n", a.Key, a.Content)
		return json.RawMessage(`{"recibo":1}`), nil
	}
	for _, execution := range []string{ledger.Live, "replay-2026-10-14"} {
		effect.Execution = execution
		outcome, err := books.Do(context.Background(), effect, notify)
		fmt.Println(execution, outcome.Did, err)
	}
	// Output:
	// to the provider, under ev-17:notificar-vendedor: {"pedidoId":"p-1","valorCentavos":150}
	// ao-vivo applied <nil>
	// replay-2026-10-14 registered <nil>
}

// What cannot be known goes to a person, with what is known.
func ExampleLedger_Decide() {
	pool, drop := exampleDatabase()
	defer drop()
	books := ledger.New(pool, ledger.Options{})
	defer books.Close()
	ctx := context.Background()

	effect := ledger.Effect{
		EventID: "ev-17", Kind: "notificar-vendedor", Execution: ledger.Live, Content: json.RawMessage(`{"valorCentavos":150}`),
		Policy: ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 10 * time.Second},
	}
	outcome, _ := books.Do(ctx, effect, func(context.Context, ledger.Attempt) (json.RawMessage, error) {
		return nil, &ledger.AmbiguousError{Reason: "sem-resposta", Err: errors.New("timed out")}
	})
	fmt.Println(outcome.Did)

	queue, _ := books.Uncertain(ctx, ledger.UncertainQuery{})
	decision := ledger.Decision{Key: queue[0].Key, Seen: queue[0].Version, Verdict: ledger.Resend, Note: "the seller got nothing"}
	_, err := books.Decide(ctx, decision)
	fmt.Println(queue[0].Key, queue[0].Reason, string(queue[0].Content), errors.Is(err, ledger.ErrQuarantined))

	decision.Force = true // a call that is still alive may then be repeated
	_, err = books.Decide(ctx, decision)
	fmt.Println(err)
	// Output:
	// uncertain
	// ev-17:notificar-vendedor sem-resposta {"valorCentavos": 150} true
	// <nil>
}

// A sweep settles what was abandoned; what may be tried again it hands back.
func ExampleLedger_Sweep() {
	pool, drop := exampleDatabase()
	defer drop()
	books := ledger.New(pool, ledger.Options{})
	defer books.Close()
	ctx := context.Background()

	policy := ledger.Policy{OnFailure: ledger.Release, DedupWindow: 24 * time.Hour, CallTimeout: 10 * time.Second}
	effect := ledger.Effect{EventID: "ev-17", Kind: "notificar-vendedor", Execution: ledger.Live, Content: json.RawMessage(`{"valorCentavos":150}`), Policy: policy}
	_, _ = books.Do(ctx, effect, func(context.Context, ledger.Attempt) (json.RawMessage, error) {
		return nil, &ledger.AmbiguousError{Reason: "resposta-503"}
	})

	report, err := books.Sweep(ctx, ledger.SweepScope{
		Policies: map[string]ledger.Policy{"notificar-vendedor": policy},
		Retry: func(r ledger.Retakable) error {
			effect := ledger.Effect{EventID: r.EventID, Kind: r.Kind, Execution: r.Execution, Content: r.Content, Policy: policy}
			outcome, err := books.Do(ctx, effect, func(_ context.Context, a ledger.Attempt) (json.RawMessage, error) {
				fmt.Println("attempt", a.Number, string(a.Content))
				return nil, nil
			})
			fmt.Println(outcome.Did)
			return err
		},
	})
	fmt.Println(report.Retakable, err)
	// Output:
	// attempt 2 {"valorCentavos":150}
	// applied
	// 1 <nil>
}
