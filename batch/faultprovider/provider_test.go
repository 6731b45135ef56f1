package faultprovider

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func start(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func (s *Server) post(ctx context.Context, key, body string) (int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/notify", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Idempotency-Key", key)
	r.GetBody = nil
	answer, err := http.DefaultClient.Do(r)
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
		status    int // 0: no answer
		delivered int
	}{
		{OK, 200, 1}, {Refuse, 422, 0}, {Unavailable, 503, 0}, {Drop, 0, 0}, {Hang, 0, 0},
		{ActThenFail, 500, 1}, {ActThenHang, 0, 1}, {ActThenDrop, 0, 1}, {Empty, 200, 1}, {Conflict, 200, 1},
	} {
		t.Run(string(tc.fault), func(t *testing.T) {
			t.Parallel()
			s := start(t, Options{})
			s.Script("k", tc.fault)
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			status, text, err := s.post(ctx, "k", "{}")
			if status != tc.status || (tc.status == 0) != (err != nil) {
				t.Errorf("status %d, %q, %v", status, text, err)
			}
			if n := s.Delivered("k"); n != tc.delivered {
				t.Errorf("%d deliveries, want %d", n, tc.delivered)
			}
			if tc.fault == OK && !strings.Contains(text, "recibo") || tc.fault == Empty && text != "" {
				t.Errorf("answer %q", text)
			}
		})
	}
}

func TestDeduplicatesInsideItsWindow(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dedup: true, Window: 200 * time.Millisecond})
	for range 3 {
		if _, _, err := s.post(t.Context(), "k", "{}"); err != nil {
			t.Fatal(err)
		}
	}
	if s.Delivered("k") != 1 || s.Requests("k") != 3 {
		t.Errorf("%d deliveries of %d requests", s.Delivered("k"), s.Requests("k"))
	}
	time.Sleep(250 * time.Millisecond)
	if _, _, err := s.post(t.Context(), "k", "{}"); err != nil {
		t.Fatal(err)
	}
	if s.Delivered("k") != 2 || s.Totals().Twice != 1 {
		t.Errorf("%d deliveries after the window", s.Delivered("k"))
	}
}

func TestConflictOnAnotherBody(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dedup: true, Rules: []Rule{{Fault: Conflict, Share: 1}}})
	for body, want := range map[string]int{"a": 200} {
		if status, _, _ := s.post(t.Context(), "k", body); status != want {
			t.Errorf("first %d", status)
		}
	}
	if status, _, _ := s.post(t.Context(), "k", "b"); status != 409 {
		t.Errorf("another body: %d", status)
	}
	if status, _, _ := s.post(t.Context(), "k", "a"); status != 200 {
		t.Errorf("the same body: %d", status)
	}
}

func TestCountsAreExactUnderLoad(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	var clients sync.WaitGroup
	for c := range 64 {
		clients.Go(func() {
			for i := range 20 {
				if _, _, err := s.post(context.Background(), fmt.Sprint(c%8, "-", i), "{}"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	if got := s.Totals(); got.Requests != 64*20 || got.Deliveries != 64*20 || got.Keys != 8*20 || got.Twice != 8*20 {
		t.Errorf("%+v", got)
	}
}

func TestSharesAreReproducible(t *testing.T) {
	t.Parallel()
	pick := func() (hit int, keys string) {
		p := New(Options{Seed: 7, Rules: []Rule{{Fault: Refuse, Share: 0.1}}})
		for i := range 5000 {
			if p.take(fmt.Sprint("ev-", i), nil).fault == Refuse {
				hit++
				keys += fmt.Sprint(i, " ")
			}
		}
		return hit, keys
	}
	n, first := pick()
	if _, second := pick(); first != second {
		t.Error("the same seed chose other keys")
	}
	if n < 400 || n > 600 {
		t.Errorf("%d of 5000 for a share of 0.1", n)
	}
}

func TestAnswersAboutItself(t *testing.T) {
	t.Parallel()
	s := start(t, Options{KeepBodies: true})
	if _, _, err := s.post(t.Context(), "ev-1:x", `{"a":1}`); err != nil {
		t.Fatal(err)
	}
	get := func(path string) (int, string) {
		t.Helper()
		r, err := http.Get(s.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		text, _ := io.ReadAll(r.Body)
		return r.StatusCode, string(text)
	}
	if code, text := get("/_counts"); code != 200 || !strings.Contains(text, `"deliveries":1`) {
		t.Error(code, text)
	}
	if code, text := get("/lookup/ev-1:x"); code != 200 || !strings.Contains(text, `"delivered":1`) {
		t.Error(code, text)
	}
	if code, _ := get("/lookup/ev-2:x"); code != 404 {
		t.Error(code)
	}
	if _, text := get("/_deliveries"); !strings.Contains(text, `{\"a\":1}`) {
		t.Error(text)
	}
}

func TestOnlyLoopback(t *testing.T) {
	if _, err := Listen("0.0.0.0:0", Options{}); err == nil {
		t.Error("listens everywhere")
	}
	if _, err := ParseRule("nonsense:1"); err == nil {
		t.Error("unknown fault accepted")
	}
	if r, err := ParseRule("hang:0.25:ev-1"); err != nil || r != (Rule{Fault: Hang, Share: 0.25, Match: "ev-1"}) {
		t.Error(r, err)
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
