package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tidwall/gjson"
)

// format is one way in which sources write events.
type format struct {
	name string
	// matches recognizes a line of it.
	matches func(gjson.Result) bool
	// decode reads one event.
	decode func(*document, *row)
	// split finds the events in a line that holds several; nil: a line is an event.
	split func(*decoder, gjson.Result) []part
	// rule says how numbers that the source may lack are derived, and what else is; "" if it lacks none.
	rule string
	// zone is where the format writes its times; nil if it does not say.
	zone *time.Location
}

// part is one of several events in a line, or what is wrong with it.
type part struct {
	doc   gjson.Result
	fault *fault
}

const (
	formatAuto = "auto"
	formatJSON = "ndjson"
	formatCSV  = "csv"
)

// formats in the order in which they are tried: the most particular first.
var formats = []*format{
	ndjsonFormat, csvFormat, messageDBFormat, martenFormat, debeziumFormat, kcatFormat, axonFormat, cloudEventsFormat, eventBridgeFormat,
	kurrentDBFormat, natsFormat, stripeFormat, shopifyFormat,
}

var (
	ndjsonFormat = &format{name: formatJSON, matches: has("posicao", "pedido_id")}
	csvFormat    = &format{name: formatCSV, matches: func(gjson.Result) bool { return false }}
)

// Formats lists what [Options] may name.
func Formats() []string {
	names := []string{formatAuto}
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

func formatNamed(name string) (*format, error) {
	for _, f := range formats {
		if f.name == name {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w %q is unknown; there are %v", ErrFormat, name, Formats())
}

// has matches objects that have all these keys.
func has(paths ...string) func(gjson.Result) bool {
	return func(doc gjson.Result) bool {
		for _, p := range paths {
			if !doc.Get(p).Exists() {
				return false
			}
		}
		return true
	}
}

// peekLines is how many lines are looked at to recognize a format.
const peekLines = 20

// recognize finds out a file's format from its first lines, which may be damaged themselves.
func recognize(s *source) (*format, error) {
	for range peekLines {
		l, err := s.readFresh()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		s.peeked = append(s.peeked, l)
		text := bytes.TrimSpace(l.text)
		switch {
		case len(text) == 0:
			continue
		case text[0] != '{' && text[0] != '[':
			if bytes.Contains(text, []byte(columnNames[colPosition])) && bytes.Contains(text, []byte(columnNames[colOrder])) {
				return csvFormat, nil
			}
			return nil, fmt.Errorf("%w of %s cannot be recognized: name it (--format), or describe it (--mapping)", ErrFormat, s.name)
		case len(text) == 1:
			return nil, fmt.Errorf("%w of %s: an event has to be on one line (jq -c . FILE)", ErrFormat, s.name)
		}
		doc := gjson.ParseBytes(text)
		for _, f := range formats {
			if f.matches(doc) {
				return f, nil
			}
		}
		if gjson.ValidBytes(text) {
			return nil, fmt.Errorf("%w of %s cannot be recognized: name it (--format), or describe it (--mapping)", ErrFormat, s.name)
		}
	}
	return ndjsonFormat, nil // nothing in it, or nothing that is whole: its lines are rejected one by one
}
