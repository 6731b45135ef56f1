package text

import (
	"strings"
	"unicode"
)

// Suspicion says what about an identifier may deceive the eye; the zero value is nothing.
type Suspicion struct {
	Hidden bool // holds characters that are not shown as themselves
	Mixed  bool // mixes letters of scripts that look alike
	Spaced bool // begins or ends with a space, or holds several together
}

// Any reports whether there is anything to say.
func (s Suspicion) Any() bool { return s.Hidden || s.Mixed || s.Spaced }

// lookAlike are the scripts whose letters can pass for Latin ones.
var lookAlike = []*unicode.RangeTable{unicode.Latin, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic}

// Inspect looks at an identifier as it is stored.
func Inspect(s string) Suspicion {
	var out Suspicion
	out.Hidden = Clean(strings.ReplaceAll(s, `\`, "/")) != strings.ReplaceAll(s, `\`, "/")
	out.Spaced = strings.TrimSpace(s) != s || strings.Contains(s, "  ")
	scripts := 0
	for _, table := range lookAlike {
		if strings.IndexFunc(s, func(r rune) bool { return unicode.Is(table, r) }) >= 0 {
			scripts++
		}
	}
	fullwidth := strings.IndexFunc(s, func(r rune) bool { return r >= 0xFF01 && r <= 0xFF5E || r >= 0x1D400 && r <= 0x1D7FF }) >= 0
	out.Mixed = scripts > 1 || fullwidth
	return out
}
