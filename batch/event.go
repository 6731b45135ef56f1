package batch

import (
	"encoding/json"
	"time"
)

// Event is one row of the archive.
type Event struct {
	Position   int64  // global order of the source log
	ID         string // unique
	Type       string
	OrderID    string
	Version    int64 // of the order, from 1
	Payload    json.RawMessage
	OccurredAt time.Time
}
