package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxy stands between the program and its database and does to their traffic what networks do.
type proxy struct {
	t *testing.T
	*toxiproxy.Proxy
}

// throughProxy makes the program reach its database through a proxy; the test's own connections stay direct.
func (s *site) throughProxy() *proxy {
	s.t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p := &proxy{s.t, toxiproxy.NewProxy(server, "database", "127.0.0.1:0", u.Host)}
	p.start()
	s.t.Cleanup(p.Stop)
	u.Host = p.Listen
	s.url = u.String()
	return p
}

// start listens, on the same address as before.
func (p *proxy) start() {
	if err := p.Start(); err != nil {
		p.t.Errorf("start the proxy: %v", err)
	}
}

// add puts a toxic on both directions, or on one: "upstream" is towards the database.
func (p *proxy) add(kind, attributes string, streams ...string) {
	for _, stream := range streams {
		text := fmt.Sprintf(`{"name": %q, "type": %q, "stream": %q, "attributes": {%s}}`, kind+stream, kind, stream, attributes)
		if _, err := p.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
			p.t.Errorf("add %s: %v", text, err)
		}
	}
}

func (p *proxy) heal() { p.Toxics.ResetToxics(context.Background()) }

// networkFaults are what may befall the network, each with its end.
var networkFaults = []struct {
	name string
	on   func(*proxy)
	off  func(*proxy)
}{
	{"refused", func(p *proxy) { p.Stop() }, func(p *proxy) { p.start() }},
	{"reset", func(p *proxy) { p.add("reset_peer", `"timeout": 0`, "upstream", "downstream") }, (*proxy).heal},
	{"stalled", func(p *proxy) { p.add("timeout", `"timeout": 0`, "upstream", "downstream") }, (*proxy).heal},
	{"replies lost", func(p *proxy) { p.add("timeout", `"timeout": 0`, "downstream") }, (*proxy).heal},
	{"slow", func(p *proxy) { p.add("latency", `"latency": 200, "jitter": 50`, "upstream", "downstream") }, (*proxy).heal},
	{"a byte at a time", func(p *proxy) { p.add("slicer", `"average_size": 1, "delay": 20`, "downstream") }, (*proxy).heal},
}
