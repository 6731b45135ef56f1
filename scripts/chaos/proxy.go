package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxy is one process's way to the database, or everybody's to the provider.
type proxy struct {
	*toxiproxy.Proxy
	url string // that leads through it
}

func newProxy(server *toxiproxy.ApiServer, name, to string) (*proxy, error) {
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	p := &proxy{Proxy: toxiproxy.NewProxy(server, name, "127.0.0.1:0", u.Host)}
	if err := p.Start(); err != nil {
		return nil, fmt.Errorf("proxy to %s: %w", name, err)
	}
	u.Host = p.Listen
	p.url = u.String()
	return p, nil
}

func newProxies() *toxiproxy.ApiServer {
	return toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
}

// toxic is a fault of the network; streams are the directions that it befalls: "upstream" is towards the server.
type toxic struct {
	name, kind, attributes string
	streams                []string
}

var (
	both = []string{"upstream", "downstream"}
	back = []string{"downstream"}
)

var toxics = []toxic{
	{name: "refused"}, // the proxy is gone
	{"reset", "reset_peer", `"timeout": 0`, both},
	{"stalled", "timeout", `"timeout": 0`, both},
	{"replies lost", "timeout", `"timeout": 0`, back},
	{"slow", "latency", `"latency": 300, "jitter": 200`, both},
	{"cut within a reply", "limit_data", `"bytes": 700`, back},
}

func (p *proxy) befall(t toxic) error {
	if t.kind == "" {
		p.Stop()
		return nil
	}
	for _, stream := range t.streams {
		text := fmt.Sprintf(`{"name": %q, "type": %q, "stream": %q, "attributes": {%s}}`, t.kind+stream, t.kind, stream, t.attributes)
		if _, err := p.Toxics.AddToxicJson(strings.NewReader(text)); err != nil {
			return fmt.Errorf("network fault %s: %w", t.name, err)
		}
	}
	return nil
}

// heal ends every fault. The address may be in use for a moment.
func (p *proxy) heal(ctx context.Context) error {
	p.Toxics.ResetToxics(context.WithoutCancel(ctx))
	if p.Enabled {
		return nil
	}
	var err error
	for range 50 {
		if err = p.Start(); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("start the proxy again: %w", err)
}
