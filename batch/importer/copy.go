package importer

import (
	"encoding/binary"
	"time"
)

// epoch2000 is where PostgreSQL's timestamps begin, in microseconds since 1970.
var epoch2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

const (
	copyHeader  = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" // signature, flags, extension
	copyTrailer = "\xff\xff"
	jsonbFormat = 1 // the version byte of jsonb's binary form
)

// appendCopy encodes rows for COPY … with (format binary), in the order of [columnNames], after the number of the
// row if numbered.
func appendCopy(b []byte, rows []row, numbered bool) []byte {
	b = append(b, copyHeader...)
	for i := range rows {
		r := &rows[i]
		if numbered {
			b = binary.BigEndian.AppendUint16(b, columns+1)
			b = binary.BigEndian.AppendUint32(b, 4)
			b = binary.BigEndian.AppendUint32(b, uint32(i))
		} else {
			b = binary.BigEndian.AppendUint16(b, columns)
		}
		b = appendInt(b, r.position)
		b = appendText(b, r.id)
		b = appendText(b, r.kind)
		b = appendText(b, r.order)
		b = appendInt(b, r.version)
		b = binary.BigEndian.AppendUint32(b, uint32(len(r.payload)+1))
		b = append(b, jsonbFormat)
		b = append(b, r.payload...)
		b = appendInt(b, r.at.micros-epoch2000)
	}
	return append(b, copyTrailer...)
}

func appendInt(b []byte, n int64) []byte {
	b = binary.BigEndian.AppendUint32(b, 8)
	return binary.BigEndian.AppendUint64(b, uint64(n))
}

func appendText(b []byte, text []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return append(b, text...)
}
