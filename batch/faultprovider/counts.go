package faultprovider

import (
	"maps"
	"slices"
)

// Totals sum up what came and what was done.
type Totals struct {
	Requests   int64           `json:"requests"`
	Deliveries int64           `json:"deliveries"`
	Keys       int64           `json:"keys"`
	Twice      int64           `json:"twice"` // keys that were delivered more than once
	Faults     map[Fault]int64 `json:"faults"`
}

// Count is what came under one key and what was done about it.
type Count struct {
	Key       string `json:"chave"`
	Requests  int    `json:"requests"`
	Delivered int    `json:"delivered"`      // effective deliveries, after the provider's own deduplication
	Bodies    int    `json:"bodies"`         // 1: every request carried the same body; more: it changed
	Body      string `json:"body,omitempty"` // the last, if bodies are kept
}

// Count is what is known of a key: zero if it never came.
func (p *Provider) Count(key string) Count {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := Count{Key: key}
	if r, ok := p.keys[key]; ok {
		c.Requests, c.Delivered, c.Bodies = int(r.requests), int(r.delivered), int(r.bodies)
		if r.extra != nil && len(r.extra.bodies) > 0 {
			c.Body = string(r.extra.bodies[len(r.extra.bodies)-1])
		}
	}
	return c
}

// Delivered is how often the provider acted on a key.
func (p *Provider) Delivered(key string) int { return p.Count(key).Delivered }

// Requests is how often a key came.
func (p *Provider) Requests(key string) int { return p.Count(key).Requests }

// Bodies are those that came with a key, in order, if bodies are kept.
func (p *Provider) Bodies(key string) [][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.keys[key]; ok && r.extra != nil {
		return slices.Clone(r.extra.bodies)
	}
	return nil
}

// Keys lists the keys that came, sorted.
func (p *Provider) Keys() []string {
	p.mu.Lock()
	keys := make([]string, 0, len(p.keys))
	for key, r := range p.keys {
		if r.requests > 0 { // else only scripted
			keys = append(keys, key)
		}
	}
	p.mu.Unlock()
	slices.Sort(keys)
	return keys
}

// Totals sums up.
func (p *Provider) Totals() Totals {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.totals
	t.Faults = maps.Clone(t.Faults)
	return t
}

// Rules are those in force.
func (p *Provider) Rules() []Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Rule{}, p.rules...)
}
