package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// None is shown where there is nothing to show.
const None = "—"

func (p *Printer) separators() (thousands, decimal string) {
	if p.Language == Portuguese {
		return ".", ","
	}
	return ",", "."
}

// Int writes a whole number with thousands separators.
func (p *Printer) Int(n int64) string { return p.Digits(strconv.FormatInt(n, 10)) }

// Digits groups a whole number that may exceed 64 bits; what is not a number is returned clean.
func (p *Printer) Digits(s string) string {
	sign, digits := "", s
	if strings.HasPrefix(s, "-") {
		sign, digits = "-", s[1:]
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return Clean(s)
	}
	sep, _ := p.separators()
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(sep)
		}
		b.WriteRune(d)
	}
	return sign + b.String()
}

// Compact writes a count in few columns: 987, 12.3k, 4.5M.
func (p *Printer) Compact(n int64) string {
	f := math.Abs(float64(n))
	for _, u := range []struct {
		at   float64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if f >= u.at {
			div := u.at
			if u.name == "k" {
				div = 1e3
			}
			return p.Decimal(math.Trunc(float64(n)/div*10)/10, 1) + u.name
		}
	}
	return p.Int(n)
}

// Decimal writes a fraction with so many places.
func (p *Printer) Decimal(f float64, places int) string {
	s := strconv.FormatFloat(f, 'f', places, 64)
	whole, frac, _ := strings.Cut(s, ".")
	_, point := p.separators()
	out := p.Digits(whole)
	if frac != "" {
		out += point + frac
	}
	return out
}

// Money writes cents.
func (p *Printer) Money(cents int64) string { return p.BigMoney(strconv.FormatInt(cents, 10)) }

// BigMoney writes cents given as a whole number that may exceed 64 bits; what is not a number is returned clean.
func (p *Printer) BigMoney(cents string) string {
	sign, digits := "", cents
	if strings.HasPrefix(cents, "-") {
		sign, digits = "-", cents[1:]
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		if cents == "" {
			return None
		}
		return Clean(cents)
	}
	if len(digits) < 3 {
		digits = strings.Repeat("0", 3-len(digits)) + digits
	}
	_, point := p.separators()
	cut := len(digits) - 2
	return sign + "R$ " + p.Digits(digits[:cut]) + point + digits[cut:]
}

// Amount is SignedMoney without the currency, for where a title names it.
func (p *Printer) Amount(cents int64) string {
	return strings.Replace(p.SignedMoney(cents), "R$ ", "", 1)
}

// SignedMoney is Money that says "+" of a gain.
func (p *Printer) SignedMoney(cents int64) string {
	return p.SignedBigMoney(strconv.FormatInt(cents, 10))
}

// SignedBigMoney is BigMoney that says "+" of a gain.
func (p *Printer) SignedBigMoney(cents string) string {
	if cents != "" && cents[0] >= '1' && cents[0] <= '9' {
		return "+" + p.BigMoney(cents)
	}
	return p.BigMoney(cents)
}

// MoneyOr is Money, or None.
func (p *Printer) MoneyOr(cents *int64) string {
	if cents == nil {
		return None
	}
	return p.Money(*cents)
}

// Percent writes a share of a whole between 0 and 100 %, or None of nothing.
func (p *Printer) Percent(part, whole int64) string {
	if whole <= 0 {
		return None
	}
	if part >= whole {
		return "100 %"
	}
	f := min(max(float64(part)/float64(whole)*100, 0), 100)
	if f > 99.9 {
		f = 99.9 // 100 % is said only of what is complete
	}
	return p.Decimal(math.Floor(f*10)/10, 1) + " %"
}

// Share is Percent in few columns, without a fraction.
func (p *Printer) Share(part, whole int64) string {
	if whole <= 0 {
		return None
	}
	return p.Int(max(0, min(part*100/whole, 100))) + "%"
}

// Change writes the relative change from before to after; from nothing or zero there is none.
func (p *Printer) Change(before *int64, after int64) string {
	if before == nil || *before == 0 {
		return None
	}
	f := (float64(after) - float64(*before)) / math.Abs(float64(*before)) * 100
	s := p.Decimal(f, 1) + " %"
	if math.Abs(f) >= 1e6 {
		s = p.Compact(int64(max(min(f, 1e17), -1e17))) + " %"
	}
	if f > 0 {
		s = "+" + s
	}
	return s
}

// Bytes writes a size.
func (p *Printer) Bytes(n int) string {
	switch {
	case n >= 1<<20:
		return p.Decimal(float64(n)/(1<<20), 1) + " MB"
	case n >= 1<<10:
		return p.Decimal(float64(n)/(1<<10), 1) + " kB"
	}
	return p.Int(int64(n)) + " B"
}

// Time writes an instant to the second, with its zone.
func (p *Printer) Time(t time.Time) string {
	if p.Language == Portuguese {
		return t.In(p.Zone).Format("02/01/2006 15:04:05 MST")
	}
	return t.In(p.Zone).Format("2006-01-02 15:04:05 MST")
}

// Minute writes an instant to the minute, with its zone.
func (p *Printer) Minute(t time.Time) string {
	if p.Language == Portuguese {
		return t.In(p.Zone).Format("02/01/2006 15:04 MST")
	}
	return t.In(p.Zone).Format("2006-01-02 15:04 MST")
}

// Day writes a day, with its zone.
func (p *Printer) Day(t time.Time) string {
	if p.Language == Portuguese {
		return t.In(p.Zone).Format("02/01/2006 MST")
	}
	return t.In(p.Zone).Format("2006-01-02 MST")
}

// Short writes an instant without its year, with its zone; seconds only if it has some.
func (p *Printer) Short(t time.Time) string {
	clock := " 15:04 MST"
	if t.Second() != 0 {
		clock = " 15:04:05 MST"
	}
	if p.Language == Portuguese {
		return t.In(p.Zone).Format("02/01" + clock)
	}
	return t.In(p.Zone).Format("01-02" + clock)
}

// Clock writes the time of the day to the second, with its zone.
func (p *Printer) Clock(t time.Time) string { return t.In(p.Zone).Format("15:04:05 MST") }

// ShortClock writes the time of the day to the minute, with its zone.
func (p *Printer) ShortClock(t time.Time) string { return t.In(p.Zone).Format("15:04 MST") }

// UTC writes an instant in UTC, the same in every language.
func (p *Printer) UTC(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// TimeOr is Time, or None.
func (p *Printer) TimeOr(t *time.Time) string {
	if t == nil || t.IsZero() {
		return None
	}
	return p.Time(*t)
}

// Duration writes a running time to the second: 04:07, 1:02:03, 3 d 04:00:00.
func (p *Printer) Duration(d time.Duration) string {
	d = max(d, 0).Round(time.Second)
	s := int64(d / time.Second)
	switch {
	case s >= 24*3600:
		return fmt.Sprintf("%s d %02d:%02d:%02d", p.Int(s/86400), s/3600%24, s/60%60, s%60)
	case s >= 3600:
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// Age writes how long ago in one unit: <1 min, 12 min, 5 h, 3 d. It changes at most once a minute, so that a
// screen on which nothing happens stays still.
func (p *Printer) Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "<1 min"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return p.Int(int64(d.Hours()/24)) + " d"
}
