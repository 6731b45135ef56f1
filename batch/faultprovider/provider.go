// Package faultprovider is an external provider for demonstrations and tests: it counts what it delivers, per key,
// and fails as it is told. The truth about an effect is what it counted.
package faultprovider

import (
	"hash/fnv"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options describe the provider.
type Options struct {
	Dedup       bool          // a second request with a key has no effect…
	Window      time.Duration // …for so long after the first; 0: for ever
	CacheErrors bool          // the first answer for a key is repeated, errors included
	KeyHeader   string        // Idempotency-Key
	KeepBodies  bool          // remember the last body of each key
	Delay       time.Duration // before every answer
	Seed        uint64        // of the shares
	Rules       []Rule        // the first that applies counts
}

// Totals sum up what came and what was done.
type Totals struct {
	Requests   int64           `json:"requests"`
	Deliveries int64           `json:"deliveries"`
	Keys       int64           `json:"keys"`
	Twice      int64           `json:"twice"` // keys that were delivered more than once
	Faults     map[Fault]int64 `json:"faults"`
}

// Provider counts and fails. It is safe for concurrent use.
type Provider struct {
	options Options

	mu     sync.Mutex
	rules  []Rule
	keys   map[string]*record
	totals Totals
	hook   func(key string)
}

// record is what is known of a key.
type record struct {
	requests, delivered int
	first               time.Time
	bodyHash            uint64
	body                []byte
	cached              int // status, when errors are cached
	script              []Fault
}

var hashSeed = maphash.MakeSeed()

// New makes a provider.
func New(o Options) *Provider {
	if o.KeyHeader == "" {
		o.KeyHeader = "Idempotency-Key"
	}
	return &Provider{options: o, rules: o.Rules, keys: map[string]*record{}, totals: Totals{Faults: map[Fault]int64{}}}
}

// decision is what to answer to one request.
type decision struct {
	fault  Fault
	status int // of a cached answer, or 0
	delay  time.Duration
	acted  bool
}

// take counts a request and decides what happens to it.
func (p *Provider) take(key string, body []byte) decision {
	p.mu.Lock()
	hook := p.hook
	d := p.decide(key, body)
	p.mu.Unlock()
	if hook != nil {
		hook(key)
	}
	return d
}

func (p *Provider) decide(key string, body []byte) decision {
	r := p.record(key)
	r.requests++
	p.totals.Requests++
	d := p.choose(key, r)
	hash := maphash.Bytes(hashSeed, body)
	known := p.options.Dedup && r.delivered > 0 && (p.options.Window == 0 || time.Since(r.first) < p.options.Window)
	if p.options.CacheErrors && r.cached != 0 {
		return decision{fault: d.fault, status: r.cached, delay: d.delay}
	}
	if d.fault == Conflict {
		if r.requests == 1 || r.bodyHash == hash {
			d.fault = OK
		}
	}
	p.totals.Faults[d.fault]++
	if d.fault.acts() && !known {
		r.delivered++
		r.first = time.Now()
		p.totals.Deliveries++
		if r.delivered == 2 {
			p.totals.Twice++
		}
		d.acted = true
	}
	if r.requests == 1 || d.acted {
		r.bodyHash = hash
	}
	if p.options.KeepBodies {
		r.body = slices.Clone(body)
	}
	if status := statusOf(d.fault); p.options.CacheErrors && status != 0 {
		r.cached = status
	}
	return d
}

func (p *Provider) record(key string) *record {
	r, ok := p.keys[key]
	if !ok {
		r = &record{}
		p.keys[key] = r
	}
	return r
}

func (p *Provider) choose(key string, r *record) decision {
	if len(r.script) > 0 {
		f := r.script[0]
		r.script = r.script[1:]
		return decision{fault: f, delay: p.options.Delay}
	}
	for _, rule := range p.rules {
		if rule.Match != "" && !strings.Contains(key, rule.Match) ||
			rule.Times > 0 && r.requests > rule.Times ||
			rule.Every > 0 && p.totals.Requests%int64(rule.Every) != 0 ||
			rule.Share > 0 && rule.Share < 1 && chance(p.options.Seed, key, r.requests) >= rule.Share {
			continue
		}
		return decision{fault: rule.Fault, delay: p.options.Delay + rule.Delay}
	}
	return decision{fault: OK, delay: p.options.Delay}
}

// chance is a number in [0, 1) that depends on its arguments alone.
func chance(seed uint64, key string, attempt int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	x := h.Sum64() ^ seed*0x9e3779b97f4a7c15 ^ uint64(attempt)<<32
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	x ^= x >> 29
	return float64(x>>11) / math.Exp2(53)
}

// Delivered is how often the provider acted on a key.
func (p *Provider) Delivered(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.keys[key]; ok {
		return r.delivered
	}
	return 0
}

// Requests is how often a key came.
func (p *Provider) Requests(key string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.keys[key]; ok {
		return r.requests
	}
	return 0
}

// Body is the last body that came with a key, if bodies are kept.
func (p *Provider) Body(key string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r, ok := p.keys[key]; ok {
		return r.body
	}
	return nil
}

// Totals sums up.
func (p *Provider) Totals() Totals {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.totals
	t.Keys, t.Faults = int64(len(p.keys)), maps.Clone(p.totals.Faults)
	return t
}

// Keys lists the keys that came, sorted.
func (p *Provider) Keys() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.keys))
}

// Script says what befalls the next requests of a key, one after the other.
func (p *Provider) Script(key string, faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record(key).script = faults
}

// SetRules replaces the rules.
func (p *Provider) SetRules(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = rules
}

// Rules are those in force.
func (p *Provider) Rules() []Rule {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.rules)
}

// OnRequest calls f after each request was counted and before it is answered.
func (p *Provider) OnRequest(f func(key string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hook = f
}

// Reset forgets everything but the rules.
func (p *Provider) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys, p.totals = map[string]*record{}, Totals{Faults: map[Fault]int64{}}
}
