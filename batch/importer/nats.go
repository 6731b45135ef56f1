package importer

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"net/textproto"
	"strings"

	"github.com/tidwall/gjson"
)

// natsFormat is messages of a NATS JetStream, as its API returns them. The subject is CATEGORY.ORDER.TYPE.
var natsFormat = &format{
	name: "nats",
	matches: func(doc gjson.Result) bool {
		return has("message.subject", "message.seq")(doc) || has("subject", "seq", "data")(doc)
	},
	rule: "posicao: seq; versao: the payload's, else counted per order",
	decode: func(c *document, r *row) {
		if m := c.Get("message"); m.IsObject() {
			c.Result = m
		}
		r.natural = c.count(CodePosition, 0, "seq")
		r.key = sortKey{r.natural}
		subject := string(c.text("subject"))
		if parts := strings.Split(subject, "."); len(parts) == 3 {
			r.order = []byte(parts[1])
			r.kind = []byte(parts[0] + "." + parts[2])
		} else {
			c.fail(CodeUnsupported, "subject %s is not CATEGORY.ORDER.TYPE; describe it with a mapping", excerpt(subject))
		}
		if r.id = c.messageID(); len(r.id) == 0 {
			r.id = []byte("nats-" + c.Get("seq").Raw)
		}
		r.payload = c.base64("data")
		r.version = c.versionIn(r.payload)
		r.at = c.instant("time")
	},
}

// messageID is the header Nats-Msg-Id, if there is one.
func (c *document) messageID() []byte {
	encoded := c.Get("hdrs").Str
	if encoded == "" {
		return nil
	}
	block, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		c.fail(CodeType, "hdrs is not base64")
		return nil
	}
	_, fields, _ := bytes.Cut(block, []byte("\r\n")) // after the line NATS/1.0
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader()
	if err != nil {
		c.fail(CodeType, "hdrs is not a block of headers: %v", err)
	}
	return []byte(header.Get("Nats-Msg-Id"))
}
