package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Clean makes text from data safe to show on one line: control characters (C0, DEL, C1), invalid UTF-8, bidi
// controls, zero-width and otherwise invisible characters become visible escapes, and a backslash is doubled,
// so that an escape on the screen is never mistaken for one in the data. What is left has the width that
// [Width] says on every terminal.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	return escape(s, true)
}

// CleanLine is Clean for text that writes its own escapes, such as JSON or a program's message: backslashes
// are kept, tabs become spaces.
func CleanLine(s string) string {
	if plain(s) {
		return s
	}
	return escape(strings.ReplaceAll(s, "\t", "    "), false)
}

func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\\' {
			return false
		}
	}
	return true
}

// maxMarks is how many combining marks may sit on one character before they reach into other lines.
const maxMarks = 3

func escape(s string, backslash bool) string {
	var b strings.Builder
	marks := maxMarks // a mark at the start has nothing to sit on
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
			marks = maxMarks
		case r == '\\' && backslash:
			b.WriteString(`\\`)
			marks = 0
		case unicode.Is(unicode.M, r) && !invisible(r):
			if marks >= maxMarks {
				writeEscape(&b, r)
				break
			}
			marks++
			b.WriteRune(r)
		case invisible(r) || !unicode.IsPrint(r):
			writeEscape(&b, r)
			marks = maxMarks
		default:
			marks = 0
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// invisible are characters that Unicode calls letters, marks or symbols but that show nothing or change how
// their neighbours are drawn.
func invisible(r rune) bool {
	switch {
	case r == 0x034F, // combining grapheme joiner
		r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, // Hangul fillers
		r == 0x17B4, r == 0x17B5, // Khmer inherent vowels
		r >= 0x180B && r <= 0x180F,   // Mongolian selectors
		r == 0x2800,                  // braille blank
		r >= 0xFE00 && r <= 0xFE0F,   // variation selectors
		r >= 0x1F1E6 && r <= 0x1F1FF, // regional indicators: a pair is one flag here, two letters there
		r >= 0x1F3FB && r <= 0x1F3FF, // skin tones: join the emoji before them on some terminals
		r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return false
}

func writeEscape(b *strings.Builder, r rune) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r < 0x10000:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// Clip bounds what is looked at of a text, which may be megabytes, to what could fill w columns: a character
// with all the marks that may sit on it takes a few bytes.
func Clip(s string, w int) string {
	most := max(w, 4) * 16
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// Width is the number of columns that clean text takes.
func Width(s string) int { return ansi.StringWidth(s) }

// Truncate cuts clean or styled text to a width, ending it in "…" where something was cut.
func Truncate(s string, w int) string {
	if w <= 0 {
		return ""
	}
	return ansi.Truncate(s, w, "…")
}

// Ends is text from data in w columns, clean; if it does not fit, what is left are its beginning and, a little more of it,
// its end.
func Ends(s string, w int) string {
	if most := max(w, 4) * 16; len(s) > most { // as Clip, but the end tells
		from := len(s) - most/2
		for from < len(s) && !utf8.RuneStart(s[from]) {
			from++
		}
		s = Clip(s, w/2) + s[from:]
	}
	s = Clean(s)
	n := Width(s)
	if n <= w || w < 3 {
		return Truncate(s, w)
	}
	tail := w / 2
	end := ansi.TruncateLeft(s, n-tail, "")
	if Width(end) > tail { // a wide character was at the cut
		end = ansi.TruncateLeft(s, n-tail+1, "")
	}
	return ansi.Truncate(s, w-1-tail, "") + "…" + end
}

// Pad cuts or fills clean or styled text to exactly a width.
func Pad(s string, w int) string {
	n := Width(s)
	if n > w {
		s = Truncate(s, w)
		n = Width(s) // cutting a wide character leaves a gap
	}
	if n < w {
		s += strings.Repeat(" ", w-n)
	}
	return s
}

// PadLeft is Pad with the text at the right edge.
func PadLeft(s string, w int) string {
	n := Width(s)
	if n > w {
		s = Truncate(s, w)
		n = Width(s)
	}
	if n < w {
		s = strings.Repeat(" ", w-n) + s
	}
	return s
}
