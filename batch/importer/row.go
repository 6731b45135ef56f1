package importer

import (
	"math"
	"time"

	"reprise.dev/reprise/batch"
)

// row is an event on its way into the archive. Its slices point into the lines that it was read from.
type row struct {
	line     line
	position int64 // 0: to be derived
	version  int64 // 0: to be derived
	id       []byte
	kind     []byte // the type of event
	order    []byte
	payload  []byte
	at       instant
	*place   // of an event whose numbers are derived; else nil
}

// place is what a position and a version are derived from.
type place struct {
	natural    int64  // the source's own position, if it has one; else 0
	log        string // that natural belongs to
	key        sortKey
	byID       bool  // the id decides between equal keys, not the order of the file
	versionKey int64 // orders the versions of an order, if not in the order of positions
}

func (r *row) event() batch.Event {
	return batch.Event{
		Position: r.position, ID: string(r.id), Type: string(r.kind), OrderID: string(r.order), Version: r.version,
		Payload: append([]byte(nil), r.payload...), OccurredAt: time.UnixMicro(r.at.micros).UTC(),
	}
}

func (r *row) size() int { return len(r.line.text) + len(r.payload) + len(r.id) + len(r.order) }

// wholeNumber reads an integer that is written plainly.
func wholeNumber(raw []byte) (int64, bool) {
	digits := raw
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0') // 19 digits cannot overflow it
	}
	if n > math.MaxInt64 {
		return 0, false
	}
	if len(digits) < len(raw) {
		return -int64(n), true
	}
	return int64(n), true
}

// count checks a position or a version: an integer from 1 to 2⁶³−1, written plainly.
func count(code, name string, raw []byte) (int64, *fault) {
	n, ok := wholeNumber(raw)
	switch {
	case !ok:
		return 0, faultf(code, "%s is %s, which is not a whole number up to 9223372036854775807", name, excerpt(raw))
	case n < 1:
		return 0, faultf(code, "%s is %d; it counts from 1", name, n)
	}
	return n, nil
}
