package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// idleTimeout is how long a connection is kept for the next call. It is short because a server that closes an
// idle connection just as a request leaves makes that request ambiguous.
const idleTimeout = time.Second

// newTransport makes connections that know whether anything was written to them. It speaks HTTP/1.1 only, where
// a request is on a connection by itself, and asks no proxy.
func newTransport(concurrency int, roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 15 * time.Second, ControlContext: allowed}
	plain := func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &conn{Conn: c}, nil
	}
	encrypted := func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			_ = raw.Close()
			return nil, err
		}
		c := tls.Client(raw, &tls.Config{ServerName: host, RootCAs: roots, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
		if err := c.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("TLS: %w", err)
		}
		return &conn{Conn: c}, nil
	}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext: plain, DialTLSContext: encrypted, Protocols: &protocols,
		MaxIdleConnsPerHost: concurrency, IdleConnTimeout: idleTimeout,
		DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
	}
}

// allowed refuses link-local addresses: no provider is there, but a cloud's metadata service is. It sees the
// address that is really dialled, so no name can lead around it.
func allowed(_ context.Context, _, address string, _ syscall.RawConn) error {
	ip, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if a := ip.Addr().Unmap(); a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
		return fmt.Errorf("%s is a link-local, multicast or unspecified address: no provider is called there", a)
	}
	return nil
}

// errSealed is what a write gets after its call was given up as not sent.
var errSealed = errors.New(remarkSealed)

// conn watches what is written. With TLS it watches what goes in: a record that leaves in part cannot be read
// by anybody.
type conn struct {
	net.Conn
	mu      sync.Mutex
	written bool // since the request that has the connection now
	read    bool
	sealed  bool
}

// begin says that a new request has the connection.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written, c.read = false, false
}

// seal reports whether anything was written, and if not makes sure that nothing will be: the transport writes
// in a goroutine of its own, which may still be about to.
func (c *conn) seal() (written bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.written {
		c.sealed = true
	}
	return c.written
}

// answered reports whether anything was read.
func (c *conn) answered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.read
}

func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	if c.sealed {
		c.mu.Unlock()
		return 0, errSealed
	}
	before := c.written
	c.written = true // from now on it may be on its way
	c.mu.Unlock()
	n, err := c.Conn.Write(b)
	if n == 0 && err != nil && !before {
		c.mu.Lock()
		c.written = false
		c.mu.Unlock()
	}
	return n, err
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.mu.Lock()
		c.read = true
		c.mu.Unlock()
	}
	return n, err
}
