// Package faultprovider is an external provider for demonstrations and tests: it counts what it delivers, per key,
// and fails as it is told. The truth about an effect is what it counted.
package faultprovider

import (
	"hash/fnv"
	"hash/maphash"
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
	CacheErrors bool          // deduplicates by repeating the first answer for a key, errors included
	KeyHeader   string        // Idempotency-Key
	KeepBodies  bool          // remember the bodies of each key
	Delay       time.Duration // before every answer
	Seed        uint64        // of the shares
	Rules       []Rule        // the first that applies counts
}

// Provider counts and fails. It is safe for concurrent use.
type Provider struct {
	options Options
	start   time.Time

	mu     sync.Mutex
	rules  []Rule
	keys   map[string]*record
	totals Totals
	hook   func(key string)
}

// record is what is known of a key. There may be millions, so it is small; what few keys have is apart.
type record struct {
	requests, delivered uint32
	bodies              uint32        // one more than how often the body was not that of the request before
	known               bool          // acted on, and not forgotten since
	since               time.Duration // when it was acted on or first answered, from the provider's start
	lastBody, acted     uint64        // hashes of the last body and of the one acted on
	stored              Fault         // the answer that is repeated, when answers are stored
	extra               *extra
}

type extra struct {
	bodies [][]byte
	script []Fault
}

var hashSeed = maphash.MakeSeed()

// New makes a provider.
func New(o Options) *Provider {
	if o.KeyHeader == "" {
		o.KeyHeader = "Idempotency-Key"
	}
	p := &Provider{options: o, start: time.Now(), rules: slices.Clone(o.Rules)}
	p.Reset()
	return p
}

// decision is how to answer one request.
type decision struct {
	fault Fault
	delay time.Duration
}

// take counts a request and decides what happens to it.
func (p *Provider) take(key string, body []byte) decision {
	hash := maphash.Bytes(hashSeed, body)
	p.mu.Lock()
	hook := p.hook
	d := p.decide(key, body, hash)
	p.mu.Unlock()
	if hook != nil {
		hook(key)
	}
	return d
}

func (p *Provider) decide(key string, body []byte, hash uint64) decision {
	r, now := p.record(key), time.Since(p.start)
	r.requests++
	if r.requests == 1 {
		p.totals.Keys++
	}
	p.totals.Requests++
	r.keep(body, hash, p.options.KeepBodies)
	if p.options.Window > 0 && now-r.since >= p.options.Window {
		r.known, r.stored = false, ""
	}
	d := p.choose(key, r)
	dedup := p.options.Dedup || p.options.CacheErrors || d.fault == Conflict
	switch {
	case r.stored != "":
		d.fault = r.stored
	case d.fault == Conflict && (!r.known || r.acted == hash):
		d.fault = OK
	}
	p.totals.Faults[d.fault]++
	if d.fault.acts() && !(dedup && r.known) {
		r.known, r.since, r.acted = true, now, hash
		r.delivered++
		p.totals.Deliveries++
		if r.delivered == 2 {
			p.totals.Twice++
		}
	}
	if p.options.CacheErrors && r.stored == "" && d.fault.answer() != "" {
		r.stored, r.since = d.fault.answer(), now
	}
	return d
}

func (r *record) keep(body []byte, hash uint64, whole bool) {
	if r.bodies == 0 || r.lastBody != hash {
		r.bodies++
	}
	r.lastBody = hash
	if whole {
		x := r.more()
		x.bodies = append(x.bodies, slices.Clone(body))
	}
}

func (r *record) more() *extra {
	if r.extra == nil {
		r.extra = &extra{}
	}
	return r.extra
}

func (p *Provider) record(key string) *record {
	r, ok := p.keys[key]
	if !ok {
		r = &record{}
		p.keys[strings.Clone(key)] = r // not the whole header that it may be part of
	}
	return r
}

func (p *Provider) choose(key string, r *record) decision {
	if r.extra != nil && len(r.extra.script) > 0 {
		f := r.extra.script[0]
		r.extra.script = r.extra.script[1:]
		return decision{f, p.options.Delay}
	}
	// One number decides among all rules, each taking its own part of [0, 1), so that every share is exact.
	dice := -1.0
	for _, rule := range p.rules {
		if rule.Match != "" && !strings.Contains(key, rule.Match) ||
			rule.Times > 0 && int(r.requests) > rule.Times ||
			rule.Every > 0 && p.totals.Requests%int64(rule.Every) != 0 {
			continue
		}
		if rule.Share > 0 && rule.Share < 1 {
			if dice < 0 {
				dice = chance(p.options.Seed, key, r.requests)
			}
			if dice >= rule.Share {
				dice -= rule.Share
				continue
			}
		}
		return decision{rule.Fault, p.options.Delay + rule.Delay}
	}
	return decision{OK, p.options.Delay}
}

// chance is a number in [0, 1) that depends on its arguments alone.
func chance(seed uint64, key string, attempt uint32) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return float64(mix(mix(h.Sum64()^mix(seed))+uint64(attempt))>>11) / math.Exp2(53)
}

// mix is the step of SplitMix64: neighbours come out unrelated.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Script says what befalls the next requests of a key, one after the other, before any rule.
func (p *Provider) Script(key string, faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record(key).more().script = slices.Clone(faults)
}

// SetRules replaces the rules.
func (p *Provider) SetRules(rules ...Rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = slices.Clone(rules)
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
