package importer

import "github.com/tidwall/gjson"

// axonFormat is table domain_event_entry of Axon Framework 4, a row a line. Its sequence numbers count from 0; big
// gaps in its index come from how it allocates numbers.
var axonFormat = &format{
	name: "axon",
	matches: func(doc gjson.Result) bool {
		for _, key := range axonID {
			if doc.Get(key).Exists() {
				return true
			}
		}
		return false
	},
	decode: func(c *document, r *row) {
		r.position = c.count(CodePosition, 0, "global_index", "globalIndex", "globalindex")
		r.id = c.text(axonID...)
		r.kind = c.text("payload_type", "payloadType", "payloadtype")
		r.order = c.text("aggregate_identifier", "aggregateIdentifier", "aggregateidentifier")
		r.version = c.count(CodeVersion, 1, "sequence_number", "sequenceNumber", "sequencenumber")
		r.payload = c.bytea("payload")
		r.at = c.instant("time_stamp", "timeStamp", "timestamp")
	},
}

var axonID = []string{"event_identifier", "eventIdentifier", "eventidentifier"}
