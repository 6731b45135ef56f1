package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

func mustAcquire(t *testing.T, p *Provider) func() {
	t.Helper()
	release, err := p.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func wantClosed(t *testing.T, p *Provider, failing bool, until time.Time) {
	t.Helper()
	_, err := p.Acquire(t.Context())
	var closed *batch.ClosedError
	if !errors.As(err, &closed) || closed.Failing != failing || closed.Why == "" {
		t.Fatalf("got %v, want closed, failing %v", err, failing)
	}
	if d := closed.Until.Sub(until).Abs(); d > 50*time.Millisecond {
		t.Errorf("closed until %s, want %s", closed.Until, until)
	}
}

func TestAcquireWaitsForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Config{URL: "https://provider.example.com", Concurrency: 2})
		first, second := mustAcquire(t, p), mustAcquire(t, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a third place: %v", err)
		}
		go func() { time.Sleep(time.Second); first() }()
		start := time.Now()
		third := mustAcquire(t, p)
		if d := time.Since(start); d != time.Second {
			t.Errorf("waited %s for a place", d)
		}
		second()
		third()
	})
}

func TestAcquireKeepsTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Config{URL: "https://provider.example.com", Rate: 10, Burst: 1})
		start := time.Now()
		for range 31 {
			mustAcquire(t, p)()
		}
		if d := time.Since(start); d < 3*time.Second || d > 3100*time.Millisecond {
			t.Errorf("31 calls at 10 a second took %s", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Acquire(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// What must wait long for its turn waits elsewhere, and has not used up a turn.
func TestSlowRateCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, Config{URL: "https://provider.example.com", Rate: 1.0 / 60})
		mustAcquire(t, p)()
		for range 3 {
			wantClosed(t, p, false, time.Now().Add(time.Minute))
		}
		time.Sleep(time.Minute)
		mustAcquire(t, p)()
	})
}

// The ledger repeats a call that was not sent without asking for the rate; a status that counts as not sent did
// reach the provider.
func TestNotSentStatusesCountForTheRate(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	p := open(t, Config{URL: url, Rate: 100, Burst: 10, NotSentStatuses: []int{429}, BreakerAfter: 100})
	start := time.Now()
	mustAcquire(t, p)()
	for range 30 {
		_, err := p.Call(t.Context(), "k", attempt)
		wantNotSent(t, err)
	}
	if d := time.Since(start); d < 200*time.Millisecond {
		t.Errorf("30 calls at 100 a second, 10 of them at once, took %s", d)
	}
}

func TestSendingHours(t *testing.T) {
	lisbon, err := time.LoadLocation("Europe/Lisbon")
	if err != nil {
		t.Fatal(err)
	}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string, zone *time.Location) time.Time {
		at, err := time.ParseInLocation("2006-01-02 15:04:05", s, zone)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, tc := range []struct {
		hours, now, opens string // opens "": it is open
		zone              *time.Location
	}{
		{"08:00-20:00", "2026-10-14 07:59:59", "2026-10-14 08:00:00", time.UTC},
		{"08:00-20:00", "2026-10-14 08:00:00", "", time.UTC},
		{"08:00-20:00", "2026-10-14 19:59:59", "", time.UTC},
		{"08:00-20:00", "2026-10-14 20:00:00", "2026-10-15 08:00:00", time.UTC},
		{"08:00-24:00", "2026-10-14 23:59:59", "", time.UTC},
		{"00:00-24:00", "2026-10-14 00:00:00", "", time.UTC},
		{"22:00-06:00", "2026-10-14 05:59:59", "", time.UTC},
		{"22:00-06:00", "2026-10-14 06:00:00", "2026-10-14 22:00:00", time.UTC},
		{"22:00-06:00", "2026-10-14 23:00:00", "", time.UTC},
		{"08:00-20:00", "2026-12-31 21:00:00", "2027-01-01 08:00:00", time.UTC},
		// The clocks change in the night between.
		{"08:00-20:00", "2026-03-28 21:00:00", "2026-03-29 08:00:00", lisbon},
		{"08:00-20:00", "2026-10-24 21:00:00", "2026-10-25 08:00:00", lisbon},
		{"02:30-20:00", "2026-03-07 21:00:00", "2026-03-08 03:30:00", newYork}, // 02:30 does not exist
		{"02:30-20:00", "2026-03-08 01:45:00", "2026-03-08 03:30:00", newYork},
		{"", "2026-10-14 03:00:00", "", nil},
	} {
		h, err := parseHours(tc.hours, tc.zone)
		if err != nil {
			t.Fatal(err)
		}
		zone := tc.zone
		if zone == nil {
			zone = time.UTC
		}
		open, until := h.open(at(tc.now, zone))
		if open != (tc.opens == "") || !open && !until.Equal(at(tc.opens, zone)) {
			t.Errorf("%q at %s: open %v, until %s, want %q", tc.hours, tc.now, open, until, tc.opens)
		}
	}
	for _, bad := range []string{"8", "08:00", "08:00-", "08:00-08:00", "25:00-26:00", "24:00-06:00", "08:00-20:00-22:00", "-"} {
		if _, err := parseHours(bad, nil); err == nil {
			t.Errorf("hours %q are accepted", bad)
		}
	}
}

func TestClosedOutsideSendingHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // its clock begins at midnight UTC
		p := open(t, Config{URL: "https://provider.example.com", Hours: "08:00-20:00"})
		wantClosed(t, p, false, time.Now().Add(8*time.Hour))
		time.Sleep(8 * time.Hour)
		mustAcquire(t, p)()
		time.Sleep(12*time.Hour - time.Millisecond)
		held := mustAcquire(t, p)
		time.Sleep(time.Millisecond)
		wantClosed(t, p, false, time.Now().Add(12*time.Hour))
		held()
	})
}

func TestBreaker(t *testing.T) {
	var failing atomic.Bool
	var requests atomic.Int64
	failing.Store(true)
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		if failing.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	const wait = 300 * time.Millisecond
	p := open(t, Config{URL: url, BreakerAfter: 3, BreakerWait: wait})
	call := func() error {
		_, err := p.Call(t.Context(), "k", attempt)
		return err
	}
	for range 3 {
		release := mustAcquire(t, p)
		wantAmbiguous(t, call(), "resposta-502")
		release()
	}
	wantClosed(t, p, true, time.Now().Add(wait))
	wantNotSent(t, call()) // one that got its place before does not go out either
	if n := requests.Load(); n != 3 {
		t.Fatalf("%d requests", n)
	}

	time.Sleep(wait)
	probe := mustAcquire(t, p)
	wantClosed(t, p, true, time.Now().Add(time.Second)) // one at a time
	wantAmbiguous(t, call(), "resposta-502")
	probe()
	wantClosed(t, p, true, time.Now().Add(wait))

	time.Sleep(wait)
	mustAcquire(t, p)() // an effect that needed no call after all
	failing.Store(false)
	probe = mustAcquire(t, p)
	if err := call(); err != nil {
		t.Fatal(err)
	}
	first, second := mustAcquire(t, p), mustAcquire(t, p)
	probe()
	first()
	second()
	if n := requests.Load(); n != 5 {
		t.Errorf("%d requests", n)
	}
}

func TestRefusalsLeaveTheBreakerClosed(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	p := open(t, Config{URL: url, BreakerAfter: 2, RefusedStatuses: []int{404}})
	for range 5 {
		release := mustAcquire(t, p)
		_, err := p.Call(t.Context(), "k", attempt)
		var refused *ledger.RefusedError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
		release()
	}
}

func TestNotSentOpensTheBreaker(t *testing.T) {
	p := open(t, Config{URL: "https://169.254.169.254/", BreakerAfter: 2, BreakerWait: time.Minute})
	for range 2 {
		_, err := p.Call(t.Context(), "k", attempt)
		wantNotSent(t, err)
	}
	wantClosed(t, p, true, time.Now().Add(time.Minute))
}

func TestAtMostConcurrencyCalls(t *testing.T) {
	var now, most atomic.Int64
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
	})
	p := open(t, Config{URL: url, Concurrency: 5})
	var group sync.WaitGroup
	for range 100 {
		release := mustAcquire(t, p)
		group.Go(func() {
			defer release()
			if _, err := p.Call(t.Context(), "k", attempt); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := most.Load(); n > 5 || n < 2 {
		t.Errorf("%d calls at the same time", n)
	}
}

func TestRefusesBadContracts(t *testing.T) {
	for want, c := range map[string]Config{
		"plain http to another machine": {URL: "http://provider.example.com"},
		"not an http or https URL":      {URL: "ftp://provider.example.com"},
		"holds a user name":             {URL: "https://u:hunter2@provider.example.com"},
		"hours":                         {URL: "https://p.example.com", Hours: "8-20"},
		"must contain {key}":            {URL: "https://p.example.com", LookUpURL: "https://p.example.com/effects"},
		"look_up_url: plain http":       {URL: "https://p.example.com", LookUpURL: "http://p.example.com/{key}"},
		"cannot be sent":                {URL: "https://p.example.com", Headers: map[string]string{"X": "a\r\nY: hunter2"}},
		"is set by the client itself":   {URL: "https://p.example.com", Headers: map[string]string{"idempotency-key": "x"}},
		"Authorization is set":          {URL: "https://p.example.com", Headers: map[string]string{"authorization": "hunter2"}, Secret: "x"},
		"line break":                    {URL: "https://p.example.com", Secret: "hunter2\n"},
		"not both are names":            {URL: "https://p.example.com", KeyHeader: "Idempotency Key"},
	} {
		_, err := New(c)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", want, err)
		}
	}
	for _, c := range []Config{
		{URL: "http://localhost:8080"}, {URL: "http://127.0.0.2"}, {URL: "http://[::1]"}, {URL: "http://provider.example.com", AllowHTTP: true},
	} {
		if _, err := New(c); err != nil {
			t.Errorf("%s: %v", c.URL, err)
		}
	}
	_, err := New(Config{URL: "ftp:", Hours: "x", Secret: "\n"})
	if n := strings.Count(err.Error(), "\n"); n != 2 {
		t.Errorf("not every problem is named: %v", err)
	}
}
