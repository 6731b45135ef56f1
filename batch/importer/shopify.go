package importer

import "github.com/tidwall/gjson"

// shopifyFormat is order webhooks of Shopify with their headers. The payload becomes what a handler of payments
// needs: valorCentavos, exactly, and percentual, if the order has a note attribute of that name.
var shopifyFormat = &format{
	name:    "shopify",
	matches: has("headers.X-Shopify-Topic", "body.id"),
	rule:    "posicao: in the order of (triggered at, line); versao: counted per order in the order of updated_at; payload: total_price in cents and note attribute percentual",
	decode: func(c *document, r *row) {
		r.id = c.text("headers.X-Shopify-Event-Id")
		r.kind = c.text("headers.X-Shopify-Topic")
		r.order = c.scalar("body.id")
		r.at = c.instant("headers.X-Shopify-Triggered-At", "body.updated_at")
		updated := c.instant("body.updated_at")
		r.key = sortKey{r.at.micros, c.d.turn()}
		r.versionKey = updated.micros
		r.payload = c.payment(c.first("body.total_price"), c.Get("body.currency").Str, c.Get(`body.note_attributes.#(name=="percentual").value`))
	},
}

// payment is a payload of an amount in a currency and a rate in per cent.
func (c *document) payment(amount gjson.Result, currency string, percent gjson.Result) []byte {
	digits, f := currencyDigits(currency)
	if f != nil {
		c.note(f)
		return nil
	}
	cents, f := minorUnits(written(amount), digits)
	if f != nil {
		c.note(f)
		return nil
	}
	payload := append([]byte(`{"valorCentavos":`), cents...)
	if percent.Exists() {
		rate, f := decimal(written(percent))
		if f != nil {
			f.reason = "percentual: " + f.reason
			c.note(f)
			return nil
		}
		payload = append(append(payload, `,"percentual":`...), rate...)
	}
	return append(payload, '}')
}
