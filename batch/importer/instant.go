package importer

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Years that an event can be of; others are mistakes in the unit or the format.
const (
	firstYear = 1970
	lastYear  = 2200
)

var (
	firstMicro = time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	endMicro   = time.Date(lastYear+1, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
)

// instant is a time as PostgreSQL keeps it.
type instant struct {
	micros int64 // since 1970, UTC
	cut    bool  // there were digits below the microsecond
}

// parseInstant reads 2026-10-14T12:30:05.12-03:00, also in PostgreSQL's own spelling (a space for the T, an offset
// without minutes). A time without an offset is one of the zone, and rejected if there is none.
func parseInstant(text []byte, zone *time.Location) (instant, *fault) {
	p := timeParser{b: text}
	year := p.number(4)
	p.expect("-")
	month := p.number(2)
	p.expect("-")
	day := p.number(2)
	p.expect("T t")
	hour := p.number(2)
	p.expect(":")
	minute := p.number(2)
	p.expect(":")
	second := p.number(2)
	nanos, cut := p.fraction()
	if p.failed || hour > 23 || minute > 59 || second > 59 || month < 1 || month > 12 || day < 1 || day > daysIn(month, year) {
		if bytes.Contains(bytes.ToLower(text), []byte("infinity")) {
			return instant{}, faultf(CodeTime, "%s is not a time", excerpt(text))
		}
		return instant{}, faultf(CodeTime, "%q is not a time like 2026-10-14T12:30:05Z", excerpt(text))
	}
	var t time.Time
	if p.i < len(text) {
		offset := p.offset()
		if p.failed || p.i < len(text) {
			return instant{}, faultf(CodeTime, "%q does not end in Z or an offset like -03:00", excerpt(text))
		}
		t = time.Date(year, time.Month(month), day, hour, minute, second-offset, nanos, time.UTC)
	} else {
		if zone == nil {
			return instant{}, faultf(CodeNoZone, "%q has no zone; name the one it was written in (--zone)", excerpt(text))
		}
		local := time.Date(year, time.Month(month), day, hour, minute, second, nanos, zone)
		if f := unambiguous(text, local, hour, minute, zone); f != nil {
			return instant{}, f
		}
		t = local
	}
	return checked(text, instant{t.UnixMicro(), cut})
}

// checked rejects what lies outside of the years of [firstYear] to [lastYear].
func checked(text []byte, at instant) (instant, *fault) {
	if at.micros < firstMicro || at.micros >= endMicro {
		return instant{}, faultf(CodeTime, "%s is outside of the years %d to %d", excerpt(text), firstYear, lastYear)
	}
	return at, nil
}

// unambiguous rejects a local time that a change of the clock skipped or repeated: which instant it was cannot be
// known.
func unambiguous(text []byte, local time.Time, hour, minute int, zone *time.Location) *fault {
	if local.Hour() != hour || local.Minute() != minute {
		return faultf(CodeTime, "%q did not exist in %s: the clock was put forward", excerpt(text), zone)
	}
	for _, apart := range []time.Duration{-time.Hour, time.Hour, -30 * time.Minute, 30 * time.Minute} {
		if other := local.Add(apart); other.Hour() == hour && other.Minute() == minute {
			return faultf(CodeTime, "%q happened twice in %s: the clock was put back; give an offset", excerpt(text), zone)
		}
	}
	return nil
}

func daysIn(month, year int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// timeParser reads digits and separators; after a failure it reads on without meaning.
type timeParser struct {
	b      []byte
	i      int
	failed bool
}

func (p *timeParser) number(digits int) (n int) {
	if p.i+digits > len(p.b) {
		p.failed = true
		return 0
	}
	for _, c := range p.b[p.i : p.i+digits] {
		if c < '0' || c > '9' {
			p.failed = true
			return 0
		}
		n = n*10 + int(c-'0')
	}
	p.i += digits
	return n
}

// expect reads one byte out of a set.
func (p *timeParser) expect(set string) {
	if p.i >= len(p.b) || strings.IndexByte(set, p.b[p.i]) < 0 {
		p.failed = true
		return
	}
	p.i++
}

// fraction reads .123456789 and more; digits below the microsecond are cut.
func (p *timeParser) fraction() (nanos int, cut bool) {
	if p.failed || p.i >= len(p.b) || p.b[p.i] != '.' {
		return 0, false
	}
	p.i++
	from, unit := p.i, int(time.Second)
	for ; p.i < len(p.b) && '0' <= p.b[p.i] && p.b[p.i] <= '9'; p.i++ {
		unit /= 10
		if digit := int(p.b[p.i] - '0'); unit >= int(time.Microsecond) {
			nanos += digit * unit
		} else if digit != 0 {
			cut = true
		}
	}
	p.failed = p.i == from
	return nanos, cut
}

// offset reads Z, +hh, +hhmm or +hh:mm, in seconds.
func (p *timeParser) offset() int {
	sign := 1
	switch p.b[p.i] {
	case 'Z', 'z':
		p.i++
		return 0
	case '-':
		sign = -1
	case '+':
	default:
		p.failed = true
		return 0
	}
	p.i++
	hours, minutes := p.number(2), 0
	if p.i < len(p.b) {
		if p.b[p.i] == ':' {
			p.i++
		}
		minutes = p.number(2)
	}
	if hours > 15 || minutes > 59 { // what PostgreSQL allows
		p.failed = true
	}
	return sign * (hours*3600 + minutes*60)
}

// The units of a number that counts since 1970.
const (
	unitSeconds = int64(time.Second / time.Microsecond)
	unitMillis  = int64(time.Millisecond / time.Microsecond)
	unitMicros  = int64(1)
)

// instantOf reads such a number. A wrong unit lands outside of the years that are allowed, or in 1970.
func instantOf(raw []byte, unit int64) (instant, *fault) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return instant{}, faultf(CodeTime, "%s is not a whole number since 1970", excerpt(raw))
	}
	if n > endMicro/unit || n < 0 {
		return instant{}, faultf(CodeTime, "%s is outside of the years %d to %d: is the unit right?", excerpt(raw), firstYear, lastYear)
	}
	if at := n * unit; at >= plausibleMicro {
		return checked(raw, instant{micros: at})
	}
	return instant{}, faultf(CodeTime, "%s would be in %d: is the unit right?", excerpt(raw), time.UnixMicro(n*unit).UTC().Year())
}

// plausibleMicro is before any event of a format that counts since 1970: a number of seconds that is read as
// milliseconds lands before it.
var plausibleMicro = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
