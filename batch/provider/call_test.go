package provider

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

var attempt = ledger.Attempt{Key: "ev-1:notificar-vendedor", Number: 1, Content: json.RawMessage(`{"pedidoId":"P-1","valorCentavos":500}`)}

func open(t testing.TB, c Config) *Provider {
	t.Helper()
	if c.Name == "" {
		c.Name = "p"
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.transport.CloseIdleConnections)
	return p
}

func serve(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// listen serves connections by hand.
func listen(t testing.TB, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				handle(c)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// readRequest reads one whole request.
func readRequest(c net.Conn) error {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err
}

func wantAmbiguous(t *testing.T, err error, reason string) {
	t.Helper()
	var a *ledger.AmbiguousError
	if !errors.As(err, &a) || a.Reason != reason {
		t.Fatalf("got %v, want ambiguous for %q", err, reason)
	}
}

func wantNotSent(t *testing.T, err error) {
	t.Helper()
	var n *ledger.NotSentError
	var a *ledger.AmbiguousError
	if !errors.As(err, &n) || errors.As(err, &a) {
		t.Fatalf("got %v, want not sent", err)
	}
}

func TestRequest(t *testing.T) {
	var got *http.Request
	var body []byte
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, `{"recibo":"r-1"}`)
	})
	p := open(t, Config{URL: url + "/notify?a=b", KeyHeader: "X-Key", Headers: map[string]string{"X-Client": "c"}, Secret: "Bearer s3cret", Receipt: "recibo"})
	answer, err := p.Call(t.Context(), "notificar-vendedor", attempt)
	if err != nil || string(answer) != `{"recibo":"r-1"}` {
		t.Fatalf("%s, %v", answer, err)
	}
	if got.Method != http.MethodPost || got.URL.String() != "/notify?a=b" || got.Proto != "HTTP/1.1" || string(body) != string(attempt.Content) || got.ContentLength != int64(len(body)) {
		t.Errorf("%s %s %s, body %s", got.Method, got.URL, got.Proto, body)
	}
	for name, want := range map[string]string{"X-Key": attempt.Key, "X-Client": "c", "Authorization": "Bearer s3cret", "Content-Type": "application/json", "Accept-Encoding": ""} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
		}
	}
}

func TestJudgesStatuses(t *testing.T) {
	var status atomic.Int64
	var body atomic.Value
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, body.Load().(string))
	})
	p := open(t, Config{URL: url, RefusedStatuses: []int{404, 422}, NotSentStatuses: []int{429}, Receipt: "dados.recibo", BreakerAfter: 1 << 30})
	for _, tc := range []struct {
		status             int
		body, want, answer string
	}{
		{200, `{"dados":{"recibo":"r"}}`, "ok", `{"dados":{"recibo":"r"}}`},
		{202, `{"dados":{"recibo":7}}`, "ok", `{"dados":{"recibo":7}}`},
		{200, `{"dados":{"recibo":null}}`, ReasonNoReceipt, `{"dados":{"recibo":null}}`},
		{200, `{"dados":{"recibo":""}}`, ReasonNoReceipt, `{"dados":{"recibo":""}}`},
		{200, `{"dados":{}}`, ReasonNoReceipt, `{"dados":{}}`},
		{200, `{"dados.recibo":"r"}`, ReasonNoReceipt, `{"dados.recibo":"r"}`},
		{200, `<html>recibo</html>`, ReasonNoReceipt, `"\u003chtml\u003erecibo\u003c/html\u003e"`},
		{200, ``, ReasonNoReceipt, ``},
		{204, ``, ReasonNoReceipt, ``},
		{302, ``, "resposta-302", ``},
		{307, ``, "resposta-307", ``},
		{400, `{}`, "resposta-400", `{}`},
		{404, `{"erro":"x"}`, "refused resposta-404", `{"erro":"x"}`},
		{422, `x`, "refused resposta-422", `"x"`},
		{429, ``, "not sent", ``},
		{500, `x`, "resposta-500", `"x"`},
		{503, ``, "resposta-503", ``},
	} {
		status.Store(int64(tc.status))
		body.Store(tc.body)
		answer, err := p.Call(t.Context(), "k", attempt)
		got := "ok"
		var a *ledger.AmbiguousError
		var r *ledger.RefusedError
		var n *ledger.NotSentError
		switch {
		case errors.As(err, &a):
			got, answer = a.Reason, a.Answer
		case errors.As(err, &r):
			got, answer = "refused "+r.Reason, r.Answer
		case errors.As(err, &n):
			got = "not sent"
		case err != nil:
			got = err.Error()
		}
		if got != tc.want || string(answer) != tc.answer {
			t.Errorf("%d %s: %s with %s, want %s with %s", tc.status, tc.body, got, answer, tc.want, tc.answer)
		}
	}
}

// P: one attempt, one request. The server closes the connection after it has read the request; on a connection
// that was used before, net/http would send a request with an Idempotency-Key again.
func TestOneAttemptIsOneRequest(t *testing.T) {
	var requests atomic.Int64
	url := listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for n := 0; ; n++ {
			q, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, q.Body)
			requests.Add(1)
			if n > 0 {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
	p := open(t, Config{URL: url})
	for i := range 20 {
		if _, err := p.Call(t.Context(), "k", attempt); err != nil {
			t.Fatalf("call %d: %v", 2*i, err)
		}
		_, err := p.Call(t.Context(), "k", attempt)
		wantAmbiguous(t, err, ReasonDropped)
		if n := requests.Load(); n != int64(2*i+2) {
			t.Fatalf("%d requests after %d calls", n, 2*i+2)
		}
	}
}

// A server that closes an idle connection: the call either was not sent, or is ambiguous, and is never repeated.
func TestIdleConnectionClosedByServer(t *testing.T) {
	var requests atomic.Int64
	url := listen(t, func(c net.Conn) {
		if readRequest(c) == nil {
			requests.Add(1)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
	p := open(t, Config{URL: url})
	ok := 0
	for range 200 {
		_, err := p.Call(t.Context(), "k", attempt)
		var n *ledger.NotSentError
		switch {
		case err == nil:
			ok++
		case errors.As(err, &n):
		default:
			wantAmbiguous(t, err, ReasonDropped)
		}
	}
	if n := requests.Load(); ok == 0 || n != int64(ok) {
		t.Errorf("%d answered calls, %d requests", ok, n)
	}
}

func TestNothingLeft(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	silent := listen(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	for name, url := range map[string]string{
		"nobody listens":       "http://" + closed.Addr().String(),
		"no such name":         "https://provider.invalid/",
		"TLS without an end":   strings.Replace(silent, "http:", "https:", 1),
		"TLS with a stranger":  tlsServer(t, nil),
		"link-local":           "https://169.254.169.254/",
		"link-local IPv6":      "https://[fe80::1]/",
		"link-local, IPv4-in6": "https://[::ffff:169.254.169.254]/",
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, Config{URL: url, Timeout: 300 * time.Millisecond})
			start := time.Now()
			_, err := p.Call(t.Context(), "k", attempt)
			wantNotSent(t, err)
			if d := time.Since(start); d > 3*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
}

func tlsServer(t *testing.T, roots *x509.CertPool) string {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"proto":%q}`, r.Proto)
	}))
	s.Config.ErrorLog = discardLog
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	if roots != nil {
		roots.AddCert(s.Certificate())
	}
	return s.URL
}

func TestTLSIsHTTP11(t *testing.T) {
	roots := x509.NewCertPool()
	url := tlsServer(t, roots)
	p := open(t, Config{URL: url, roots: roots})
	for range 2 {
		answer, err := p.Call(t.Context(), "k", attempt)
		if err != nil || string(answer) != `{"proto":"HTTP/1.1"}` {
			t.Fatalf("%s, %v", answer, err)
		}
	}
}

func TestAmbiguous(t *testing.T) {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, tc := range map[string]struct {
		handle func(net.Conn)
		reason string
	}{
		"no answer":                {func(c net.Conn) { _ = readRequest(c); <-hang }, ReasonNoAnswer},
		"closed after the request": {func(c net.Conn) { _ = readRequest(c) }, ReasonDropped},
		"reset after the request": {func(c net.Conn) {
			_ = readRequest(c)
			_ = c.(*net.TCPConn).SetLinger(0)
		}, ReasonDropped},
		"closed inside the headers": {func(c net.Conn) {
			_ = readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n")
		}, ReasonDropped},
		"not HTTP": {func(c net.Conn) {
			_ = readRequest(c)
			_, _ = io.WriteString(c, "220 smtp.example.com ready\r\n\r\n")
		}, ReasonGarbled},
		"closed inside the body": {func(c net.Conn) {
			_ = readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
		}, ReasonIncomplete},
		"a body without end": {func(c net.Conn) {
			_ = readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
			for {
				if _, err := io.WriteString(c, "1\r\n{\r\n"); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}, ReasonIncomplete},
		"headers without end": {func(c net.Conn) {
			_ = readRequest(c)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for {
				if _, err := io.WriteString(c, "X: "+strings.Repeat("x", 1000)+"\r\n"); err != nil {
					return
				}
			}
		}, ReasonGarbled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, Config{URL: listen(t, tc.handle), Timeout: 300 * time.Millisecond})
			start := time.Now()
			_, err := p.Call(t.Context(), "k", attempt)
			wantAmbiguous(t, err, tc.reason)
			if d := time.Since(start); d > 3*time.Second {
				t.Errorf("took %s", d)
			}
		})
	}
}

// A request that the kernel takes only in part may be acted upon.
func TestPartlyWrittenIsAmbiguous(t *testing.T) {
	url := listen(t, func(c net.Conn) {
		_, _ = io.ReadFull(c, make([]byte, 100))
		_ = c.(*net.TCPConn).SetLinger(0)
	})
	a := attempt
	a.Content = json.RawMessage(`"` + strings.Repeat("x", 32<<20) + `"`)
	_, err := open(t, Config{URL: url}).Call(t.Context(), "k", a)
	wantAmbiguous(t, err, ReasonDropped)
}

func TestInterrupted(t *testing.T) {
	got := make(chan struct{})
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(got)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-got; cancel() }()
	p := open(t, Config{URL: url, BreakerAfter: 1})
	_, err := p.Call(ctx, "k", attempt)
	wantAmbiguous(t, err, ReasonInterrupted)
	if release, err := p.Acquire(t.Context()); err != nil {
		t.Errorf("our own interruption opened the breaker: %v", err)
	} else {
		release()
	}
	_, err = p.Call(ctx, "k", attempt)
	wantNotSent(t, err)
}

// A write that is about to begin when the call is given up as not sent must not happen any more.
func TestSealForbidsLaterWrites(t *testing.T) {
	a, b := net.Pipe()
	defer b.Close()
	c := &conn{Conn: a}
	if c.seal() {
		t.Fatal("nothing was written")
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, errSealed) {
		t.Errorf("wrote after the seal: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, b) }()
	d := &conn{Conn: a}
	if _, err := d.Write([]byte("x")); err != nil || !d.seal() {
		t.Errorf("%v; what was written must show", err)
	}
	if d.begin(); d.seal() {
		t.Error("what another request wrote counts for the next")
	}
	e := &conn{Conn: a}
	_ = a.Close()
	if _, err := e.Write([]byte("x")); err == nil || e.seal() {
		t.Errorf("%v; a write that the connection refused is none", err)
	}
}

// Cancelling at any moment gives one of the two verdicts, and "not sent" is never said of what arrived.
func TestNotSentNeverArrived(t *testing.T) {
	arrived := make(chan string, 10_000)
	url := listen(t, func(c net.Conn) {
		r := bufio.NewReader(c)
		for {
			q, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			arrived <- q.Header.Get("Idempotency-Key")
			_, _ = io.Copy(io.Discard, q.Body)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		}
	})
	p := open(t, Config{URL: url, BreakerAfter: 1 << 30})
	notSent := map[string]bool{}
	for i := range 2000 {
		a := attempt
		a.Key = fmt.Sprint("ev-", i, ":k")
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%400)*time.Microsecond/2)
		_, err := p.Call(ctx, "k", a)
		cancel()
		var n *ledger.NotSentError
		if errors.As(err, &n) {
			notSent[a.Key] = true
		}
	}
	time.Sleep(100 * time.Millisecond) // whatever still is on its way
	if len(notSent) == 0 || len(arrived) == 0 {
		t.Fatalf("%d not sent, %d arrived: nothing was tested", len(notSent), len(arrived))
	}
	for len(arrived) > 0 {
		if key := <-arrived; notSent[key] {
			t.Errorf("%s arrived and counts as not sent", key)
		}
	}
}

func TestKeyThatNoHeaderCarries(t *testing.T) {
	var requests atomic.Int64
	url := serve(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	p := open(t, Config{URL: url})
	for _, key := range []string{"a\nb:k", " a:k", "a\x00:k"} {
		_, err := p.Call(t.Context(), "k", ledger.Attempt{Key: key, Content: attempt.Content})
		var r *ledger.RefusedError
		if !errors.As(err, &r) || r.Reason != ReasonBadKey {
			t.Errorf("%q: %v", key, err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

func TestHugeAnswer(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"recibo":"r","x":"`+strings.Repeat("x", 3<<20)+`"}`)
	})
	answer, err := open(t, Config{URL: url}).Call(t.Context(), "k", attempt)
	if err != nil || len(answer) > maxAnswer+1024 || !json.Valid(answer) {
		t.Errorf("%d bytes, valid %v, %v", len(answer), json.Valid(answer), err)
	}
	_, err = open(t, Config{URL: url, Receipt: "recibo"}).Call(t.Context(), "k", attempt)
	wantAmbiguous(t, err, ReasonNoReceipt)
}
