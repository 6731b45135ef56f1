package importer

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"
)

// decoder turns lines into rows. It is used by one goroutine.
type decoder struct {
	format       *format
	zone         *time.Location
	types        map[string]string
	ignoreExtras bool
	tenant       string
	*shared

	scan, inner scanner // of a line, of JSON inside of it
	newestFirst bool    // the line is a page that begins with the newest event
}

// shared is what the decoders of an import have in common, one after the other.
type shared struct {
	memory map[string]string // what has to be the same throughout
	notes  map[string]int64
	turns  int64
}

// events returns a function that reads the next line or record and gives each of its events, or what is wrong with
// it, to emit. It returns io.EOF at the end.
func (d *decoder) events(s *source) (next func(emit func(row, *fault)) error, err error) {
	if d.format == csvFormat {
		c, err := newCSV(s, d)
		if err != nil {
			return nil, err
		}
		return c.next, nil
	}
	return func(emit func(row, *fault)) error {
		l, err := s.read()
		if err == nil && len(bytes.TrimSpace(l.text)) > 0 {
			d.decode(l, emit)
		}
		return err
	}, nil
}

// decode reads the events of one line and gives each to emit, or what is wrong with it.
func (d *decoder) decode(l line, emit func(row, *fault)) {
	r := row{line: l}
	if l.tooLong {
		emit(r, tooLong())
		return
	}
	if f := d.scan.scan(l.text); f != nil {
		if l.unfinished && f.column > len(l.text) {
			f.code, f.reason = CodeTruncated, "the file ends in the middle of an event: "+f.reason
		}
		emit(r, f)
		return
	}
	if d.format == ndjsonFormat {
		if bytes.TrimLeft(l.text, " \t\r")[0] != '{' {
			emit(r, faultf(CodeType, "an event is a JSON object"))
			return
		}
		f := d.native(&r)
		d.translate(&r)
		emit(r, f)
		return
	}
	doc := gjson.ParseBytes(l.text)
	parts := []part{{doc: doc}}
	if d.format.split != nil {
		parts = d.format.split(d, doc)
	}
	for _, p := range parts {
		r := row{line: l}
		f := p.fault
		if f == nil {
			f = d.document(p.doc, &r)
		}
		emit(r, f)
	}
}

func tooLong() *fault { return faultf(CodeTooLong, "the line is longer than %d MiB", maxLine>>20) }

// translate replaces the type of event by the one that it has here.
func (d *decoder) translate(r *row) {
	if to, ok := d.types[string(r.kind)]; ok {
		r.kind = []byte(to)
	}
}
