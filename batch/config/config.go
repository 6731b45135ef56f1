// Package config reads the one TOML file that describes a deployment: providers, what is done with each kind of
// effect, limits, schedules. Every key is documented in config.example.toml.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Config is a deployment. [Default] holds the value of every key that a file leaves out.
type Config struct {
	Database string `toml:"database"` // URL, or env:NAME or file:PATH that holds it
	Zone     string `toml:"zone"`
	Language string `toml:"language"`
	Theme    string `toml:"theme"`

	Run        Run                 `toml:"run"`
	Ledger     Ledger              `toml:"ledger"`
	Commission Commission          `toml:"commission"`
	Effects    map[string]Effect   `toml:"effects"`
	Providers  map[string]Provider `toml:"providers"`
	Schedules  []Schedule          `toml:"schedule"`
	Review     Review              `toml:"review"`
	Metrics    Metrics             `toml:"metrics"`

	// Path is the file that was read, or "".
	Path string `toml:"-"`
}

// Run says how replays are worked.
type Run struct {
	Workers     int           `toml:"workers"`
	Slice       time.Duration `toml:"slice"`
	Chunk       int           `toml:"chunk"`
	PoolSize    int           `toml:"pool_size"`
	GapWait     time.Duration `toml:"gap_wait"`
	GiveUpAfter time.Duration `toml:"give_up_after"`
}

// Ledger says when a reservation counts as abandoned.
type Ledger struct {
	SweepAge time.Duration `toml:"sweep_age"`
	Margin   time.Duration `toml:"margin"`
}

// Commission is the arithmetic of the commission handler.
type Commission struct {
	Arithmetic string `toml:"arithmetic"`
	Divisor    int64  `toml:"divisor"`
}

// Effect is what is done with one kind of effect.
type Effect struct {
	Mode        string `toml:"mode"`
	OnFailure   string `toml:"on_failure"`
	When        string `toml:"when"`
	Provider    string `toml:"provider"`
	MaxAttempts int    `toml:"max_attempts"`
}

// Provider is one external provider, as its contract describes it.
type Provider struct {
	URL             string            `toml:"url"`
	AllowHTTP       bool              `toml:"allow_http"`
	Timeout         time.Duration     `toml:"timeout"`
	Concurrency     int               `toml:"concurrency"`
	Rate            float64           `toml:"rate"`
	Burst           int               `toml:"burst"`
	KeyHeader       string            `toml:"key_header"`
	Headers         map[string]string `toml:"headers"`
	Secret          string            `toml:"secret"`
	Deduplicates    bool              `toml:"deduplicates"`
	DedupWindow     time.Duration     `toml:"dedup_window"`
	RefusedStatuses []int             `toml:"refused_statuses"`
	NotSentStatuses []int             `toml:"not_sent_statuses"`
	Receipt         string            `toml:"receipt"`
	LookUpURL       string            `toml:"look_up_url"`
	LookUpFound     []int             `toml:"look_up_found"`
	LookUpNotFound  []int             `toml:"look_up_not_found"`
	Hours           string            `toml:"hours"`
	Zone            string            `toml:"zone"`
	BreakerAfter    int               `toml:"breaker_after"`
	BreakerWait     time.Duration     `toml:"breaker_wait"`
}

// Schedule is one entry of the runner's cron.
type Schedule struct {
	Name     string        `toml:"name"`
	Spec     string        `toml:"spec"`
	Zone     string        `toml:"zone"`
	Task     string        `toml:"task"`
	Deadline time.Duration `toml:"deadline"`
	// For task "queue".
	ID      string   `toml:"id"`
	DaysAgo int      `toml:"days_ago"`
	Mode    string   `toml:"mode"`
	Types   []string `toml:"types"`
}

// Review says who may decide, and when.
type Review struct {
	FourEyes   bool          `toml:"four_eyes"`
	Quarantine time.Duration `toml:"quarantine"`
}

// Metrics says where the runner serves them.
type Metrics struct {
	Listen string `toml:"listen"`
}

// Default is a configuration without a file.
func Default() Config {
	return Config{
		Zone:       "UTC",
		Run:        Run{Workers: 4, Slice: 10 * time.Second, Chunk: 20_000, GapWait: 30 * time.Second, GiveUpAfter: 5 * time.Minute},
		Ledger:     Ledger{SweepAge: 5 * time.Minute, Margin: 10 * time.Second},
		Commission: Commission{Arithmetic: "ieee", Divisor: 100},
	}
}

// Defaults of a table that a file may have several of.
var (
	defaultEffect   = Effect{Mode: "suprimir", OnFailure: "manter", When: "sempre", MaxAttempts: 5}
	defaultProvider = Provider{
		Timeout: 10 * time.Second, Concurrency: 16, KeyHeader: "Idempotency-Key", BreakerAfter: 10, BreakerWait: 30 * time.Second,
		LookUpFound: []int{200}, LookUpNotFound: []int{404},
	}
	defaultSchedule = Schedule{Deadline: time.Hour, Mode: "simular", DaysAgo: 1}
)

// Load reads a file ("": $REPRISE_CONFIG, ./reprise.toml, ~/.config/reprise/config.toml, else the defaults), lets
// the environment override it, and refuses whatever cannot work, naming every problem at once.
func Load(path string) (Config, error) {
	c := Default()
	path, err := find(path)
	if err != nil {
		return c, err
	}
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return c, fmt.Errorf("configuration: %w", err)
		}
		if c, err = Parse(string(text)); err != nil {
			return c, fmt.Errorf("configuration %s: %w", path, err)
		}
		c.Path = path
	}
	if err := overrideFromEnvironment(&c, os.Environ()); err != nil {
		return c, err
	}
	if err := c.Validate(); err != nil {
		if path == "" {
			return c, fmt.Errorf("configuration: %w", err)
		}
		return c, fmt.Errorf("configuration %s: %w", path, err)
	}
	return c, nil
}

func find(path string) (string, error) {
	if path != "" {
		return path, nil
	}
	if path = os.Getenv("REPRISE_CONFIG"); path != "" {
		return path, nil
	}
	places := []string{"reprise.toml"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "reprise", "config.toml"))
	}
	for _, p := range places {
		switch _, err := os.Stat(p); {
		case err == nil:
			return p, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return "", fmt.Errorf("configuration: %w", err)
		}
	}
	return "", nil
}

// Parse reads a file's text over the defaults. Unknown keys are refused: a misspelt one would be a rule that
// nobody applies.
func Parse(text string) (Config, error) {
	c := Default()
	meta, err := toml.Decode(text, &c)
	if err != nil {
		var bad toml.ParseError
		if errors.As(err, &bad) {
			return c, fmt.Errorf("line %d: %s", bad.Position.Line, bad.Message)
		}
		return c, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		var names []string
		for _, k := range unknown {
			names = append(names, fmt.Sprintf("unknown key %s%s", k, suggestion(k)))
		}
		return c, errors.New(strings.Join(names, "; "))
	}
	for name, e := range c.Effects {
		fill(&e, defaultEffect, func(key string) bool { return meta.IsDefined("effects", name, key) })
		c.Effects[name] = e
	}
	for name, p := range c.Providers {
		fill(&p, defaultProvider, func(key string) bool { return meta.IsDefined("providers", name, key) })
		c.Providers[name] = p
	}
	for i := range c.Schedules {
		fillZero(&c.Schedules[i], defaultSchedule)
	}
	return c, nil
}

// suggestion names the known key that an unknown one was perhaps meant to be.
func suggestion(key toml.Key) string {
	best, distance := "", 3
	for _, known := range knownKeys() {
		if d := editDistance(key[len(key)-1], known); d < distance {
			best, distance = known, d
		}
	}
	if best == "" {
		return " (config.example.toml lists them all)"
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], slices.Min([]int{row[j+1] + 1, row[j] + 1, diagonal + cost})
		}
	}
	return row[len(b)]
}
