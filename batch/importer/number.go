package importer

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

const (
	maxFraction = 16383 // digits after the point that PostgreSQL's numeric keeps
	plainNumber = 300   // characters without an exponent that both a double and a numeric surely hold
)

// digits passes over digits and tells whether there was one.
func (s *scanner) digits() bool {
	from := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > from
}

func (s *scanner) number() bool {
	from := s.i
	if s.b[s.i] == '-' {
		s.i++
	}
	if !s.atEnd() && s.b[s.i] == '0' {
		s.i++
		if !s.atEnd() && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
			return s.fail(CodeBadJSON, "a number does not begin with 0")
		}
	} else if !s.digits() {
		return s.unexpected("a digit")
	}
	fraction := 0
	if !s.atEnd() && s.b[s.i] == '.' {
		s.i++
		dot := s.i
		if !s.digits() {
			return s.unexpected("a digit")
		}
		fraction = s.i - dot
	}
	exponent := s.i
	if !s.atEnd() && (s.b[s.i] == 'e' || s.b[s.i] == 'E') {
		s.i++
		if !s.atEnd() && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	if exponent == s.i && s.i-from <= plainNumber {
		return true
	}
	if reason := unstorable(s.b[from:exponent], s.b[exponent:s.i], fraction); reason != "" {
		text := excerpt(s.b[from:s.i])
		s.i = from
		return s.fail(CodeNumber, "%s %s", text, reason)
	}
	return true
}

// unstorable tells what would happen to a number on its way through the archive to a consumer.
func unstorable(mantissa, exponent []byte, fraction int) string {
	value, err := strconv.ParseFloat(string(mantissa)+string(exponent), 64)
	if errors.Is(err, strconv.ErrRange) {
		return "is beyond the range of a double: a consumer would read infinity"
	}
	if value == 0 && bytes.ContainsAny(mantissa, "123456789") {
		return "is too small for a double: a consumer would read 0"
	}
	shift := 0
	if len(exponent) > 1 {
		// What is left to be beyond all bounds is the exponent of a zero.
		if shift, err = strconv.Atoi(string(exponent[1:])); err != nil || shift > maxFraction {
			return "has an exponent that PostgreSQL refuses"
		}
	}
	if fraction-shift > maxFraction {
		return fmt.Sprintf("has more than %d digits after the point: PostgreSQL would round it", maxFraction)
	}
	return ""
}
