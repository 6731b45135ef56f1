package provider

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

func TestLookUp(t *testing.T) {
	var got *http.Request
	status := http.StatusOK
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Location", "/")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"estado":"entregue"}`)
	})
	const key = "ev/1 +é&x=?:notificar-vendedor"
	for template, read := range map[string]func(*http.Request) string{
		"/effects/{key}":       func(r *http.Request) string { return r.URL.Path[len("/effects/"):] },
		"/effects?a=b&k={key}": func(r *http.Request) string { return r.URL.Query().Get("k") },
	} {
		p := open(t, Config{URL: url, LookUpURL: url + template, Secret: "s3cret"})
		for s, want := range map[int]ledger.LookUpVerdict{
			200: ledger.Found, 404: ledger.NotFound, 204: ledger.Unreachable, 302: ledger.Unreachable,
			401: ledger.Unreachable, 429: ledger.Unreachable, 500: ledger.Unreachable, 503: ledger.Unreachable,
		} {
			status = s
			answer, err := p.LookUp(t.Context(), key)
			if err != nil || answer.Verdict != want || answer.Detail == "" {
				t.Errorf("%d: %+v, %v, want %s", s, answer, err, want)
			}
			if s == 200 && string(answer.Answer) != `{"estado":"entregue"}` {
				t.Errorf("evidence: %s", answer.Answer)
			}
			if got.Method != http.MethodGet || read(got) != key || got.Header.Get("Authorization") != "s3cret" {
				t.Fatalf("asked %s %s", got.Method, got.URL)
			}
		}
	}
}

func TestLookUpOutage(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, handle := range map[string]func(net.Conn){
		"hangs": func(net.Conn) { <-hang },
		"drops": func(c net.Conn) { _ = readRequest(c) },
		"half a body": func(c net.Conn) {
			_ = readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
		},
	} {
		url := listen(t, handle)
		p := open(t, Config{URL: url, LookUpURL: url + "/{key}", Timeout: 200 * time.Millisecond})
		answer, err := p.LookUp(t.Context(), "k")
		if err != nil || answer.Verdict != ledger.Unreachable || answer.Detail == "" {
			t.Errorf("%s: %+v, %v", name, answer, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.LookUp(ctx, "k"); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", name, err)
		}
	}
	if _, err := open(t, Config{URL: "https://p.example.com"}).LookUp(t.Context(), "k"); err == nil {
		t.Error("a look-up without a URL")
	}
}
