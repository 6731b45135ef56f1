package importer

// martenFormat is table mt_events of Marten, a row a line. Its time is that of the write.
var martenFormat = &format{
	name:    "marten",
	matches: has("seq_id", "stream_id"),
	decode: func(c *document, r *row) {
		tenant := c.Get("tenant_id").String()
		switch chosen := c.d.tenant; {
		case chosen == "":
			c.constant("the tenant", tenant, "choose one")
		case chosen != tenant:
			c.ignore("event of another tenant")
		}
		r.position = c.count(CodePosition, 0, "seq_id")
		r.id = c.text("id")
		r.kind = c.text("type")
		r.order = c.text("stream_id")
		r.version = c.count(CodeVersion, 0, "version")
		r.payload = c.embedded("data")
		r.at = c.instant("timestamp")
		// Two .NET types may share one alias, which would make two kinds of event one.
		if dotnet := c.Get("mt_dotnet_type").String(); dotnet != "" {
			alias := "alias " + string(r.kind)
			if before, known := c.d.memory[alias]; known && before != dotnet {
				c.fail(CodeUnsupported, "%s stands for two types, %s and %s", alias, excerpt(before), excerpt(dotnet))
			} else {
				c.d.memory[alias] = dotnet
			}
		}
	},
}
