package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"
)

// csvReader reads the native CSV format: RFC 4180 with a header that names the archive's columns, in any order. The
// standard library's reader is not used since it changes line ends inside of quotes, has no limit, and loses what
// follows a quote that is never closed.
type csvReader struct {
	source  *source
	decoder *decoder
	columns []int  // of each field: which column it is, or -1
	pending []line // taken for a record that turned out to be broken; they are read again
}

// newCSV reads the header.
func newCSV(s *source, d *decoder) (*csvReader, error) {
	c := &csvReader{source: s, decoder: d}
	names, _, f, err := c.record()
	switch {
	case errors.Is(err, io.EOF):
		return c, nil
	case err != nil:
		return nil, err
	case f != nil:
		return nil, fmt.Errorf("%w csv: header of %s: %s", ErrFormat, s.name, f.reason)
	}
	for _, name := range names {
		col, known := columnOf(name)
		if known && slices.Contains(c.columns, col) {
			return nil, fmt.Errorf("%w csv: header of %s names %s twice", ErrFormat, s.name, name)
		}
		if !known {
			if !d.ignoreExtras {
				return nil, fmt.Errorf("%w csv: header of %s: %q is not a column of an event (see --ignore-extras)", ErrFormat, s.name, excerpt(name))
			}
			col = -1
		}
		c.columns = append(c.columns, col)
	}
	for col, name := range columnNames {
		if !slices.Contains(c.columns, col) {
			return nil, fmt.Errorf("%w csv: header of %s lacks %s", ErrFormat, s.name, name)
		}
	}
	return c, nil
}

// next reads one record and gives its event, or what is wrong with it, to emit.
func (c *csvReader) next(emit func(row, *fault)) error {
	fields, l, f, err := c.record()
	if err != nil {
		return err
	}
	r := row{line: l}
	if f == nil {
		f = c.decode(&r, fields)
		c.decoder.translate(&r)
	}
	emit(r, f)
	return nil
}

func (c *csvReader) decode(r *row, fields [][]byte) *fault {
	text := r.line.text
	if !utf8.Valid(text) {
		return invalidUTF8(text)
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return &fault{CodeNUL, i + 1, "PostgreSQL stores no NUL"}
	}
	if len(fields) != len(c.columns) {
		if r.line.unfinished && len(fields) < len(c.columns) {
			return faultf(CodeTruncated, "the file ends in the middle of an event, after %d of %d fields", len(fields), len(c.columns))
		}
		return faultf(CodeCSV, "there are %d fields, in the header %d", len(fields), len(c.columns))
	}
	for i, field := range fields {
		if c.columns[i] < 0 {
			continue
		}
		if f := c.decoder.field(r, c.columns[i], field); f != nil {
			return f
		}
	}
	return nil
}

// field reads one value of a record.
func (d *decoder) field(r *row, col int, value []byte) (f *fault) {
	if len(value) == 0 {
		return faultf(CodeMissing, "%s is empty", columnNames[col])
	}
	switch col {
	case colPosition:
		r.position, f = count(CodePosition, "posicao", value)
	case colVersion:
		r.version, f = count(CodeVersion, "versao", value)
	case colPayload:
		if f = d.scan.scan(value); f != nil {
			f.reason = fmt.Sprintf("payload, byte %d: %s", f.column, f.reason)
			f.column = 0 // quoting moves bytes
		}
		r.payload = value
	default:
		f = d.text(r, col, value)
	}
	return f
}

func (c *csvReader) line() (line, error) {
	if len(c.pending) > 0 {
		l := c.pending[0]
		c.pending = c.pending[1:]
		return l, nil
	}
	return c.source.read()
}

// record reads the lines of one record. If it is broken, only its first line is given up: a quote that was left open
// must not swallow the events after it.
func (c *csvReader) record() (fields [][]byte, l line, f *fault, err error) {
	for {
		if l, err = c.line(); err != nil {
			return nil, l, nil, err
		}
		if len(l.text) > 0 {
			break
		}
	}
	if l.tooLong {
		return nil, l, tooLong(), nil
	}
	taken, size := []line{l}, len(l.text)
	p := csvParser{buf: make([]byte, 0, len(l.text))}
	for {
		last := taken[len(taken)-1]
		more, wrong := p.feed(last.text)
		if wrong == "" && !more {
			break
		}
		if wrong == "" {
			next, err := c.line()
			switch {
			case errors.Is(err, io.EOF):
				wrong = "a quote is opened and never closed"
			case err != nil:
				return nil, l, nil, err
			default:
				taken, size = append(taken, next), size+len(next.text)+len(last.end)
				if !next.tooLong && size <= maxLine {
					p.newline(last.end)
					continue
				}
				wrong = fmt.Sprintf("a quote is opened and not closed within %d MiB", maxLine>>20)
			}
		}
		c.pending = slices.Concat(taken[1:], c.pending)
		return nil, l, &fault{code: CodeCSV, reason: wrong}, nil
	}
	if len(taken) > 1 {
		l = joined(taken)
	}
	return p.fields(), l, nil, nil
}

// joined is a record that spans lines, as one.
func joined(taken []line) line {
	l := taken[0]
	text := append([]byte(nil), l.text...)
	for i, next := range taken[1:] {
		text = append(append(text, taken[i].end...), next.text...)
	}
	l.text, l.unfinished = text, taken[len(taken)-1].unfinished
	return l
}

// csvParser splits a record into fields.
type csvParser struct {
	buf   []byte // the fields, without quotes, one after the other
	ends  []int  // where each one ends in buf
	state csvState
}

type csvState int

const (
	atStart   csvState = iota // of a field
	unquoted                  // inside of a field without quotes
	inQuotes                  // inside of a quoted field
	afterward                 // after a quote in a quoted field: its end, or the first of two
)

// feed takes one line of the record. It tells whether the record goes on in the next line, or what is wrong.
func (p *csvParser) feed(text []byte) (more bool, wrong string) {
	for _, c := range text {
		switch p.state {
		case atStart, unquoted:
			switch {
			case c == ',':
				p.end()
			case c != '"':
				p.state = unquoted
				p.buf = append(p.buf, c)
			case p.state == atStart:
				p.state = inQuotes
			default:
				return false, "a quote in the middle of a field; quote the field and double the quote"
			}
		case inQuotes:
			if c == '"' {
				p.state = afterward
			} else {
				p.buf = append(p.buf, c)
			}
		case afterward:
			switch c {
			case '"':
				p.state = inQuotes
				p.buf = append(p.buf, c)
			case ',':
				p.end()
			default:
				return false, "a quote in a quoted field is not doubled, or one before it was left open"
			}
		}
	}
	if p.state == inQuotes {
		return true, ""
	}
	p.end()
	return false, ""
}

func (p *csvParser) newline(end string) { p.buf = append(p.buf, end...) }

func (p *csvParser) end() {
	p.ends = append(p.ends, len(p.buf))
	p.state = atStart
}

func (p *csvParser) fields() [][]byte {
	list := make([][]byte, len(p.ends))
	from := 0
	for i, to := range p.ends {
		list[i] = p.buf[from:to:to]
		from = to
	}
	return list
}
