package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

// Validate reports all that cannot work, each with its key and remedy. Contradictions name both values.
func (c *Config) Validate() error {
	var problems []error
	say := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	add := func(err error, where string) {
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", where, err))
		}
	}
	_, err := time.LoadLocation(c.Zone)
	say(err != nil, "zone = %q: not a time zone of this system; write it like America/Sao_Paulo", c.Zone)
	say(!slices.Contains([]string{"", "en", "pt"}, c.Language), "language = %q: en, pt, or leave it out to follow LANG", c.Language)
	say(!slices.Contains([]string{"", "auto", "dark", "light", "mono", "plain"}, c.Theme), "theme = %q: auto, dark, light, mono or plain", c.Theme)
	say(c.Run.Workers < 1 || c.Run.Workers > 64, "run.workers = %d: 1 to 64", c.Run.Workers)
	say(c.Run.Slice < time.Second || c.Run.Slice > time.Minute, "run.slice = %s: 1s to 1m", c.Run.Slice)
	say(c.Run.Chunk < 100, "run.chunk = %d: 100 or more", c.Run.Chunk)
	say(c.Run.PoolSize != 0 && c.Run.PoolSize < c.SmallestPool(), "run.pool_size = %d: run.workers = %d need at least %d connections", c.Run.PoolSize, c.Run.Workers, c.SmallestPool())
	say(c.Ledger.SweepAge < time.Second, "ledger.sweep_age = %s: 1s or more", c.Ledger.SweepAge)
	say(c.Review.Quarantine < 0, "review.quarantine = %s: not negative", c.Review.Quarantine)
	say(c.Ledger.Margin < 0, "ledger.margin = %s: not negative", c.Ledger.Margin)
	say(c.Commission.Divisor != 100 && c.Commission.Divisor != 1000, "commission.divisor = %d: 100 (percentual is per cent) or 1000 (per mille)", c.Commission.Divisor)
	say(!slices.Contains([]string{"ieee", "exact"}, c.Commission.Arithmetic), "commission.arithmetic = %q: ieee or exact", c.Commission.Arithmetic)
	for _, kind := range slices.Sorted(maps.Keys(c.Effects)) {
		c.validateEffect(kind, say, add)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		validateProvider(name, c.Providers[name], say)
	}
	for i, s := range c.Schedules {
		c.validateSchedule(i, s, say, add)
	}
	if _, err := c.DatabaseURL(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func (c *Config) validateEffect(kind string, say func(bool, string, ...any), add func(error, string)) {
	e := c.Effects[kind]
	where := "effects." + kind
	add(ledger.ValidKind(kind), where)
	say(e.Mode != batch.ModeApply && e.Mode != batch.ModeSuppress, "%s.mode = %q: aplicar or suprimir", where, e.Mode)
	say(e.When != batch.WhenAlways && e.When != batch.WhenWritten, "%s.when = %q: sempre or se-gravado", where, e.When)
	onFailure := []ledger.OnFailure{ledger.Release, ledger.Keep, ledger.LookUp}
	known := slices.Contains(onFailure, ledger.OnFailure(e.OnFailure))
	say(!known, "%s.on_failure = %q: liberar, manter or consultar", where, e.OnFailure)
	if e.Mode != batch.ModeApply || !known {
		return
	}
	p, ok := c.Providers[e.Provider]
	say(!ok, "%s.provider = %q: there is no [providers.%s]", where, e.Provider, e.Provider)
	if !ok {
		return
	}
	say(e.OnFailure == string(ledger.Release) && !p.Deduplicates,
		"%s.on_failure = \"liberar\" and providers.%s.deduplicates = false contradict: a retry would be a second delivery; use manter or consultar", where, e.Provider)
	say(e.OnFailure == string(ledger.LookUp) && p.LookUpURL == "",
		"%s.on_failure = \"consultar\" and no providers.%s.look_up_url contradict: there is nothing to ask", where, e.Provider)
	say(e.MaxAttempts < 0, "%s.max_attempts = %d: not negative", where, e.MaxAttempts)
	c.validateTimes(where, e, say)
}

// validateTimes compares how long a call may take with what must not happen before it has ended.
func (c *Config) validateTimes(where string, e Effect, say func(bool, string, ...any)) {
	p, sweepAge := c.Providers[e.Provider], c.Ledger.SweepAge
	call := p.Timeout + c.Ledger.Margin
	calls := fmt.Sprintf("providers.%s.timeout = %s with ledger.margin = %s", e.Provider, p.Timeout, c.Ledger.Margin)
	say(call >= sweepAge, "%s and ledger.sweep_age = %s contradict: a call must have ended before its reservation counts as abandoned", calls, sweepAge)
	say(e.OnFailure == string(ledger.Release) && p.DedupWindow > 0 && p.DedupWindow <= sweepAge+call,
		"%s.on_failure = \"liberar\" and providers.%s.dedup_window = %s contradict: what was abandoned is found at ledger.sweep_age = %s, "+
			"too late for another call (%s); shorten the sweep age, or use manter", where, e.Provider, p.DedupWindow, sweepAge, calls)
	say(c.Review.Quarantine != 0 && c.Review.Quarantine < call,
		"%s and review.quarantine = %s contradict: nobody may decide about a call that could still be alive", calls, c.Review.Quarantine)
}

func validateProvider(name string, p Provider, say func(bool, string, ...any)) {
	where := "providers." + name
	u, err := url.Parse(p.URL)
	say(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https", "%s.url = %q: an http or https URL", where, p.URL)
	say(p.Timeout < 10*time.Millisecond, "%s.timeout = %s: 10ms or more", where, p.Timeout)
	say(p.Concurrency < 1 || p.Concurrency > 4096, "%s.concurrency = %d: 1 to 4096", where, p.Concurrency)
	say(p.Rate < 0, "%s.rate = %v: calls per second, 0 for no limit", where, p.Rate)
	say(p.DedupWindow < 0, "%s.dedup_window = %s: not negative", where, p.DedupWindow)
	say(p.DedupWindow != 0 && !p.Deduplicates, "%s.dedup_window = %s and %s.deduplicates = false contradict", where, p.DedupWindow, where)
	_, err = time.LoadLocation(p.Zone)
	say(err != nil, "%s.zone = %q: not a time zone of this system", where, p.Zone)
	say(p.Secret != "" && !isReference(p.Secret), "%s.secret: write env:NAME or file:PATH, never the secret itself", where)
	validateStatuses(where, p, say)
	say(p.LookUpURL != "" && !strings.Contains(p.LookUpURL, "{key}"), "%s.look_up_url = %q: it must contain {key}", where, p.LookUpURL)
}

// validateStatuses refuses two meanings of one status.
func validateStatuses(where string, p Provider, say func(bool, string, ...any)) {
	for _, status := range p.RefusedStatuses {
		say(slices.Contains(p.NotSentStatuses, status), "%s.refused_statuses and %s.not_sent_statuses both list %d", where, where, status)
		say(status >= 200 && status < 300, "%s.refused_statuses lists %d, which means that the provider acted", where, status)
	}
	for _, status := range p.NotSentStatuses {
		say(status >= 200 && status < 300, "%s.not_sent_statuses lists %d, which means that the provider acted", where, status)
	}
	for _, status := range p.LookUpFound {
		say(slices.Contains(p.LookUpNotFound, status), "%s.look_up_found and %s.look_up_not_found both list %d", where, where, status)
	}
}

func (c *Config) validateSchedule(i int, s Schedule, say func(bool, string, ...any), add func(error, string)) {
	where := fmt.Sprintf("schedule %d (%s)", i+1, s.Name)
	say(s.Name == "", "%s: needs a name", where)
	for _, other := range c.Schedules[:i] {
		say(other.Name == s.Name, "%s: the name is taken by another schedule", where)
	}
	_, err := batch.ParseSpec(s.Spec)
	add(err, where)
	_, err = time.LoadLocation(s.Zone)
	say(err != nil, "%s: zone %q is not a time zone of this system", where, s.Zone)
	say(s.Task != "sweep" && s.Task != "queue", "%s: task = %q: sweep or queue", where, s.Task)
	say(s.Mode != string(batch.Simulate) && s.Mode != string(batch.Apply), "%s: mode = %q: simular or aplicar", where, s.Mode)
}

func isReference(s string) bool { return strings.HasPrefix(s, "env:") || strings.HasPrefix(s, "file:") }
