// Package provider is the client of one external provider, as configuration describes it. It promises at most one
// request on the wire for each call, and to say of a failed call only what is certain: that nothing left, that the
// provider refused, or that nobody knows.
package provider

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"reprise.dev/reprise/batch"
)

// Config is a provider's contract. Only URL is needed.
type Config struct {
	Name    string
	URL     string        // https; http to this machine, or with AllowHTTP
	Timeout time.Duration // of one call; 10 s
	// Concurrency is how many calls are made at the same time; 16.
	Concurrency int
	Rate        float64 // requests per second; 0: no limit
	// Burst is how many of them may come at once; a fiftieth of a second's, so that no second exceeds the rate by more.
	Burst int

	KeyHeader    string            // carries the idempotency key; Idempotency-Key
	Headers      map[string]string // sent as well
	Secret       Secret            // value of SecretHeader
	SecretHeader string            // Authorization

	RefusedStatuses []int  // a definite no
	NotSentStatuses []int  // certainly before anything happened
	Receipt         string // dotted path of what a 2xx answer must have; "": nothing

	LookUpURL      string // with {key}; "": there is no look-up
	LookUpFound    []int  // 200
	LookUpNotFound []int  // 404

	Hours string // "08:00-20:00"; "": always
	Zone  *time.Location

	BreakerAfter int           // consecutive failures after which calls stop; 10
	BreakerWait  time.Duration // after which one is tried again; 30 s

	AllowHTTP bool
	Log       *slog.Logger

	roots *x509.CertPool // nil: the system's
}

func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Concurrency == 0 {
		c.Concurrency = 16
	}
	if c.Burst == 0 {
		c.Burst = max(1, int(c.Rate/50))
	}
	if c.KeyHeader == "" {
		c.KeyHeader = "Idempotency-Key"
	}
	if c.SecretHeader == "" {
		c.SecretHeader = "Authorization"
	}
	if c.LookUpFound == nil {
		c.LookUpFound = []int{http.StatusOK}
	}
	if c.LookUpNotFound == nil {
		c.LookUpNotFound = []int{http.StatusNotFound}
	}
	if c.BreakerAfter == 0 {
		c.BreakerAfter = 10
	}
	if c.BreakerWait == 0 {
		c.BreakerWait = 30 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// Provider is the client. It is a [batch.Provider], safe for concurrent use.
type Provider struct {
	Config
	url       *url.URL
	header    http.Header // of every request
	hours     hours
	transport *http.Transport
	places    chan struct{}
	turns     sync.Mutex // of the limiter
	limiter   *rate.Limiter
	breaker   *gobreaker.TwoStepCircuitBreaker[struct{}]
	opensAt   atomic.Pointer[time.Time] // when the breaker, if open, lets one call through
	probing   atomic.Bool               // that one has its place
}

// New makes a client; it connects to nothing yet. The error names everything that is wrong with the contract.
func New(c Config) (*Provider, error) {
	c = c.withDefaults()
	p := &Provider{
		Config: c, transport: newTransport(c.Concurrency, c.roots), places: make(chan struct{}, max(c.Concurrency, 1)),
		limiter: rate.NewLimiter(rate.Inf, 1),
	}
	if c.Rate > 0 {
		p.limiter = rate.NewLimiter(rate.Limit(c.Rate), c.Burst)
	}
	p.breaker = p.newBreaker()
	var problems [4]error
	p.url, problems[0] = c.checkURL("url", c.URL)
	p.header, problems[1] = c.header()
	p.hours, problems[2] = parseHours(c.Hours, c.Zone)
	if c.LookUpURL != "" {
		_, problems[3] = c.checkURL("look_up_url", strings.ReplaceAll(c.LookUpURL, keyPlaceholder, "k"))
		if problems[3] == nil && !strings.Contains(c.LookUpURL, keyPlaceholder) {
			problems[3] = fmt.Errorf("look_up_url: it must contain %s", keyPlaceholder)
		}
	}
	if err := errors.Join(problems[:]...); err != nil {
		return nil, fmt.Errorf("provider %s: %w", c.Name, err)
	}
	return p, nil
}

// checkURL repeats nothing of a URL, in which people put passwords.
func (c Config) checkURL(what, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s: not an http or https URL", what)
	case u.User != nil:
		return nil, fmt.Errorf("%s: holds a user name or password; use secret", what)
	case u.Scheme == "http" && !c.AllowHTTP && !loopback(u.Hostname()):
		return nil, fmt.Errorf("%s: plain http to another machine; use https, or set allow_http", what)
	}
	return u, nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// header makes what is sent with every request.
func (c Config) header() (http.Header, error) {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"reprise"}}
	own := []string{http.CanonicalHeaderKey(c.KeyHeader), "Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", "Expect"}
	for name, value := range c.Headers {
		switch name := http.CanonicalHeaderKey(name); {
		case slices.Contains(own, name) || c.Secret != "" && name == http.CanonicalHeaderKey(c.SecretHeader):
			return nil, fmt.Errorf("headers: %s is set by the client itself", name)
		case !validName(name) || !validValue(value):
			return nil, fmt.Errorf("headers: %q cannot be sent", name)
		default:
			h.Set(name, value)
		}
	}
	if !validName(c.KeyHeader) || !validName(c.SecretHeader) {
		return nil, fmt.Errorf("key header %q, secret header %q: not both are names of headers", c.KeyHeader, c.SecretHeader)
	}
	if !validValue(string(c.Secret)) {
		return nil, errors.New("secret: it holds a line break, or blanks around it")
	}
	if c.Secret != "" {
		h.Set(c.SecretHeader, string(c.Secret))
	}
	return h, nil
}

func validName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~") == ""
}

// validValue reports whether a header can carry s unchanged.
func validValue(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

var _ batch.Provider = (*Provider)(nil)

// longestWait is how long [Provider.Acquire] waits for the rate; beyond it the caller has better things to do.
const longestWait = 5 * time.Second

// Acquire waits for a place, and for the rate. It returns a [*batch.ClosedError] outside sending hours, if the
// breaker is open, or if the rate lets nothing through for some time.
func (p *Provider) Acquire(ctx context.Context) (release func(), err error) {
	if err := p.openNow(); err != nil {
		return nil, err
	}
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	giveBack := func() { <-p.places }
	if err := p.waitForRate(ctx); err != nil {
		giveBack()
		return nil, err
	}
	if err := p.openNow(); err != nil { // it may have closed meanwhile
		giveBack()
		return nil, err
	}
	endProbe, err := p.admit()
	if err != nil {
		giveBack()
		return nil, err
	}
	return func() { endProbe(); giveBack() }, nil
}

func (p *Provider) openNow() error {
	if open, until := p.hours.open(time.Now()); !open {
		return &batch.ClosedError{Why: fmt.Sprintf(remarkHours, p.hours.text, p.hours.zone), Until: until}
	}
	return p.failing()
}

func (p *Provider) waitForRate(ctx context.Context) error {
	turn, wait := p.takeTurn(longestWait)
	if wait > longestWait {
		return &batch.ClosedError{Why: fmt.Sprintf(batch.Counted(p.Rate, remarkRateOne, remarkRate), p.Rate), Until: time.Now().Add(wait)}
	}
	if wait > 0 && !pause(ctx, wait) {
		turn.Cancel()
		return ctx.Err()
	}
	return nil
}

// takeTurn takes the next turn if it comes soon enough. Nobody takes one meanwhile: of a turn that is given back when
// a later one is taken, the limiter gives back nothing.
func (p *Provider) takeTurn(within time.Duration) (turn *rate.Reservation, wait time.Duration) {
	p.turns.Lock()
	defer p.turns.Unlock()
	turn = p.limiter.Reserve()
	if wait = turn.Delay(); wait > within {
		turn.Cancel()
	}
	return turn, wait
}

// pause reports whether it lasted as long as it should.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
