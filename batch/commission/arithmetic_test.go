package commission

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestRoundHalfUp(t *testing.T) {
	for _, tc := range []struct{ x, want float64 }{
		{0.49999999999999994, 0}, {0.5, 1}, {1.5, 2}, {2.5, 3}, {-0.5, 0}, {-0.5000000000000001, -1}, {-1.5, -1}, {-2.5, -2}, {-1e-20, 0},
		{4503599627370495.5, 4503599627370496}, {4503599627370497, 4503599627370497}, {9007199254740991, 9007199254740991},
		{-4503599627370495.5, -4503599627370495}, {1e300, 1e300}, {math.Inf(1), math.Inf(1)},
	} {
		if got := roundHalfUp(tc.x); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.x, got, tc.want)
		}
	}
}

func parsed(t *rapid.T, cents, share string) payload {
	p, err := parse([]byte(`{"valorCentavos":` + cents + `,"percentual":` + share + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// digits draws a decimal number as people and programs write them.
func digits(fraction bool) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + strconv.FormatUint(rapid.Uint64().Draw(t, "digits")>>rapid.IntRange(0, 63).Draw(t, "shorter"), 10)
		if fraction && rapid.Bool().Draw(t, "point") {
			s += "." + rapid.StringMatching(`[0-9]{0,12}[05]`).Draw(t, "fraction")
		}
		return s
	})
}

// The narrow way, where it has an answer, gives the wide way's.
func TestExactSmallIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		divisor := rapid.OneOf(rapid.SampledFrom([]int64{100, 1000, 1, 3, math.MaxInt64}), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "divisor")
		p := parsed(t, digits(false).Draw(t, "cents")+rapid.SampledFrom([]string{"", ".0", ".00"}).Draw(t, "zeros"), digits(true).Draw(t, "share"))
		v, ok1 := parseDecimal(p.cents)
		s, ok2 := parseDecimal(p.share)
		if !ok1 || !ok2 {
			return
		}
		small, ok := exactSmall(v, s, divisor)
		if !ok {
			return
		}
		if wide, err := p.exactBig(divisor); err != nil || wide != small {
			t.Fatalf("%s of %s / %d: %d, exactly %d, %v", p.share, p.cents, divisor, small, wide, err)
		}
	})
}

// Halves above all: the share is drawn so that the product is n + 1/2 cents.
func TestExactHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(-1e12, 1e12).Draw(t, "n")
		p := parsed(t, fmt.Sprint(2*n+1), "50")
		for name, f := range map[string]func(int64) (int64, error){"exact": p.exact, "wide": p.exactBig, "ieee": p.ieee} {
			if got, err := f(100); err != nil || got != n+1 {
				t.Fatalf("%s: half of %d: %d, %v, want %d", name, 2*n+1, got, err, n+1)
			}
		}
	})
}

// The double's result is within the rounding errors of the exact one: a product, a quotient, a share.
func TestArithmeticsAreClose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := parsed(t, digits(false).Draw(t, "cents"), digits(true).Draw(t, "share"))
		ieee, err1 := p.ieee(100)
		exact, err2 := p.exact(100)
		if err1 != nil || err2 != nil {
			return
		}
		gap := new(big.Int).Abs(new(big.Int).Sub(big.NewInt(ieee), big.NewInt(exact)))
		bound := 1 + math.Abs(float64(exact))*4e-15
		if f, _ := new(big.Float).SetInt(gap).Float64(); f > bound {
			t.Fatalf("%s of %s: ieee %d, exact %d", p.share, p.cents, ieee, exact)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"valorCentavos":1,"percentual":5}`, `{"valorCentavos":1e2,"percentual":-0.05,"x":[{}]}`, `[]`, `{"percentual":1e-400,"valorCentavos":1e300}`, `{`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		p, err := parse(raw)
		if err != nil || len(raw) > 200 {
			return
		}
		if p.centsF != math.Trunc(p.centsF) || math.IsInf(p.centsF, 0) {
			t.Fatalf("%q: %v is no integer", raw, p.centsF)
		}
		_, _ = p.ieee(100)
		if v, err := strconv.ParseFloat(p.share, 64); err == nil && (v == 0 || math.Abs(v) > 1e-300) { // others cost much, and jsonb has none
			small, err := p.exact(100)
			if wide, err2 := p.exactBig(100); (err == nil) != (err2 == nil) || small != wide {
				t.Fatalf("%q: %d %v, %d %v", raw, small, err, wide, err2)
			}
		}
	})
}
