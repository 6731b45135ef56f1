package sample

import (
	"bufio"
	"io"
	"strconv"
	"time"
)

// Write writes an archive in the native format, one JSON object a line.
func Write(w io.Writer, o Options) (Summary, error) {
	events, err := Events(o)
	if err != nil {
		return Summary{}, err
	}
	var s Summary
	out := bufio.NewWriterSize(w, 1<<16)
	line := make([]byte, 0, 256)
	for e := range events {
		s.add(e)
		line = appendLine(line[:0], e)
		if _, err := out.Write(line); err != nil {
			return s, err
		}
	}
	return s, out.Flush()
}

const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

// appendLine needs no escaping: nothing that is made here holds a character that JSON escapes.
func appendLine(b []byte, e Event) []byte {
	b = append(b, `{"posicao":`...)
	b = strconv.AppendInt(b, e.Position, 10)
	b = append(b, `,"id":"`...)
	b = append(b, e.ID...)
	b = append(b, `","tipo":"`...)
	b = append(b, e.Type...)
	b = append(b, `","pedido_id":"`...)
	b = append(b, e.OrderID...)
	b = append(b, `","versao":`...)
	b = strconv.AppendInt(b, e.Version, 10)
	b = append(b, `,"payload":`...)
	b = append(b, e.Payload...)
	b = append(b, `,"ocorrido_em":"`...)
	b = e.OccurredAt.In(time.UTC).AppendFormat(b, timeLayout)
	return append(b, '"', '}', '\n')
}
