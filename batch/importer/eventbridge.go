package importer

import "github.com/tidwall/gjson"

// eventBridgeFormat is Amazon EventBridge's events as they were captured on a replay, or as SQS messages that hold
// them, also by way of SNS.
var eventBridgeFormat = &format{
	name: "eventbridge",
	matches: func(doc gjson.Result) bool {
		return doc.Get("detail-type").Exists() || doc.Get("Messages").IsArray() || doc.Get("MessageId").Exists() && doc.Get("Body").Exists()
	},
	rule: "posicao: in the order of (time, versao, line); versao: the detail's, else counted per order",
	split: func(d *decoder, doc gjson.Result) []part {
		var parts []part
		for _, p := range elements("Messages")(d, doc) {
			parts = append(parts, d.unwrapped(p.doc))
		}
		return parts
	},
	decode: func(c *document, r *row) {
		r.id = c.text("id") // never the message's: sending it again gives another
		r.kind = c.text("detail-type")
		r.order = c.scalar("detail.pedido_id", "detail.pedidoId")
		r.payload = c.raw("detail")
		r.version = c.versionIn(r.payload)
		r.at = c.instant("time")
		r.key = sortKey{r.at.micros, r.version, c.d.turn()}
	},
}

// unwrapped takes an event out of an SQS message and an SNS notification.
func (d *decoder) unwrapped(doc gjson.Result) part {
	for _, key := range []string{"Body", "Message"} {
		inner := doc.Get(key)
		if inner.Type != gjson.String || doc.Get("detail-type").Exists() {
			continue
		}
		if f := d.check([]byte(inner.Str)); f != nil {
			return part{doc: doc, fault: f}
		}
		if n := doc.Get("Attributes.ApproximateReceiveCount").Int(); n > 1 {
			d.notes["received more than once: its effects may have happened"]++
		}
		doc = gjson.Parse(inner.Str)
	}
	return part{doc: doc}
}
