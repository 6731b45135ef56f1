package importer

import (
	"time"

	"reprise.dev/reprise/batch"
)

// Progress tells how far an import is. Bytes are those of the files as they are stored; a total of 0 is unknown.
type Progress struct {
	File                  string
	BytesRead, BytesTotal int64 // of all files
	Rows, Rejected        int64
}

// Report is what became of an import. All counts are of events.
type Report struct {
	Files    []FileReport
	DryRun   bool
	Read     int64            // Imported + Repeated + the rejected
	Imported int64            // in a dry run: would be
	Repeated int64            // the archive held them already, with the same content
	Rejected map[string]int64 // by code; see the constants Code…
	Rejects  []Reject         // the first of them
	Ignored  map[string]int64 // what is no event, by what it is: tombstones, links
	Notes    map[string]int64 // events to look at, by why

	// Of the events that are in the archive now, imported or repeated.
	First, Last  int64 // positions
	From, To     time.Time
	Types        map[string]int64
	Samples      []batch.Event // the first three
	CutTimes     int64         // had digits below the microsecond, which were cut
	Derived      Derived
	SameVersions []SameVersion // the first of them; all were rejected with CodeSameVersion

	// Of the archive between First and Last; in a dry run, of the events read alone.
	Orders      int64
	Gaps        int64       // missing positions
	FirstGaps   []batch.Gap // at most 100
	VersionGaps int64       // versions missing between an order's first and last
	// Unexamined says why gaps and orders were not counted, if so.
	Unexamined string
}

// FileReport is the part of one file.
type FileReport struct {
	Name     string // - is standard input
	SHA256   string // of the file as it is stored, hexadecimal
	Format   string
	Read     int64
	Imported int64
	Repeated int64
	Rejected int64
	Rejects  string // file that holds its rejects; "" if there are none or nothing was to be written
}

// Derived counts numbers that the source does not have.
type Derived struct {
	Positions int64
	Versions  int64
	Rule      string // how they came about; "" if none were derived
}

// SameVersion is two events that claim one version of an order.
type SameVersion struct {
	OrderID           string
	Version           int64
	Archived, Refused string // ids of events
}

// accept notes an event that is in the archive now.
func (r *Report) accept(row *row) {
	at := time.UnixMicro(row.at.micros).UTC()
	if len(r.Types) == 0 {
		r.First, r.Last, r.From, r.To = row.position, row.position, at, at
	}
	r.First, r.Last = min(r.First, row.position), max(r.Last, row.position)
	if at.Before(r.From) {
		r.From = at
	}
	if at.After(r.To) {
		r.To = at
	}
	if n, known := r.Types[string(row.kind)]; known || len(r.Types) < maxTypes {
		r.Types[string(row.kind)] = n + 1
	} else {
		r.Types[OtherTypes]++
	}
	if row.at.cut {
		r.CutTimes++
	}
	if len(r.Samples) < maxSamples {
		r.Samples = append(r.Samples, row.event())
	}
}

// RejectedTotal sums the rejects.
func (r Report) RejectedTotal() int64 {
	var n int64
	for _, count := range r.Rejected {
		n += count
	}
	return n
}

// Partial reports whether something needs a person: events were rejected.
func (r Report) Partial() bool { return r.RejectedTotal() > 0 }

// OtherTypes stands in [Report].Types for all types beyond the first thousand.
const OtherTypes = "…"

const (
	maxTypes        = 1000
	maxRejects      = 20 // kept in a report
	maxGaps         = 100
	maxSamples      = 3
	maxSameVersions = 100
)
