package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth    = 512  // of nested JSON; the database's own limit is its stack
	maxExponent = 1000 // of a JSON number; jsonb writes numbers out in full
)

// canonical is the form of a content that is stored, hashed, compared and sent: keys sorted, a repeated key's
// last value, no space, numbers written out. It survives a round trip through jsonb. No content is null.
func canonical(content json.RawMessage) (json.RawMessage, error) {
	if len(content) == 0 {
		return json.RawMessage("null"), nil
	}
	if flat(content) {
		return bytes.Clone(content), nil
	}
	return rewritten(content)
}

func rewritten(content json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(content) {
		return nil, errors.New("not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	value, err := storable(value, 0)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// flat recognizes, at little cost, most of what is in canonical form already: an object whose keys are sorted, of plain
// text and integers.
func flat(content []byte) bool {
	rest, ok := bytes.CutPrefix(content, []byte("{"))
	for last := []byte(nil); ok; {
		var key []byte
		if key, rest, ok = plainString(rest); !ok || last != nil && bytes.Compare(key, last) <= 0 || len(rest) < 2 || rest[0] != ':' {
			return false
		}
		if last, rest = key, rest[1:]; rest[0] == '"' {
			_, rest, ok = plainString(rest)
		} else {
			rest, ok = plainInteger(rest)
		}
		if string(rest) == "}" {
			return ok
		}
		ok = ok && len(rest) > 0 && rest[0] == ','
		if ok {
			rest = rest[1:]
		}
	}
	return false
}

// plainString cuts a JSON string off that is written as it reads.
func plainString(b []byte) (text, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	for i, c := range b[1:] {
		switch {
		case c == '"':
			return b[1 : i+1], b[i+2:], true
		case c == '\\' || c < ' ' || c > '~':
			return nil, nil, false
		}
	}
	return nil, nil, false
}

// plainInteger cuts an integer off that no reading changes.
func plainInteger(b []byte) (rest []byte, ok bool) {
	const most = 18 // digits
	digits := bytes.TrimPrefix(b, []byte("-"))
	n := 0
	for n < len(digits) && '0' <= digits[n] && digits[n] <= '9' {
		n++
	}
	if n == 0 || n > most || digits[0] == '0' && len(b)-len(digits)+n > 1 {
		return nil, false
	}
	return digits[n:], true
}

// storable checks for what jsonb cannot hold, and writes numbers as it does.
func storable(value any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch v := value.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return nil, errors.New("a string holds a NUL, which the database cannot store")
		}
	case json.Number:
		return plainNumber(string(v))
	case []any:
		for i := range v {
			item, err := storable(v[i], depth+1)
			if err != nil {
				return nil, err
			}
			v[i] = item
		}
	case map[string]any:
		for key := range v {
			if strings.ContainsRune(key, 0) {
				return nil, errors.New("a key holds a NUL, which the database cannot store")
			}
			item, err := storable(v[key], depth+1)
			if err != nil {
				return nil, err
			}
			v[key] = item
		}
	}
	return value, nil
}

// plainNumber writes a number without exponent and without a negative zero, as jsonb does: 1.50e1 is 15.0.
func plainNumber(text string) (json.Number, error) {
	mantissa, exponent, found := strings.Cut(strings.ToLower(text), "e")
	exp := 0
	if found {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil || exp < -maxExponent || exp > maxExponent {
			return "", fmt.Errorf("number %.40s: the exponent is out of range", text)
		}
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if len(whole)+len(fraction) > math.MaxUint16 {
		return "", errors.New("a number has too many digits")
	}
	if exp > 0 {
		move := min(exp, len(fraction))
		whole, fraction = whole+fraction[:move]+strings.Repeat("0", exp-move), fraction[move:]
	} else if exp < 0 {
		move := min(-exp, len(whole))
		fraction = strings.Repeat("0", -exp-move) + whole[len(whole)-move:] + fraction
		whole = whole[:len(whole)-move]
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	plain := whole
	if fraction != "" {
		plain += "." + fraction
	}
	if negative && strings.Trim(plain, "0.") != "" {
		plain = "-" + plain
	}
	return json.Number(plain), nil
}

func hashOf(canonical json.RawMessage) []byte {
	sum := sha256.Sum256(canonical)
	return sum[:]
}

// answerText makes a provider's answer storable, whatever it is: a known outcome is never lost because of what
// the provider wrote. The empty string means no answer.
func answerText(answer json.RawMessage) *string {
	if len(answer) == 0 {
		return nil
	}
	if plain(answer) {
		text := string(answer)
		return &text
	}
	stored, err := canonical(answer)
	if err != nil {
		stored, _ = json.Marshal(map[string]string{"ilegivel": plainText(string(answer)), "erro": plainText(err.Error())})
	}
	text := string(stored)
	return &text
}

// plain recognizes, at little cost, most of the JSON that jsonb takes as it is: short, so that neither depth nor digits
// can exceed a limit, and without escapes and exponents.
func plain(answer json.RawMessage) bool {
	if len(answer) > maxDepth || !utf8.Valid(answer) || !json.Valid(answer) {
		return false
	}
	for i, c := range answer {
		if c == '\\' || i > 0 && (c == 'e' || c == 'E') && '0' <= answer[i-1] && answer[i-1] <= '9' {
			return false
		}
	}
	return true
}

// plainText makes text storable and bounded.
func plainText(s string) string {
	const limit = 4096
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
