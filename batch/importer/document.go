package importer

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// document is one event in a foreign format. Its methods read values and note the first thing that is wrong.
type document struct {
	gjson.Result
	d     *decoder
	fault *fault
}

// document reads one event with the format's own function.
func (d *decoder) document(doc gjson.Result, r *row) *fault {
	c := &document{Result: doc, d: d}
	switch {
	case doc.Type == gjson.Null:
		return &fault{code: codeIgnored, reason: ignoredTombstone}
	case !doc.IsObject():
		return faultf(CodeType, "an event is a JSON object")
	}
	if d.format.rule != "" {
		r.place = new(place)
	}
	d.format.decode(c, r)
	for _, text := range [][]byte{r.id, r.kind, r.order} { // which may have been unwrapped from something
		if !utf8.Valid(text) {
			c.note(&fault{code: CodeUTF8, reason: excerpt(text) + " is not UTF-8"})
		}
		if bytes.IndexByte(text, 0) >= 0 {
			c.fail(CodeNUL, "PostgreSQL stores no NUL")
		}
	}
	d.translate(r)
	return c.fault
}

func (c *document) fail(code, format string, args ...any) {
	c.note(faultf(code, format, args...))
}

func (c *document) note(f *fault) {
	if c.fault == nil {
		c.fault = f
	}
}

const ignoredTombstone = "tombstone"

// ignore passes over what is no event, and counts it under what it is.
func (c *document) ignore(what string) {
	c.note(&fault{code: codeIgnored, reason: what})
}

// first finds the first of some spellings of a key that has a value, which null is none of.
func (c *document) first(paths ...string) gjson.Result {
	for _, p := range paths {
		if v := c.Get(p); v.Exists() && v.Type != gjson.Null {
			return v
		}
	}
	return gjson.Result{}
}

// text reads a text that must be there and not be empty.
func (c *document) text(paths ...string) []byte {
	v := c.first(paths...)
	switch {
	case !v.Exists(), v.Type == gjson.String && v.Str == "":
		c.fail(CodeMissing, "%s is missing or empty", paths[0])
	case v.Type != gjson.String:
		c.fail(CodeType, "%s is %s, not a string", paths[0], excerpt(v.Raw))
	}
	return []byte(v.Str)
}

// scalar is text, for what may be a text or a number and is kept as it is written.
func (c *document) scalar(paths ...string) []byte {
	if v := c.first(paths...); v.Type == gjson.Number {
		return []byte(v.Raw)
	}
	return c.text(paths...)
}

// count reads a whole number that must be there, and adds shift to it: the result counts from 1. Text will do, since
// numbers of 64 bits are often written so.
func (c *document) count(code string, shift int64, paths ...string) int64 {
	v := c.first(paths...)
	if !v.Exists() {
		c.fail(CodeMissing, "%s is missing", paths[0])
		return 0
	}
	raw := v.Raw
	if v.Type == gjson.String {
		raw = v.Str
	}
	n, ok := wholeNumber([]byte(raw))
	if !ok || n > n+shift {
		c.fail(code, "%s is %s, which is not a whole number up to 9223372036854775807", paths[0], excerpt(raw))
		return 0
	}
	if n+shift < 1 {
		c.fail(code, "%s is %d; it counts from %d", paths[0], n, 1-shift)
		return 0
	}
	return n + shift
}

// versionIn reads the version that a payload carries; 0 if it has none.
func (c *document) versionIn(payload []byte) int64 {
	v := gjson.GetBytes(payload, "versao")
	if !v.Exists() {
		return 0
	}
	n, f := count(CodeVersion, "versao", []byte(v.Raw))
	if f != nil {
		c.note(f)
	}
	return n
}

// instant reads a time that is written as text.
func (c *document) instant(paths ...string) instant {
	v := c.first(paths...)
	if v.Type != gjson.String {
		c.fail(CodeTime, "%s is missing, or not a text", paths[0])
		return instant{}
	}
	at, f := parseInstant([]byte(v.Str), c.d.zone)
	if f != nil {
		c.note(f)
	}
	return at
}

// epoch reads a number since 1970 in the first unit in which it makes sense: the same number in another unit is
// centuries away, so that at most one does.
func (c *document) epoch(v gjson.Result, units ...int64) instant {
	if v.Type != gjson.Number {
		c.fail(CodeTime, "the time is missing, or no number since 1970: %s", excerpt(v.Raw))
		return instant{}
	}
	var first *fault
	for _, unit := range units {
		at, f := instantOf([]byte(v.Raw), unit)
		if f == nil {
			return at
		}
		if first == nil {
			first = f
		}
	}
	c.note(first)
	return instant{}
}

// raw is a value as it is written.
func (c *document) raw(path string) []byte {
	v := c.Get(path)
	if !v.Exists() {
		c.fail(CodeMissing, "%s is missing", path)
		return nil
	}
	return []byte(v.Raw)
}

// embedded is JSON that may be wrapped in a string, once.
func (c *document) embedded(path string) []byte {
	v := c.Get(path)
	if v.Type != gjson.String {
		return c.raw(path)
	}
	return c.decoded(path, []byte(v.Str))
}

// decoded checks JSON that was unwrapped from something.
func (c *document) decoded(path string, text []byte) []byte {
	if f := c.d.check(text); f != nil {
		f.reason = path + ": " + f.reason
		c.note(f)
		return nil
	}
	return bytes.TrimSpace(text)
}

// base64 is JSON in base64.
func (c *document) base64(path string) []byte {
	text, err := base64.StdEncoding.DecodeString(c.Get(path).Str)
	if err != nil || c.Get(path).Type != gjson.String {
		c.fail(CodeType, "%s is not base64", path)
		return nil
	}
	return c.decoded(path, text)
}

// bytea is JSON in PostgreSQL's hexadecimal form of bytes, or as text.
func (c *document) bytea(paths ...string) []byte {
	v := c.first(paths...)
	switch {
	case !v.Exists():
		c.fail(CodeMissing, "%s is missing", paths[0])
		return nil
	case v.Type == gjson.Number:
		c.fail(CodeUnsupported, "%s is the number of a large object; export its content (lo_get)", paths[0])
		return nil
	case v.Type != gjson.String:
		return []byte(v.Raw)
	}
	text := []byte(v.Str)
	if digits, ok := strings.CutPrefix(v.Str, `\x`); ok {
		var err error
		if text, err = hex.DecodeString(digits); err != nil {
			c.fail(CodeType, "%s is not hexadecimal", paths[0])
			return nil
		}
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		c.fail(CodeUnsupported, "%s is XML; convert the events to JSON first", paths[0])
		return nil
	}
	return c.decoded(paths[0], text)
}

// check scans JSON inside of a line; its fault has no column of the line.
func (d *decoder) check(text []byte) *fault {
	f := d.inner.scan(text)
	if f != nil {
		f.reason += " (in what it holds as text)"
		f.column = 0
	}
	return f
}

// afterDash is the id in a stream's name: what follows the category.
func (c *document) afterDash(name []byte) []byte {
	_, id, found := bytes.Cut(name, []byte("-"))
	if c.fault == nil && (!found || len(id) == 0) {
		c.fail(CodeMissing, "stream %s is of no single order: it has no id after a dash", excerpt(name))
	}
	return id
}

// constant ends the import unless a value is the same in all of its events.
func (c *document) constant(what, value, advice string) {
	before, known := c.d.memory[what]
	if known && before != value {
		c.note(&fault{code: codeFatal, reason: what + " is " + excerpt(before) + " in some events and " + excerpt(value) + " in others: " + advice})
		return
	}
	c.d.memory[what] = value
}
