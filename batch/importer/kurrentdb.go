package importer

import (
	"strings"

	"github.com/tidwall/gjson"
)

// kurrentDBFormat is EventStoreDB's, now KurrentDB's: pages of its HTTP feed with embedded bodies, entries of such
// pages, or events that a client wrote out. Its event numbers count from 0.
var kurrentDBFormat = &format{
	name: "kurrentdb",
	matches: func(doc gjson.Result) bool {
		return doc.Get("eventId").Exists() && doc.Get("eventNumber").Exists() || doc.Get("entries").IsArray() && doc.Get("streamId").Exists()
	},
	rule: "posicao: the commit position if every event has one, else the order of the file, pages of a feed being turned round; versao: eventNumber + 1",
	split: func(d *decoder, doc gjson.Result) []part {
		parts := elements("entries")(d, doc)
		d.newestFirst = doc.Get("entries").IsArray()
		return parts
	},
	decode: func(c *document, r *row) {
		r.key = sortKey{c.d.turn()}
		if c.d.newestFirst {
			r.key[0] = -r.key[0]
		}
		stream := c.text("eventStreamId", "positionStreamId", "streamId")
		r.kind = c.text("eventType", "summary")
		switch kind := string(r.kind); {
		case kind == "$>" || c.Get("isLinkMetaData").Bool():
			c.ignore("link")
		case strings.HasPrefix(kind, "$") || strings.HasPrefix(string(stream), "$"):
			c.ignore("system event")
		}
		if json := c.Get("isJson"); json.Exists() && !json.Bool() {
			c.fail(CodeUnsupported, "its data is not JSON")
		}
		r.id = c.text("eventId")
		r.order = c.afterDash(stream)
		r.version = c.count(CodeVersion, 1, "eventNumber")
		r.payload = c.embedded("data")
		if c.Get("position.commit").Exists() {
			r.natural = c.count(CodePosition, 0, "position.commit")
		}
		r.at = c.instant("created", "updated")
	},
}
