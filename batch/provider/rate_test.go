package provider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"reprise.dev/reprise/ledger"
)

// pipes is a network of two ends, in a test's own time.
type pipes chan net.Conn

func (l pipes) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l pipes) Close() error   { return nil }
func (l pipes) Addr() net.Addr { return &net.TCPAddr{} }

// arrivals are when requests came to the provider, by its own clock.
type arrivals struct {
	mu sync.Mutex
	at []time.Time
}

// add counts a request and returns which one it is.
func (a *arrivals) add() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = append(a.at, time.Now())
	return len(a.at)
}

// TestRateAsTheProviderSeesIt: several slices call, some answers say that a request did not count and is repeated, and
// some keys are asked about; in no stretch of a second or more does the provider see more than the rate and its
// burst, and on the whole no less than the rate.
func TestRateAsTheProviderSeesIt(t *testing.T) {
	for _, tc := range []struct {
		rate     float64
		burst    int
		retries  int // every so-many-th request is answered 429; 0: none
		excess   float64
		requests int
	}{
		{rate: 100, requests: 1000, excess: 0.02},
		{rate: 7, requests: 320},
		{rate: 0.5, requests: 64},
		{rate: 2000, requests: 20000, excess: 0.02},
		{rate: 100, burst: 50, requests: 1000, excess: 0.5},
		{rate: 100, retries: 5, requests: 3000, excess: 0.12}, // of a second: what a repeated call waits longer or shorter than others
	} {
		t.Run(fmt.Sprintf("%+v", tc), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var came arrivals
				url, network := "http://127.0.0.1:1", make(pipes)
				server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if n := came.add(); tc.retries > 0 && n%tc.retries == 0 {
						w.WriteHeader(http.StatusTooManyRequests)
					}
				})}
				served := make(chan error, 1)
				go func() { served <- server.Serve(network) }()

				p := open(t, Config{URL: url, LookUpURL: url + "/{key}", Rate: tc.rate, Burst: tc.burst, Concurrency: 32, NotSentStatuses: []int{429}})
				p.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
					here, there := net.Pipe()
					network <- there
					return &conn{Conn: here}, nil
				}
				var slices sync.WaitGroup
				for slice := range 32 {
					slices.Go(func() {
						for i := range tc.requests / 32 {
							if err := oneEffect(t, p, slice < 4 && i%10 == 9); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				slices.Wait()
				p.transport.CloseIdleConnections()
				close(network)
				_ = server.Close()
				if err := <-served; !errors.Is(err, http.ErrServerClosed) {
					t.Error(err)
				}
				came.want(t, tc.rate, tc.excess)
			})
		})
	}
}

// oneEffect does what the ledger does with one effect, or asks about it.
func oneEffect(t *testing.T, p *Provider, ask bool) error {
	if ask {
		_, err := p.LookUp(t.Context(), "k")
		return err
	}
	release, err := p.Acquire(t.Context())
	for ; err != nil; release, err = p.Acquire(t.Context()) {
		time.Sleep(100 * time.Millisecond) // closed: too many wait for their turn already
	}
	defer release()
	for try := range 6 {
		_, err = p.Call(t.Context(), "k", attempt)
		var unsent *ledger.NotSentError
		if !errors.As(err, &unsent) {
			return err
		}
		time.Sleep(time.Duration(140+40*(try%3)) * time.Millisecond)
	}
	return err
}

// want checks every stretch that begins and ends with a request. excess is what a second may see above the rate.
func (a *arrivals) want(t *testing.T, rate, excess float64) {
	t.Helper()
	n := len(a.at)
	whole := a.at[n-1].Sub(a.at[0]).Seconds()
	if got := float64(n-1) / whole; got < 0.98*rate || got > 1.02*rate+excess*rate/whole {
		t.Errorf("%d requests in %.1f s: %.2f a second, want %g", n, whole, got, rate)
	}
	for i := range a.at {
		for j := i + max(1, int(rate)); j < n; j += max(1, int(rate)) {
			seconds := max(1, a.at[j].Sub(a.at[i]).Seconds())
			if most := rate*seconds + excess*rate + 1; float64(j-i) > most+1e-6 {
				t.Fatalf("requests %d to %d came in %.3f s, at %g a second", i, j, seconds, rate)
			}
		}
	}
}
