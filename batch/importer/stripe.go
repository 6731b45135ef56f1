package importer

import "github.com/tidwall/gjson"

// stripeFormat is events of Stripe, a line each. They have no versions, and times in whole seconds.
var stripeFormat = &format{
	name: "stripe",
	matches: func(doc gjson.Result) bool {
		return doc.Get("object").Str == "event" && doc.Get("data.object").Exists()
	},
	rule: "posicao: in the order of (created, id); versao: counted per order in that order",
	decode: func(c *document, r *row) {
		c.constant("livemode", c.Get("livemode").Raw, "import live and test events apart")
		r.id = c.text("id")
		r.kind = c.text("type")
		r.order = c.scalar("data.object.metadata.pedido_id")
		r.payload = c.raw("data.object")
		r.at = c.epoch(c.Get("created"), unitSeconds)
		r.key = sortKey{r.at.micros}
		r.byID = true
	},
}
