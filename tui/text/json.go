package text

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Excerpt is how much of a value is shown; the rest is for the pager.
const Excerpt = 4096

// JSON lays out the first bytes of a JSON value in clean lines, two columns a level. It does not need the value
// to be valid, nor all of it: it looks at no more than limit bytes, so that a value of any size costs the same.
// Indentation stops growing at a depth that would leave no room to read.
func JSON(raw []byte, limit int) (lines []string, cut bool) {
	const deepest = 12
	if len(raw) > limit {
		for limit > 0 && !utf8.RuneStart(raw[limit]) {
			limit--
		}
		raw, cut = raw[:limit], true
	}
	raw = bytes.TrimSpace(raw)
	var line strings.Builder
	depth, inString, escaped := 0, false, false
	flush := func() {
		if s := strings.TrimRight(line.String(), " "); s != "" {
			lines = append(lines, CleanLine(s))
		}
		line.Reset()
		line.WriteString(strings.Repeat("  ", min(max(depth, 0), deepest)))
	}
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inString:
			line.WriteByte(c)
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				inString = false
			}
		case c == '"':
			inString = true
			line.WriteByte(c)
		case c == '{' || c == '[':
			line.WriteByte(c)
			if end := next(raw, i+1); end >= 0 && (raw[end] == '}' || raw[end] == ']') {
				line.WriteByte(raw[end])
				i = end
				break
			}
			depth++
			flush()
		case c == '}' || c == ']':
			depth--
			flush()
			line.WriteByte(c)
		case c == ',':
			line.WriteByte(c)
			flush()
		case c == ':':
			line.WriteString(": ")
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		default:
			line.WriteByte(c)
		}
	}
	flush()
	return lines, cut
}

// next is the index of the next byte that is not white space, or -1.
func next(raw []byte, i int) int {
	for ; i < len(raw); i++ {
		if c := raw[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return i
		}
	}
	return -1
}

// Wrap breaks a clean line into pieces of at most a width; further pieces are indented a little.
func Wrap(line string, w int) []string {
	if w <= 4 || Width(line) <= w {
		return []string{Truncate(line, w)}
	}
	var out []string
	rest, indent := line, ""
	for rest != "" {
		piece := cutWidth(rest, w-len(indent))
		if piece == "" {
			break
		}
		out = append(out, indent+piece)
		rest = rest[len(piece):]
		indent = "  "
	}
	return out
}

// WrapWords breaks clean text at spaces into lines of at most a width. Spaces inside a line are kept as they are.
func WrapWords(s string, w int) []string {
	var out []string
	for s != "" && w > 0 {
		piece := cutWidth(s, w)
		rest := s[len(piece):]
		if rest != "" && rest[0] == ' ' {
			rest = rest[1:]
		} else if i := strings.LastIndexByte(piece, ' '); rest != "" && i > 0 {
			piece, rest = piece[:i], s[i+1:]
		}
		out = append(out, piece)
		s = rest
	}
	return out
}

// cutWidth is the longest prefix of s that fits a width.
func cutWidth(s string, w int) string {
	piece := ansi.Truncate(Clip(s, w), w, "")
	if piece == "" && s != "" {
		piece = ansi.Truncate(s, 2, "") // a wide character in one column: better too wide than endless
	}
	return piece
}
