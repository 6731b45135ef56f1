package importer

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// kcatFormat is what kcat -J prints of a topic. A topic has no order across its partitions.
var kcatFormat = &format{
	name:    "kcat",
	matches: has("topic", "partition", "offset", "ts"),
	rule:    "posicao: offset + 1 if there is one partition, else in the order of (ts, partition, offset); versao: the payload's, else counted per order",
	decode: func(c *document, r *row) {
		kafkaMessage(c, r)
		r.id = c.header(kafkaID(c), "ce_id", "id")
		r.kind = c.header(c.Get("topic").Str, "ce_type", "eventType", "type")
	},
}

func kafkaMessage(c *document, r *row) {
	for _, e := range []string{"payload_error", "key_error"} {
		if v := c.first(e); v.Exists() {
			c.fail(CodeUnsupported, "kcat could not read it: %s", excerpt(v.String()))
		}
	}
	if c.Get("payload").Type == gjson.Null {
		c.ignore(ignoredTombstone)
	}
	partition := c.count(CodePosition, 1, "partition")
	r.natural = c.count(CodePosition, 1, "offset")
	r.log = fmt.Sprintf("%s/%d", c.Get("topic").Str, partition-1)
	r.key = sortKey{c.Get("ts").Int(), partition, r.natural}
	r.order = c.text("key")
	r.payload = c.embedded("payload")
	r.version = c.versionIn(r.payload)
	if t := c.header("", "ce_time"); len(t) > 0 {
		at, f := parseInstant(t, c.d.zone)
		if r.at = at; f != nil {
			c.note(f)
		}
		return
	}
	if kind := c.Get("tstype").Str; kind != "create" {
		c.fail(CodeTime, "ts is of type %q: when the broker stored it, not when it happened", excerpt(kind))
	}
	r.at = c.epoch(c.Get("ts"), unitMillis)
}

// kafkaID names a message by its place, which is not stable if the topic is made anew.
func kafkaID(c *document) string {
	return fmt.Sprintf("%s-%s-%s", c.Get("topic").Str, c.Get("partition").Raw, c.Get("offset").Raw)
}

// header is the value of the first header that is there, which kcat prints as an object or as names and values in
// turn.
func (c *document) header(otherwise string, names ...string) []byte {
	headers := c.Get("headers")
	for _, name := range names {
		if v := headers.Get(name); headers.IsObject() && v.Type == gjson.String && v.Str != "" {
			return []byte(v.Str)
		}
		if list := headers.Array(); headers.IsArray() {
			for i := 0; i+1 < len(list); i += 2 {
				if list[i].Str == name && list[i+1].Str != "" {
					return []byte(list[i+1].Str)
				}
			}
		}
	}
	return []byte(otherwise)
}

// debeziumFormat is an outbox table as Debezium saw it change, raw or routed to topics of events.
var debeziumFormat = &format{
	name: "debezium",
	matches: func(doc gjson.Result) bool {
		return doc.Get("op").Exists() && doc.Get("source").Exists() || doc.Get("payload.op").Exists() && doc.Get("payload.source").Exists() ||
			strings.HasPrefix(doc.Get("topic").Str, "outbox.event.")
	},
	rule: "posicao: raw changes in the order of (lsn, line), then routed messages in that of (ts, partition, offset); versao: the payload's, else counted per order",
	decode: func(c *document, r *row) {
		if c.Get("topic").Exists() {
			kafkaMessage(c, r)
			r.natural = 0
			r.key = sortKey{1, r.key[0], r.key[1], r.key[2]}
			r.id = c.header("", "id")
			r.kind = c.header("", "eventType", "type")
			if len(r.id) == 0 || len(r.kind) == 0 {
				c.fail(CodeMissing, "header id or eventType is missing")
			}
			return
		}
		if c.Get("schema").Exists() && c.Get("payload").Exists() {
			c.Result = c.Get("payload")
		}
		outboxChange(c, r)
	},
}

func outboxChange(c *document, r *row) {
	op := c.Get("op").Str
	if op != "c" && op != "r" {
		c.ignore("change that is no insert (op " + excerpt(op) + ")")
	}
	r.key = sortKey{0, c.count(CodePosition, 0, "source.lsn")}
	r.id = c.text("after.id")
	r.kind = c.text("after.type")
	r.order = c.text("after.aggregateid")
	r.payload = c.embedded("after.payload")
	r.version = c.versionIn(r.payload)
	switch t := c.first("after.timestamp", "after.created_at", "after.ocorrido_em"); {
	case t.Type == gjson.String:
		at, f := parseInstant([]byte(t.Str), c.d.zone)
		if r.at = at; f != nil {
			c.note(f)
		}
	case t.Exists():
		r.at = c.epoch(t, unitMillis, unitMicros)
	case op == "r":
		c.fail(CodeTime, "a snapshot does not tell when the event happened, and the row has no timestamp")
	default:
		r.at = c.epoch(c.first("source.ts_ms", "ts_ms"), unitMillis)
	}
}
