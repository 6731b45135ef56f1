// Package text is everything that the dashboard says: one catalogue in English and Portuguese, numbers, money
// and times as each language writes them, and the sanitizer that every byte from data goes through.
package text

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Language is one that the catalogue speaks.
type Language int

// The languages.
const (
	English Language = iota
	Portuguese
)

// ParseLanguage reads a setting such as "pt", "pt_BR.UTF-8" or "en"; anything else is English.
func ParseLanguage(s string) Language {
	s = strings.ToLower(s)
	if s == "pt" || strings.HasPrefix(s, "pt_") || strings.HasPrefix(s, "pt-") || strings.HasPrefix(s, "pt.") {
		return Portuguese
	}
	return English
}

// FromEnvironment reads the language as POSIX says: LC_ALL, else LC_MESSAGES, else LANG.
func FromEnvironment() Language {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := os.Getenv(name); v != "" {
			return ParseLanguage(v)
		}
	}
	return English
}

// M is one message of the catalogue: the same format in every language, in the order of the constants above.
type M [2]string

// Printer says things in one language and one time zone.
type Printer struct {
	Language Language
	Zone     *time.Location
}

// NewPrinter makes a printer; no zone means the machine's own.
func NewPrinter(l Language, zone *time.Location) *Printer {
	if zone == nil {
		zone = time.Local
	}
	return &Printer{Language: l, Zone: zone}
}

// S says a message. Arguments are taken as they are: clean what comes from data first.
func (p *Printer) S(m M, args ...any) string {
	if len(args) == 0 {
		return m[p.Language]
	}
	return fmt.Sprintf(m[p.Language], args...)
}

// Plural is a message for one and a message for any other number.
type Plural struct{ One, Many M }

// N says a plural with its number, which is the first argument of the format.
func (p *Printer) N(m Plural, n int64, args ...any) string {
	args = append([]any{p.Int(n)}, args...)
	if n == 1 || n == -1 {
		return p.S(m.One, args...)
	}
	return p.S(m.Many, args...)
}
