package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"reprise.dev/reprise/ledger"
)

// A consumer of any event: a welcome mail for each new account, once, however often the queue delivers the event.
func Example() {
	pool, drop := exampleDatabase() // a pool to a database that "reprise migrate" prepared
	defer drop()
	books := ledger.New(pool, ledger.Options{})
	defer books.Close()
	mails := mailProvider()
	defer mails.Close()

	policy := ledger.Policy{OnFailure: ledger.Keep, CallTimeout: 5 * time.Second} // this provider does not deduplicate
	handle := func(ctx context.Context, eventID string, body json.RawMessage) (again bool, err error) {
		effect := ledger.Effect{EventID: eventID, Kind: "welcome-mail", Execution: ledger.Live, Content: body, Policy: policy}
		outcome, err := books.Do(ctx, effect, func(ctx context.Context, a ledger.Attempt) (json.RawMessage, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, mails.URL, bytes.NewReader(a.Content))
			if err != nil {
				return nil, ledger.NotSent(err)
			}
			request.Header.Set("Idempotency-Key", a.Key)
			request.GetBody = nil                                   // one request: no repetition by net/http,
			answer, err := http.DefaultTransport.RoundTrip(request) // and no redirects
			if err != nil {
				return nil, err // it may have left
			}
			defer answer.Body.Close()
			switch answer.StatusCode {
			case http.StatusOK:
				return nil, nil
			case http.StatusUnprocessableEntity: // there is no such address
				return nil, ledger.RefusedBy("no-such-address", nil)
			default:
				return nil, fmt.Errorf("status %d", answer.StatusCode)
			}
		})
		fmt.Printf("%s: %s %q\n", eventID, outcome.Did, outcome.Reason)
		return err != nil || outcome.Did == ledger.DidWait, err
	}
	for _, id := range []string{"account-1", "account-1", "account-2", "account-3", "account-3"} {
		if again, err := handle(context.Background(), id, json.RawMessage(`{"to":"`+id+`"}`)); again {
			fmt.Println(id, "has to come again:", err)
		}
	}
	// Output:
	// account-1: applied ""
	// account-1: registered ""
	// account-2: refused "no-such-address"
	// account-3: uncertain "erro-desconhecido"
	// account-3: registered "erro-desconhecido"
}

// mailProvider does not know the second account, and breaks down after the mail to the third has left.
func mailProvider() *httptest.Server {
	status := map[string]int{"account-1:welcome-mail": 200, "account-2:welcome-mail": 422, "account-3:welcome-mail": 500}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status[r.Header.Get("Idempotency-Key")])
	}))
}

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
