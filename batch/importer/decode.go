package importer

import (
	"bytes"
	"time"

	"github.com/tidwall/gjson"
)

// decoder turns lines into rows. It is used by one goroutine.
type decoder struct {
	scan         scanner
	format       *format
	zone         *time.Location
	types        map[string]string
	ignoreExtras bool
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
	parts := []gjson.Result{doc}
	if d.format.split != nil {
		parts = d.format.split(doc)
	}
	for _, part := range parts {
		r := row{line: l}
		emit(r, d.document(part, &r))
	}
}

func tooLong() *fault { return faultf(CodeTooLong, "the line is longer than %d MiB", maxLine>>20) }

// translate replaces the type of event by the one that it has here.
func (d *decoder) translate(r *row) {
	if to, ok := d.types[string(r.kind)]; ok {
		r.kind = []byte(to)
	}
}

// document is one event in a foreign format, and the first thing that is wrong with it.
type document struct {
	gjson.Result
	d     *decoder
	fault *fault
}

func (d *decoder) document(doc gjson.Result, r *row) *fault {
	c := &document{Result: doc, d: d}
	d.format.decode(c, r)
	d.translate(r)
	return c.fault
}
