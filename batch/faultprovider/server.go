package faultprovider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

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
	for _, r := range o.Rules {
		if err := r.check(); err != nil {
			return nil, err
		}
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
