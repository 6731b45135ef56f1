package provider

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/tidwall/gjson"
)

// maxAnswer is how much of an answer is read.
const maxAnswer = 1 << 20

// readAnswer reads an answer's body. It stops without an error at [maxAnswer]; whole says whether that was all.
func readAnswer(body io.Reader) (answer json.RawMessage, whole bool, err error) {
	raw, err := io.ReadAll(io.LimitReader(body, maxAnswer+1))
	if len(raw) > maxAnswer {
		return storable(raw[:maxAnswer]), false, nil
	}
	return storable(raw), err == nil, err
}

// storable makes JSON that jsonb takes of whatever a provider wrote: JSON stays what it is, other text becomes
// a string; what PostgreSQL cannot hold (NUL, half a surrogate pair, broken UTF-8) becomes U+FFFD. Nothing stays nil.
func storable(raw []byte) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	if gjson.Valid(text) {
		return harmless([]byte(text))
	}
	quoted, _ := json.Marshal(strings.ReplaceAll(text, "\x00", "\uFFFD")) // a string always has a JSON form
	return quoted
}

// harmless replaces, in valid JSON, the escapes that jsonb refuses. It works in place: \u0000 and \ufffd are of
// the same length.
func harmless(b []byte) []byte {
	for i := 0; i+1 < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		if b[i+1] != 'u' {
			i++ // the escaped character may be a backslash itself
			continue
		}
		switch u := hex4(b[i+2:]); {
		case u >= 0xD800 && u < 0xDC00 && i+12 <= len(b) && b[i+6] == '\\' && b[i+7] == 'u' && hex4(b[i+8:])&0xFC00 == 0xDC00:
			i += 11
		case u == 0 || u >= 0xD800 && u < 0xE000:
			copy(b[i:], `\ufffd`)
			i += 5
		default:
			i += 5
		}
	}
	return b
}

// hex4 is the value of the four hexadecimal digits that b begins with.
func hex4(b []byte) (u uint16) {
	for _, c := range b[:4] {
		u <<= 4
		switch {
		case c <= '9':
			u |= uint16(c - '0')
		default:
			u |= uint16(c|0x20-'a') + 10
		}
	}
	return u
}

// hasReceipt reports whether an answer has something at a dotted path: not null, not an empty string, not false.
func hasReceipt(answer json.RawMessage, path string) bool {
	r := gjson.ParseBytes(answer)
	for name := range strings.SplitSeq(path, ".") {
		r = member(r, name)
	}
	return r.Exists() && r.Type != gjson.Null && r.Type != gjson.False && (r.Type != gjson.String || r.Str != "")
}

func member(object gjson.Result, name string) (found gjson.Result) {
	if !object.IsObject() {
		return gjson.Result{}
	}
	object.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found = value
		}
		return true
	})
	return found
}
