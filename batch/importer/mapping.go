package importer

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/tidwall/gjson"

	"reprise.dev/reprise/batch"
)

// Mapping says where the columns of the archive are in events that are one JSON object a line. It is read from TOML:
//
//	events = "Messages"                   # where the events of a line are, if it holds several
//	[columns]
//	posicao     = { from = "global_position" }
//	id          = { from = "id" }
//	tipo        = { from = "type", translate = { OrderPaid = "pedido.pago" } }
//	pedido_id   = { from = "stream_name", cut_after = "-" }
//	versao      = { from = "position", add = 1 }
//	payload     = { from = "data" }
//	ocorrido_em = { from = "time", zone = "UTC" }
//
// A path is keys joined by dots; a dot inside of a key is written \. in it. Nothing in a mapping is executed.
type Mapping struct {
	Events  string            `toml:"events"`
	Columns map[string]Column `toml:"columns"`
	// Payload, instead of a column payload, builds one of several values.
	Payload map[string]Field `toml:"payload"`
}

// Column says where one column is. What does not apply to the column is refused.
type Column struct {
	From      string            `toml:"from"`
	Add       int64             `toml:"add"`       // posicao, versao: is added, so that they count from 1
	CutAfter  string            `toml:"cut_after"` // pedido_id: only what follows the first of it
	Translate map[string]string `toml:"translate"` // tipo
	Decode    string            `toml:"decode"`    // payload: "json" (it is text), "base64", "hex"
	Zone      string            `toml:"zone"`      // ocorrido_em: of times that name none
	Unit      string            `toml:"unit"`      // ocorrido_em: "s", "ms" or "us" since 1970
}

// Field is one value of a payload.
type Field struct {
	From string `toml:"from"`
	// As converts it: "" keeps it, "number" reads a decimal number out of a text, "cents" an amount of Currency,
	// "percent" a rate, "fraction" a rate whose 1 is 100 per cent.
	As           string `toml:"as"`
	Currency     string `toml:"currency"`
	CurrencyFrom string `toml:"currency_from"`
	DecimalComma bool   `toml:"decimal_comma"` // 1.599,00 is written for 1599.00
}

// readMapping reads a mapping and makes a format of it.
func readMapping(path string) (*format, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", batch.ErrUsage, err)
	}
	var m Mapping
	meta, err := toml.Decode(string(text), &m)
	if err != nil {
		return nil, fmt.Errorf("%w: mapping %s: %w", batch.ErrUsage, path, err)
	}
	problems := m.check()
	for _, key := range meta.Undecoded() {
		problems = append(problems, fmt.Errorf("key %s is unknown", key))
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w: mapping %s: %w", batch.ErrUsage, path, errors.Join(problems...))
	}
	f := &format{name: fmt.Sprintf("mapping %x", sha256.Sum256(text))[:len("mapping ")+16], decode: m.decode, split: elements(m.Events)}
	if zone := m.Columns["ocorrido_em"].Zone; zone != "" {
		f.zone, _ = time.LoadLocation(zone) // checked
	}
	return f, nil
}

var units = map[string]int64{"s": unitSeconds, "ms": unitMillis, "us": unitMicros}

// check lists all that is wrong with a mapping.
func (m Mapping) check() (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	path := func(where, p string) {
		if strings.ContainsAny(p, `@#|*?!{}[]()"'<>=%~`) {
			problem("%s: path %q: a path is keys joined by dots", where, p)
		}
	}
	path("events", m.Events)
	for _, name := range columnNames {
		c, there := m.Columns[name]
		switch {
		case name == "payload" && len(m.Payload) > 0:
			if there {
				problem("columns.payload and payload exclude each other")
			}
			continue
		case c.From == "":
			problem("columns.%s.from is missing", name)
		}
		path("columns."+name, c.From)
		allowed := Column{From: c.From}
		switch name {
		case "posicao", "versao":
			allowed.Add = c.Add
		case "pedido_id":
			allowed.CutAfter = c.CutAfter
		case "tipo":
			allowed.Translate = c.Translate
		case "payload":
			allowed.Decode = c.Decode
			if !slices.Contains([]string{"", "json", "base64", "hex"}, c.Decode) {
				problem("columns.payload.decode is json, base64 or hex")
			}
		case "ocorrido_em":
			allowed.Zone, allowed.Unit = c.Zone, c.Unit
			if _, known := units[c.Unit]; !known && c.Unit != "" {
				problem("columns.ocorrido_em.unit is s, ms or us")
			}
			if _, err := time.LoadLocation(c.Zone); err != nil {
				problem("columns.ocorrido_em.zone %q is not a time zone of this system", c.Zone)
			}
		}
		if fmt.Sprint(allowed) != fmt.Sprint(c) {
			problem("columns.%s: a key does not apply to this column", name)
		}
	}
	for name := range m.Columns {
		if _, known := columnOf([]byte(name)); !known {
			problem("columns.%s is not a column of an event", name)
		}
	}
	for name, f := range m.Payload {
		path("payload."+name, f.From)
		path("payload."+name, f.CurrencyFrom)
		if f.From == "" {
			problem("payload.%s.from is missing", name)
		}
		if !slices.Contains([]string{"", "number", "cents", "percent", "fraction"}, f.As) {
			problem("payload.%s.as is number, cents, percent or fraction", name)
		}
		if (f.As == "cents") != (f.Currency != "" || f.CurrencyFrom != "") {
			problem("payload.%s: cents needs currency or currency_from, and nothing else does", name)
		}
		if f.Currency != "" {
			if _, wrong := currencyDigits(f.Currency); wrong != nil {
				problem("payload.%s: %s", name, wrong.reason)
			}
		}
	}
	return problems
}

func (m Mapping) decode(c *document, r *row) {
	position, version, at := m.Columns["posicao"], m.Columns["versao"], m.Columns["ocorrido_em"]
	r.position = c.count(CodePosition, position.Add, position.From)
	r.version = c.count(CodeVersion, version.Add, version.From)
	r.id = c.scalar(m.Columns["id"].From)
	r.kind = c.text(m.Columns["tipo"].From)
	if to, known := m.Columns["tipo"].Translate[string(r.kind)]; known {
		r.kind = []byte(to)
	}
	order := m.Columns["pedido_id"]
	r.order = c.scalar(order.From)
	if order.CutAfter != "" {
		_, id, found := strings.Cut(string(r.order), order.CutAfter)
		if r.order = []byte(id); !found || id == "" {
			c.fail(CodeMissing, "%s has nothing after %q", order.From, order.CutAfter)
		}
	}
	if at.Unit != "" {
		r.at = c.epoch(c.Get(at.From), units[at.Unit])
	} else {
		r.at = c.instant(at.From)
	}
	r.payload = m.payload(c)
}

func (m Mapping) payload(c *document) []byte {
	if len(m.Payload) == 0 {
		column := m.Columns["payload"]
		switch column.Decode {
		case "json":
			return c.embedded(column.From)
		case "base64":
			return c.base64(column.From)
		case "hex":
			return c.bytea(column.From)
		}
		return c.raw(column.From)
	}
	names := make([]string, 0, len(m.Payload))
	for name := range m.Payload {
		names = append(names, name)
	}
	slices.Sort(names)
	payload := []byte("{")
	for i, name := range names {
		if i > 0 {
			payload = append(payload, ',')
		}
		payload = append(gjson.AppendJSONString(payload, name), ':')
		payload = append(payload, m.Payload[name].value(c)...)
	}
	return append(payload, '}')
}

// value converts one value of the payload.
func (f Field) value(c *document) string {
	v := c.Get(f.From)
	if !v.Exists() {
		c.fail(CodeMissing, "%s is missing", f.From)
		return ""
	}
	if f.As == "" {
		return v.Raw
	}
	out, wrong := f.convert(c, written(v))
	if wrong != nil {
		wrong.reason = f.From + ": " + wrong.reason
		c.note(wrong)
	}
	return out
}

func (f Field) convert(c *document, text string) (out string, wrong *fault) {
	if f.As == "percent" {
		text = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	}
	if f.DecimalComma && strings.ContainsAny(text, ".,") {
		text, wrong = decimalComma(text)
	}
	if wrong == nil {
		text, wrong = decimal(text)
	}
	if wrong != nil {
		return "", wrong
	}
	switch f.As {
	case "fraction":
		return shiftPoint(text, 2), nil
	case "cents":
		currency := f.Currency
		if f.CurrencyFrom != "" {
			currency = c.Get(f.CurrencyFrom).String()
		}
		digits, wrong := currencyDigits(currency)
		if wrong != nil {
			return "", wrong
		}
		return minorUnits(text, digits)
	}
	return text, nil
}
