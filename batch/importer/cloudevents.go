package importer

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// cloudEventsFormat is CloudEvents 1.0 in JSON, an event or a batch of events a line.
var cloudEventsFormat = &format{
	name: "cloudevents",
	matches: func(doc gjson.Result) bool {
		return doc.Get("specversion").Exists() || doc.IsArray() && doc.Get("0.specversion").Exists()
	},
	rule:  "posicao: in the order of the file; versao: extension sequence, else the payload's, else counted per order",
	split: elements(""),
	decode: func(c *document, r *row) {
		if v := c.Get("specversion").Str; v != "1.0" {
			c.fail(CodeUnsupported, "specversion is %q, not 1.0", excerpt(v))
		}
		r.key = sortKey{c.d.turn()}
		// An id is unique together with its source only.
		source := c.text("source")
		r.id = bytes.Join([][]byte{source, c.text("id")}, []byte("#"))
		r.kind = c.text("type")
		r.order = c.text("subject")
		switch {
		case c.Get("data_base64").Exists():
			r.payload = c.base64("data_base64")
		case c.Get("data").Exists():
			r.payload = c.raw("data")
		default:
			r.payload = []byte("null")
		}
		if sequence := c.first("sequence"); sequence.Exists() {
			r.version = c.count(CodeVersion, 0, "sequence")
		} else {
			r.version = c.versionIn(r.payload)
		}
		r.at = c.instant("time")
	},
}

// elements splits a line that is an array, or that holds one under path, into its elements.
func elements(path string) func(*decoder, gjson.Result) []part {
	return func(_ *decoder, doc gjson.Result) []part {
		list := doc
		if path != "" && doc.IsObject() {
			list = doc.Get(path)
		}
		if !list.IsArray() {
			return []part{{doc: doc}}
		}
		var parts []part
		for _, e := range list.Array() {
			parts = append(parts, part{doc: e})
		}
		return parts
	}
}

// turn numbers the events of an import in the order in which they are read.
func (d *decoder) turn() int64 {
	d.turns++
	return d.turns
}
