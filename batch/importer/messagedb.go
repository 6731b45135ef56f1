package importer

import (
	"bytes"
	"slices"
	"time"

	"github.com/tidwall/gjson"
)

// messageDBFormat is table message_store.messages of Message DB (Eventide), a row a line. Its position counts from 0
// in each stream; its times have no zone and are UTC.
var messageDBFormat = &format{
	name:    "messagedb",
	matches: has("global_position", "stream_name"),
	zone:    time.UTC,
	decode: func(c *document, r *row) {
		r.position = c.count(CodePosition, 0, "global_position")
		r.id = c.text("id")
		r.kind = c.text("type")
		stream := c.text("stream_name")
		r.order = c.afterDash(stream)
		if kind := notEvents(stream); kind != "" {
			c.fail(CodeUnsupported, "stream %s holds %s, not events", excerpt(stream), kind)
		}
		r.version = c.count(CodeVersion, 1, "position")
		r.payload = c.raw("data")
		if c.Get("data").Type == gjson.String {
			c.fail(CodeType, "data is text; export the table itself (row_to_json), not what its functions return")
		}
		r.at = c.instant("time")
	},
}

// notEvents names what a stream holds by the types in its category, as in pedido:command+v0-P77; "" is events.
func notEvents(stream []byte) string {
	category, _, _ := bytes.Cut(stream, []byte("-"))
	_, types, _ := bytes.Cut(category, []byte(":"))
	for _, t := range bytes.Split(types, []byte("+")) {
		if slices.Contains([]string{"command", "position", "snapshot"}, string(t)) {
			return string(t) + "s"
		}
	}
	return ""
}
