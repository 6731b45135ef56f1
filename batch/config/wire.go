package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/commission"
	"reprise.dev/reprise/batch/provider"
	"reprise.dev/reprise/ledger"
)

// Location is the time zone in which times without a zone are read and printed.
func (c *Config) Location() *time.Location { return location(c.Zone) }

func location(zone string) *time.Location {
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return time.UTC
	}
	return loc
}

// DatabaseURL is $REPRISE_DATABASE_URL, else the configured one with its reference resolved; "" if there is none.
func (c *Config) DatabaseURL() (string, error) {
	if url := os.Getenv("REPRISE_DATABASE_URL"); url != "" {
		return url, nil
	}
	url, err := resolve(c.Database)
	if err != nil {
		return "", fmt.Errorf("database: %w", err)
	}
	return url, nil
}

// resolve reads what a reference points to; anything else is taken as it is.
func resolve(ref string) (string, error) {
	if name, ok := strings.CutPrefix(ref, "env:"); ok {
		value, ok := os.LookupEnv(name)
		if !ok {
			return "", fmt.Errorf("environment variable %s is not set", name)
		}
		return value, nil
	}
	if path, ok := strings.CutPrefix(ref, "file:"); ok {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		return strings.TrimSpace(string(text)), nil
	}
	return ref, nil
}

// SmallestPool is how many connections a process that executes needs: one for each worker and each group commit, and
// one each for the job engine, its leadership, the watcher, the heartbeat.
func (c *Config) SmallestPool() int { return c.Run.Workers + 8 }

// PoolSize is how many database connections a process may open.
func (c *Config) PoolSize() int {
	if c.Run.PoolSize != 0 {
		return c.Run.PoolSize
	}
	return 2*c.Run.Workers + 10
}

// Handlers are the handlers of this program. A second one is one more line here.
func (c *Config) Handlers() batch.Handlers {
	handlers := batch.Handlers{}
	for _, h := range []batch.Handler{
		commission.New(commission.Options{Arithmetic: c.Commission.Arithmetic, Divisor: c.Commission.Divisor}),
	} {
		handlers[h.Name()] = h
	}
	return handlers
}

// Rules say what is done with each kind of effect. A kind without a rule is suppressed and reported.
func (c *Config) Rules() map[string]batch.Rule {
	rules := make(map[string]batch.Rule, len(c.Effects))
	for kind := range c.Effects {
		rules[kind] = c.rule(kind)
	}
	return rules
}

func (c *Config) rule(kind string) batch.Rule {
	e := c.Effects[kind]
	p := c.Providers[e.Provider]
	policy := ledger.Policy{
		OnFailure: ledger.OnFailure(e.OnFailure), CallTimeout: p.Timeout, MaxAttempts: e.MaxAttempts, Quarantine: c.Review.Quarantine,
	}
	if policy.OnFailure == ledger.Release {
		policy.DedupWindow = p.DedupWindow
	}
	return batch.Rule{Mode: e.Mode, When: e.When, Provider: e.Provider, Policy: policy}
}

// LedgerOptions configure the ledger.
func (c *Config) LedgerOptions() ledger.Options {
	// Group commits are small: a database that does not answer one in ten seconds is taken for gone, and asked again.
	return ledger.Options{SweepAge: c.Ledger.SweepAge, Margin: c.Ledger.Margin, StatementTimeout: 10 * time.Second}
}

// EngineOptions configure the engine.
func (c *Config) EngineOptions() batch.Options {
	return batch.Options{
		Slice: c.Run.Slice, Chunk: c.Run.Chunk, Workers: c.Run.Workers, GapWait: c.Run.GapWait, GiveUpAfter: c.Run.GiveUpAfter,
	}
}

// OpenProviders makes the providers, with their secrets.
func (c *Config) OpenProviders(log *slog.Logger) (map[string]batch.Provider, error) {
	providers := make(map[string]batch.Provider, len(c.Providers))
	var problems []error
	for name, p := range c.Providers {
		secret, err := resolve(p.Secret)
		if err == nil {
			providers[name], err = provider.New(provider.Config{
				Name: name, URL: p.URL, AllowHTTP: p.AllowHTTP, Timeout: p.Timeout, Concurrency: p.Concurrency, Rate: p.Rate, Burst: p.Burst,
				KeyHeader: p.KeyHeader, Headers: p.Headers, Secret: provider.Secret(secret), RefusedStatuses: p.RefusedStatuses,
				NotSentStatuses: p.NotSentStatuses, Receipt: p.Receipt, LookUpURL: p.LookUpURL, LookUpFound: p.LookUpFound,
				LookUpNotFound: p.LookUpNotFound, Hours: p.Hours, Zone: location(p.Zone), BreakerAfter: p.BreakerAfter,
				BreakerWait: p.BreakerWait, Log: log,
			})
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("providers.%s: %w", name, err))
		}
	}
	return providers, errors.Join(problems...)
}

// OpenSchedules makes the runner's schedules.
func (c *Config) OpenSchedules(store *batch.Store) []batch.Schedule {
	schedules := make([]batch.Schedule, len(c.Schedules))
	for i, s := range c.Schedules {
		schedules[i] = batch.Schedule{Name: s.Name, Spec: s.Spec, Zone: c.zoneOf(s), Deadline: s.Deadline}
		if s.Task == "sweep" {
			schedules[i].Task = store.SweepSchedule(s.Name)
		} else {
			schedules[i].Task = store.QueueSchedule(func(slot time.Time) batch.Request { return c.request(s, slot) })
		}
	}
	return schedules
}

func (c *Config) zoneOf(s Schedule) *time.Location {
	if s.Zone == "" {
		return c.Location()
	}
	return location(s.Zone)
}

// request is the replay of one whole local day, some days before the slot.
func (c *Config) request(s Schedule, slot time.Time) batch.Request {
	zone := c.zoneOf(s)
	local := slot.In(zone)
	from := time.Date(local.Year(), local.Month(), local.Day()-s.DaysAgo, 0, 0, 0, 0, zone)
	to := time.Date(local.Year(), local.Month(), local.Day()-s.DaysAgo+1, 0, 0, 0, 0, zone)
	id := s.ID
	if id == "" {
		id = s.Name + "-{day}"
	}
	return batch.Request{
		ID:   strings.ReplaceAll(id, "{day}", from.Format("2006-01-02")),
		Mode: batch.Mode(s.Mode), Scope: batch.Scope{From: &from, To: &to, Zone: zone.String(), Types: s.Types},
	}
}

// NextFirings says when each schedule fires next.
func (c *Config) NextFirings(now time.Time) []batch.NextFiring {
	next := make([]batch.NextFiring, 0, len(c.Schedules))
	for _, s := range c.Schedules {
		spec, err := batch.ParseSpec(s.Spec)
		if err != nil {
			continue
		}
		next = append(next, batch.NextFiring{Task: s.Name, Spec: s.Spec, Next: batch.NextSlot(spec, c.zoneOf(s), now)})
	}
	return next
}
