package faultprovider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// newClient has connections of its own, so that a reset in one test is not met by another.
func newClient(t testing.TB) *http.Client {
	tr := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func post(ctx context.Context, c *http.Client, s *Server, key, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/notify", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Idempotency-Key", key)
	r.GetBody = nil // else net/http sends it again by itself
	answer, err := c.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// TestFaultsAsAClientSeesThem: what arrives, and whether it acted.
func TestFaultsAsAClientSeesThem(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fault     Fault
		status    int
		err       error
		delivered int
	}{
		{OK, 200, nil, 1}, {Refuse, 422, nil, 0}, {Unavailable, 503, nil, 0}, {ActThenFail, 500, nil, 1}, {Empty, 200, nil, 1}, {Conflict, 200, nil, 1},
		{Drop, 0, syscall.ECONNRESET, 0}, {ActThenDrop, 0, syscall.ECONNRESET, 1},
		{Hang, 0, context.DeadlineExceeded, 0}, {ActThenHang, 0, context.DeadlineExceeded, 1},
	} {
		t.Run(string(tc.fault), func(t *testing.T) {
			t.Parallel()
			s := start(t, Options{})
			s.Script("k", tc.fault)
			timeout := 10 * time.Second
			if errors.Is(tc.err, context.DeadlineExceeded) {
				timeout = 200 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			status, text, err := post(ctx, newClient(t), s, "k", "{}")
			if status != tc.status || !errors.Is(err, tc.err) {
				t.Errorf("status %d, %q, %v; want %d, %v", status, text, err, tc.status, tc.err)
			}
			if n, came := s.Delivered("k"), s.Requests("k"); n != tc.delivered || came != 1 {
				t.Errorf("%d deliveries of %d requests, want %d of 1", n, came, tc.delivered)
			}
			if tc.fault == OK && !strings.Contains(text, `"recibo":"r-`) || tc.fault == Empty && text != "" {
				t.Errorf("answer %q", text)
			}
			if s.Totals().Faults[tc.fault] != 1 && tc.fault != Conflict {
				t.Errorf("%+v", s.Totals())
			}
		})
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Delay: 30 * time.Millisecond, Rules: []Rule{{Fault: OK, Delay: 20 * time.Millisecond}}})
	began := time.Now()
	if status, _, err := post(t.Context(), newClient(t), s, "k", "{}"); status != 200 || time.Since(began) < 50*time.Millisecond {
		t.Errorf("%d, %v after %v", status, err, time.Since(began))
	}
}

func TestScriptThenRulesThenOK(t *testing.T) {
	t.Parallel()
	p := New(Options{Rules: []Rule{{Fault: Unavailable, Match: "ev-1", Times: 3}, {Fault: Refuse, Every: 6}}})
	p.Script("ev-1", ActThenFail, Empty)
	var got []Fault
	for range 6 {
		got = append(got, p.take("ev-1", nil).fault)
	}
	if want := "[act-then-fail empty unavailable ok ok refuse]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
	if f := p.take("ev-2", nil).fault; f != OK {
		t.Errorf("another key: %s", f)
	}
}

func TestDeduplicatesInsideItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Dedup: true, Window: time.Hour})
		for _, step := range []struct {
			wait      time.Duration
			delivered int
		}{{0, 1}, {time.Minute, 1}, {59*time.Minute - 1, 1}, {1, 2}, {time.Minute, 2}} {
			time.Sleep(step.wait)
			p.take("k", nil)
			if n := p.Delivered("k"); n != step.delivered {
				t.Errorf("%d deliveries after another %v, want %d", n, step.wait, step.delivered)
			}
		}
		if got := p.Totals(); got.Requests != 5 || got.Deliveries != 2 || got.Keys != 1 || got.Twice != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// TestARefusedRequestIsNotRemembered: deduplication is of what was done, so a refusal does not stop a later delivery.
func TestARefusedRequestIsNotRemembered(t *testing.T) {
	p := New(Options{Dedup: true})
	p.Script("k", Refuse, Drop, OK, ActThenFail)
	for _, want := range []int{0, 0, 1, 1} {
		p.take("k", nil)
		if n := p.Delivered("k"); n != want {
			t.Errorf("%d deliveries after %d requests, want %d", n, p.Requests("k"), want)
		}
	}
}

func TestStoredAnswersAreRepeated(t *testing.T) {
	for _, tc := range []struct {
		first     Fault
		then      Fault // what the second request gets, though it is scripted to be refused
		delivered int
	}{
		{OK, OK, 1}, {Empty, Empty, 1}, {ActThenFail, ActThenFail, 1}, {Unavailable, Unavailable, 0},
		{ActThenDrop, OK, 1}, {ActThenHang, OK, 1}, {Drop, Refuse, 0}, {Hang, Refuse, 0},
	} {
		t.Run(string(tc.first), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := New(Options{CacheErrors: true, Window: time.Hour})
				p.Script("k", tc.first, Refuse)
				p.take("k", nil)
				if f := p.take("k", nil).fault; f != tc.then || p.Delivered("k") != tc.delivered {
					t.Errorf("%s, %d deliveries; want %s, %d", f, p.Delivered("k"), tc.then, tc.delivered)
				}
				time.Sleep(time.Hour)
				if f := p.take("k", nil).fault; f != OK || p.Delivered("k") != tc.delivered+1 {
					t.Errorf("after the window: %s, %d deliveries", f, p.Delivered("k"))
				}
			})
		})
	}
}

func TestConflictOnAnotherBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Options{Window: time.Hour, Rules: []Rule{{Fault: Conflict}}})
		p.Script("k", Refuse) // not acted on: its body binds nobody
		for _, step := range []struct {
			body      string
			want      Fault
			delivered int
		}{{"z", Refuse, 0}, {"a", OK, 1}, {"b", Conflict, 1}, {"b", Conflict, 1}, {"a", OK, 1}} {
			if f := p.take("k", []byte(step.body)).fault; f != step.want || p.Delivered("k") != step.delivered {
				t.Errorf("body %s: %s, %d deliveries; want %s, %d", step.body, f, p.Delivered("k"), step.want, step.delivered)
			}
		}
		time.Sleep(time.Hour)
		if f := p.take("k", []byte("b")).fault; f != OK || p.Delivered("k") != 2 {
			t.Errorf("after the window: %s, %d deliveries", f, p.Delivered("k"))
		}
	})
}

func TestCountsAreExactUnderLoad(t *testing.T) {
	t.Parallel()
	var signals atomic.Int64
	s := start(t, Options{})
	s.OnRequest(func(string) { signals.Add(1) })
	client := newClient(t)
	var clients sync.WaitGroup
	for c := range 64 {
		clients.Go(func() {
			for i := range 20 {
				if _, _, err := post(t.Context(), client, s, fmt.Sprint(c%8, "-", i), "{}"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	if got := s.Totals(); got.Requests != 64*20 || got.Deliveries != 64*20 || got.Keys != 8*20 || got.Twice != 8*20 || signals.Load() != 64*20 {
		t.Errorf("%+v, %d signals", got, signals.Load())
	}
	for _, key := range s.Keys() {
		if c := s.Count(key); c != (Count{Key: key, Requests: 8, Delivered: 8, Bodies: 1}) {
			t.Errorf("%+v", c)
		}
	}
}

// TestSharesAreReproducible: the same seed befalls the same keys, and every rule gets its share.
func TestSharesAreReproducible(t *testing.T) {
	const keys, attempts = 10_000, 2
	pick := func(seed uint64) (chosen string, first, both, second int) {
		p := New(Options{Seed: seed, Rules: []Rule{{Fault: Refuse, Share: 0.1}, {Fault: Drop, Share: 0.05}}})
		var b strings.Builder
		for i := range keys {
			refused := 0
			for range attempts {
				f := p.take(fmt.Sprint("ev-", i), nil).fault
				b.WriteString(string(f))
				if f == Refuse {
					refused++
				}
			}
			if refused == attempts {
				both++
			}
		}
		t := p.Totals().Faults
		return b.String(), int(t[Refuse]), both, int(t[Drop])
	}
	one, refused, both, dropped := pick(7)
	if two, _, _, _ := pick(7); one != two {
		t.Error("the same seed chose other requests")
	}
	if three, _, _, _ := pick(8); one == three {
		t.Error("another seed chose the same requests")
	}
	near := func(got, want int) bool { return got > want*8/10 && got < want*12/10 }
	if !near(refused, keys*attempts/10) || !near(dropped, keys*attempts/20) || !near(both, keys/100) {
		t.Errorf("%d refused, %d twice in a row, %d dropped of %d keys", refused, both, dropped, keys)
	}
}

// TestManyKeys: what a key costs in memory, bodies aside, so that a million fit easily.
func TestManyKeys(t *testing.T) {
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const n = 200_000
	before := heap()
	p := New(Options{})
	for i := range n {
		p.take(fmt.Sprintf("ev-%08d:notificar-vendedor", i), nil)
	}
	if each := (heap() - before) / n; each > 200 {
		t.Errorf("%d bytes a key", each)
	}
	if p.Totals().Keys != n {
		t.Errorf("%+v", p.Totals())
	}
}

func TestParseRule(t *testing.T) {
	for text, want := range map[string]Rule{
		"hang":                   {Fault: Hang},
		"refuse:1":               {Fault: Refuse, Share: 1},
		"hang:0.25:ev-1":         {Fault: Hang, Share: 0.25, Match: "ev-1"},
		"drop::ev-1:notificar":   {Fault: Drop, Match: "ev-1:notificar"},
		"delay=1500ms:0.5":       {Fault: OK, Share: 0.5, Delay: 1500 * time.Millisecond},
		"act-then-hang:1e-3:a:b": {Fault: ActThenHang, Share: 0.001, Match: "a:b"},
	} {
		if r, err := ParseRule(text); err != nil || r != want {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{"", "nonsense:1", "refuse:0", "refuse:NaN", "refuse:2", "refuse:-1", "refuse:x", "delay", "delay=:1", "delay=-1s", "delay=0s"} {
		if r, err := ParseRule(text); err == nil {
			t.Errorf("%q accepted: %+v", text, r)
		}
	}
}

func TestOnlyLoopback(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.test:0", "127.0.0.1"} {
		if s, err := Listen(address, Options{}); err == nil {
			s.Close()
			t.Errorf("listens on %q", address)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	p := New(Options{})
	body := []byte(`{"pedidoId":"P-1","valorCentavos":500}`)
	b.ReportAllocs()
	for i := range b.N {
		p.take(fmt.Sprint("ev-", i%1_000_000), body)
	}
}

// BenchmarkRequests is the rate over 64 kept connections, with a client so lean that it measures the server.
func BenchmarkRequests(b *testing.B) {
	s := start(b, Options{Dedup: true})
	const body = `{"pedidoId":"P-1","valorCentavos":500}`
	var next atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(64 / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			b.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		answer := make([]byte, 4096)
		for pb.Next() {
			if _, err := fmt.Fprintf(c, "POST /notify HTTP/1.1\r\nHost: p\r\nIdempotency-Key: ev-%d\r\nContent-Length: %d\r\n\r\n%s", next.Add(1), len(body), body); err != nil {
				b.Error(err)
				return
			}
			// A short answer is written at once, so one read has all of it.
			if n, err := c.Read(answer); err != nil || !bytes.HasSuffix(answer[:n], []byte("}\n")) {
				b.Errorf("%s, %v", answer[:n], err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
	if got := s.Totals(); got.Requests != next.Load() || got.Deliveries != got.Requests {
		b.Errorf("%+v of %d", got, next.Load())
	}
}
