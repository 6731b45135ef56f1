package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// fault is why a line is rejected, and where in it.
type fault struct {
	code   string
	column int // byte in the line, from 1; 0 if it is about the line as a whole
	reason string
}

func faultf(code string, format string, args ...any) *fault {
	return &fault{code: code, reason: fmt.Sprintf(format, args...)}
}

const (
	maxDepth     = 1000
	pairwiseUpTo = 16 // keys of an object that are compared one by one
	maxExcerpt   = 60 // characters of a value that a reason quotes
)

// member is one key of the outermost object and its value, as slices of the line.
type member struct {
	key   []byte // unescaped
	value []byte
	at    int // of the value in the line
}

// scanner checks that a line is JSON which PostgreSQL stores as it is: jsonb would refuse NUL and halves of
// characters, drop all but the last of equal keys, and round fractions beyond its precision; and a number that no
// double holds would reach consumers as infinity or zero. It is reused from line to line.
type scanner struct {
	b       []byte
	i       int
	members []member // of the outermost object
	keys    [][]byte // of the objects that are open, as a stack
	fault   *fault
}

// scan checks a line that is one JSON value. It returns what is wrong with it, or nil.
func (s *scanner) scan(line []byte) *fault {
	s.b, s.i, s.fault = line, 0, nil
	s.members, s.keys = s.members[:0], s.keys[:0]
	if !utf8.Valid(line) {
		return invalidUTF8(line)
	}
	s.space()
	if !s.value(1) {
		return s.fault
	}
	s.space()
	if s.i < len(s.b) {
		s.fail(CodeBadJSON, "%s after the end of the value", s.here())
		return s.fault
	}
	return nil
}

func invalidUTF8(line []byte) *fault {
	i := 0
	for i < len(line) {
		r, n := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		i += n
	}
	return &fault{code: CodeUTF8, column: i + 1, reason: fmt.Sprintf("byte 0x%02x is not UTF-8", line[i])}
}

func (s *scanner) fail(code, format string, args ...any) bool {
	s.fault = faultf(code, format, args...)
	s.fault.column = s.i + 1
	return false
}

// unexpected fails at a byte that JSON does not allow there. At the end of the line it is truncation that it looks
// like; only the reader of lines knows whether more could have followed.
func (s *scanner) unexpected(wanted string) bool {
	return s.fail(CodeBadJSON, "%s where %s belongs", s.here(), wanted)
}

func (s *scanner) atEnd() bool { return s.i >= len(s.b) }

// here names the next byte.
func (s *scanner) here() string {
	if s.atEnd() {
		return "the end of the line"
	}
	if c := s.b[s.i]; c < ' ' || c == 0x7f {
		return fmt.Sprintf("control character 0x%02x", c)
	}
	r, _ := utf8.DecodeRune(s.b[s.i:])
	return strconv.QuoteRune(r)
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) value(depth int) bool {
	if s.atEnd() {
		return s.unexpected("a value")
	}
	switch c := s.b[s.i]; {
	case c == '"':
		_, _, ok := s.text()
		return ok
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == '{':
		return s.object(depth)
	case c == '[':
		return s.array(depth)
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.unexpected("a value")
}

func (s *scanner) word(w string) bool {
	for j := range len(w) {
		if s.atEnd() || s.b[s.i] != w[j] {
			return s.unexpected(w)
		}
		s.i++
	}
	return true
}

func (s *scanner) object(depth int) bool {
	if depth > maxDepth {
		return s.fail(CodeTooDeep, "more than %d levels", maxDepth)
	}
	s.i++
	base := len(s.keys)
	var seen map[string]struct{}
	s.space()
	if !s.atEnd() && s.b[s.i] == '}' {
		s.i++
		return true
	}
	for {
		s.space()
		if s.atEnd() || s.b[s.i] != '"' {
			return s.unexpected("a key")
		}
		at := s.i
		raw, escaped, ok := s.text()
		if !ok {
			return false
		}
		key := raw[1 : len(raw)-1]
		if escaped {
			key = unquote(raw)
		}
		if s.repeated(key, base, &seen) {
			s.i = at
			return s.fail(CodeDuplicateKey, "key %s is there twice", excerpt(raw))
		}
		s.space()
		if s.atEnd() || s.b[s.i] != ':' {
			return s.unexpected("a colon")
		}
		s.i++
		s.space()
		from := s.i
		if !s.value(depth + 1) {
			return false
		}
		if depth == 1 {
			s.members = append(s.members, member{key: key, value: s.b[from:s.i], at: from})
		}
		s.space()
		if s.atEnd() {
			return s.unexpected("a comma or a brace")
		}
		switch s.b[s.i] {
		case ',':
			s.i++
		case '}':
			s.i++
			s.keys = s.keys[:base]
			return true
		default:
			return s.unexpected("a comma or a brace")
		}
	}
}

// repeated reports whether the open object, whose keys begin at base, has the key already, and notes it.
func (s *scanner) repeated(key []byte, base int, seen *map[string]struct{}) bool {
	keys := s.keys[base:]
	s.keys = append(s.keys, key)
	if len(keys) < pairwiseUpTo {
		for _, k := range keys {
			if bytes.Equal(k, key) {
				return true
			}
		}
		return false
	}
	if *seen == nil {
		*seen = make(map[string]struct{}, 2*len(keys))
		for _, k := range keys {
			(*seen)[string(k)] = struct{}{}
		}
	}
	if _, there := (*seen)[string(key)]; there {
		return true
	}
	(*seen)[string(key)] = struct{}{}
	return false
}

func (s *scanner) array(depth int) bool {
	if depth > maxDepth {
		return s.fail(CodeTooDeep, "more than %d levels", maxDepth)
	}
	s.i++
	s.space()
	if !s.atEnd() && s.b[s.i] == ']' {
		s.i++
		return true
	}
	for {
		s.space()
		if !s.value(depth + 1) {
			return false
		}
		s.space()
		if s.atEnd() {
			return s.unexpected("a comma or a bracket")
		}
		switch s.b[s.i] {
		case ',':
			s.i++
		case ']':
			s.i++
			return true
		default:
			return s.unexpected("a comma or a bracket")
		}
	}
}

// plain are the bytes that may stand in a string as they are.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= ' ' && c != '"' && c != '\\'
	}
	return t
}()

// text reads a string, quotes included, and tells whether it holds escapes.
func (s *scanner) text() (raw []byte, escaped, ok bool) {
	from := s.i
	b, i := s.b, s.i+1
	for {
		for i < len(b) && plain[b[i]] {
			i++
		}
		s.i = i
		if i >= len(b) {
			return nil, false, s.unexpected("a closing quote")
		}
		switch b[i] {
		case '"':
			s.i = i + 1
			return b[from:s.i], escaped, true
		case '\\':
			escaped = true
			if !s.escape() {
				return nil, false, false
			}
			i = s.i
		default:
			return nil, false, s.fail(CodeBadJSON, "%s in a string must be escaped", s.here())
		}
	}
}

// escape reads what follows a backslash.
func (s *scanner) escape() bool {
	if s.i+1 >= len(s.b) {
		s.i++
		return s.unexpected("an escape")
	}
	switch s.b[s.i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.i += 2
		return true
	case 'u':
	default:
		return s.fail(CodeBadJSON, "JSON has no escape \\%c", s.b[s.i+1])
	}
	unit, ok := hex4(s.b, s.i)
	switch {
	case !ok:
		return s.fail(CodeBadJSON, "\\u without four hexadecimal digits")
	case unit == 0:
		return s.fail(CodeNUL, "PostgreSQL stores no NUL (\\u0000)")
	case unit >= 0xDC00 && unit <= 0xDFFF:
		return s.fail(CodeSurrogate, "\\u%04x is the second half of a character without the first", unit)
	case unit >= 0xD800 && unit <= 0xDBFF:
		second, ok := hex4(s.b, s.i+6)
		if !ok || second < 0xDC00 || second > 0xDFFF {
			return s.fail(CodeSurrogate, "\\u%04x is the first half of a character without the second", unit)
		}
		s.i += 6
	}
	s.i += 6
	return true
}

// hex4 reads \uXXXX at i.
func hex4(b []byte, i int) (unit uint32, ok bool) {
	if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	for _, c := range b[i+2 : i+6] {
		unit <<= 4
		switch {
		case '0' <= c && c <= '9':
			unit |= uint32(c - '0')
		case 'a' <= c && c <= 'f':
			unit |= uint32(c - 'a' + 10)
		case 'A' <= c && c <= 'F':
			unit |= uint32(c - 'A' + 10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// unquote reads a string that was checked before.
func unquote(raw []byte) []byte {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		panic(fmt.Sprintf("importer: unquote %q: %v", raw, err))
	}
	return []byte(text)
}

// excerpt quotes the beginning of a value in a reason.
func excerpt[T string | []byte](raw T) string {
	if len(raw) <= maxExcerpt {
		return strings.ToValidUTF8(string(raw), "\uFFFD")
	}
	return strings.ToValidUTF8(string(raw[:maxExcerpt]), "") + "…"
}
