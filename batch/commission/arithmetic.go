package commission

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

func (p payload) commission(arithmetic string, divisor int64) (int64, error) {
	if arithmetic == Exact {
		return p.exact(divisor)
	}
	return p.ieee(divisor)
}

// ieee is Math.round((valorCentavos * percentual) / divisor), as JavaScript computes and writes it.
func (p payload) ieee(divisor int64) (int64, error) {
	x := roundHalfUp(p.centsF * p.shareF / float64(divisor))
	const exactInts = 1 << 53
	if x >= -exactInts && x <= exactInts {
		return int64(x), nil
	}
	// Beyond 2^53 JavaScript writes the shortest digits that identify the double, then zeros, and that is what
	// its consumer stores: 1152921504606847000 for 2^60. NaN and what exceeds 64 bits do not parse.
	value, err := strconv.ParseInt(strconv.FormatFloat(x, 'f', -1, 64), 10, 64)
	if err != nil {
		return 0, p.outOfRange()
	}
	return value, nil
}

// roundHalfUp is Math.round. Floor(x + 0.5) is not: the sum is rounded, for 0.49999999999999994 to 1.
func roundHalfUp(x float64) float64 {
	floor := math.Floor(x)
	if x-floor >= 0.5 {
		return floor + 1
	}
	return floor
}

// exact is the same product and quotient in decimal, rounded once.
func (p payload) exact(divisor int64) (int64, error) {
	v, ok1 := parseDecimal(p.cents)
	s, ok2 := parseDecimal(p.share)
	if ok1 && ok2 {
		if value, ok := exactSmall(v, s, divisor); ok {
			return value, nil
		}
	}
	return p.exactBig(divisor)
}

// exactBig has no limits but those of the result and of what jsonb can hold.
func (p payload) exactBig(divisor int64) (int64, error) {
	v, ok := new(big.Rat).SetString(p.cents)
	if !ok || !v.IsInt() {
		return 0, fmt.Errorf(remarkNotWhole, excerpt(p.cents))
	}
	x, ok := new(big.Rat).SetString(p.share)
	if !ok || math.IsInf(p.shareF, 0) {
		return 0, fmt.Errorf(remarkTooLarge, excerpt(p.share))
	}
	x.Mul(x, v).Quo(x, new(big.Rat).SetInt64(divisor)).Add(x, big.NewRat(1, 2))
	floor := new(big.Int).Div(x.Num(), x.Denom()) // Euclidean; the denominator is positive
	if !floor.IsInt64() {
		return 0, p.outOfRange()
	}
	return floor.Int64(), nil
}

func (p payload) outOfRange() error {
	return fmt.Errorf(remarkOutOfRange, excerpt(p.cents), excerpt(p.share))
}

// decimal is ±digits / 10^places.
type decimal struct {
	negative bool
	digits   uint64
	places   int // 0 to 18
}

// parseDecimal reads a JSON number of up to 18 digits without exponent: all but the odd one.
func parseDecimal(raw string) (d decimal, ok bool) {
	if len(raw) > 0 && raw[0] == '-' {
		d.negative, raw = true, raw[1:]
	}
	const most = 18 // digits that always fit, with the point
	if len(raw) > most+1 {
		return decimal{}, false
	}
	point := len(raw)
	for i := range len(raw) {
		switch c := raw[i]; {
		case c >= '0' && c <= '9':
			d.digits = d.digits*10 + uint64(c-'0')
		case c == '.':
			point = i + 1
		default:
			return decimal{}, false
		}
	}
	d.places = len(raw) - point
	return d, true
}

var pow10 = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// exactSmall computes floor(v*s/divisor + 1/2) in 128 bits; not ok if v is not an integer or that is too narrow.
func exactSmall(v, s decimal, divisor int64) (value int64, ok bool) {
	for v.places > 0 && v.digits%10 == 0 { // 10.0 is an integer
		v.digits, v.places = v.digits/10, v.places-1
	}
	if v.places != 0 {
		return 0, false
	}
	over, den := bits.Mul64(uint64(divisor), pow10[s.places])
	hi, lo := bits.Mul64(v.digits, s.digits)
	if over != 0 || den >= 1<<63 || hi >= den {
		return 0, false
	}
	quotient, rest := bits.Div64(hi, lo, den)
	// Halves go towards plus infinity: up in magnitude if positive, down if negative.
	negative := v.negative != s.negative
	if twice := 2 * rest; twice > den || twice == den && !negative {
		quotient++
	}
	if quotient > math.MaxInt64 {
		return 0, false
	}
	if negative {
		return -int64(quotient), true
	}
	return int64(quotient), true
}
