package faultprovider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// ServeHTTP takes effects as POST requests on any path, and answers about itself:
//
//	GET  /_counts        totals
//	GET  /_counts/KEY    one key
//	GET  /_deliveries    every key, an object a line
//	GET  /lookup/KEY     200 if it acted on the key, 404 if not
//	GET, PUT /_faults    the rules
//	POST /_reset         forget everything but the rules
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case r.Method == http.MethodGet && path == "/_counts":
		answer(w, p.Totals())
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/_counts/"):
		answer(w, p.about(strings.TrimPrefix(path, "/_counts/")))
	case r.Method == http.MethodGet && path == "/_deliveries":
		enc := json.NewEncoder(w)
		for _, key := range p.Keys() {
			if err := enc.Encode(p.about(key)); err != nil {
				return
			}
		}
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/lookup/"):
		key := strings.TrimPrefix(path, "/lookup/")
		if p.Delivered(key) == 0 {
			http.Error(w, `{"erro":"unknown key"}`, http.StatusNotFound)
			return
		}
		answer(w, p.about(key))
	case path == "/_faults" && r.Method == http.MethodGet:
		answer(w, p.Rules())
	case path == "/_faults" && r.Method == http.MethodPut:
		var rules []Rule
		if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&rules); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		p.SetRules(rules...)
		answer(w, rules)
	case path == "/_reset" && r.Method == http.MethodPost:
		p.Reset()
	case r.Method == http.MethodPost:
		p.deliver(w, r)
	default:
		http.NotFound(w, r)
	}
}

type about struct {
	Key       string `json:"chave"`
	Requests  int    `json:"requests"`
	Delivered int    `json:"delivered"`
	Body      string `json:"body,omitempty"`
}

func (p *Provider) about(key string) about {
	return about{key, p.Requests(key), p.Delivered(key), string(p.Body(key))}
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func statusOf(f Fault) int {
	return map[Fault]int{Refuse: http.StatusUnprocessableEntity, Unavailable: http.StatusServiceUnavailable, ActThenFail: http.StatusInternalServerError, Conflict: http.StatusConflict}[f]
}

func (p *Provider) deliver(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get(p.options.KeyHeader)
	if key == "" {
		http.Error(w, p.options.KeyHeader+" is missing", http.StatusBadRequest)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	d := p.take(key, body)
	if d.delay > 0 {
		select {
		case <-time.After(d.delay):
		case <-r.Context().Done():
		}
	}
	switch {
	case d.status != 0:
		http.Error(w, `{"erro":"cached answer"}`, d.status)
	case statusOf(d.fault) != 0:
		http.Error(w, fmt.Sprintf(`{"erro":%q}`, d.fault), statusOf(d.fault))
	case d.fault == Hang || d.fault == ActThenHang:
		select {
		case <-r.Context().Done():
		case <-time.After(10 * time.Minute):
		}
	case d.fault == Drop || d.fault == ActThenDrop:
		reset(w)
	case d.fault == Empty:
		w.WriteHeader(http.StatusOK)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"recibo":"r-%08x","chave":%q}`, uint32(chance(1, key, 0)*(1<<32)), key)
	}
}

// reset cuts the connection so that the client sees a reset, not an orderly end.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// Server is a provider that listens on the loopback interface.
type Server struct {
	*Provider
	URL    string
	server *http.Server
	done   chan error
}

// Start starts a provider on a free port.
func Start(o Options) (*Server, error) { return Listen("127.0.0.1:0", o) }

// Listen starts a provider on an address, which must be a loopback one.
func Listen(address string, o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen on %q: only a loopback address; this provider is for demonstrations and tests", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := New(o)
	s := &Server{Provider: p, URL: "http://" + listener.Addr().String(), server: &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}, done: make(chan error, 1)}
	go func() { s.done <- s.server.Serve(listener) }()
	return s, nil
}

// Wait returns when the server ended, or after closing it when ctx ends.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		s.Close()
		return nil
	case err := <-s.done:
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}
}

// Close ends it at once, open calls included.
func (s *Server) Close() { _ = s.server.Close() }
