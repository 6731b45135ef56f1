package importer

import "testing"

func TestMoneyIsExact(t *testing.T) {
	for _, c := range []struct {
		amount string
		digits int
		units  string // "": refused
	}{
		{"159.90", 2, "15990"}, {"159.9", 2, "15990"}, {"159", 2, "15900"}, {"0.01", 2, "1"}, {"0", 2, "0"}, {"-0.50", 2, "-50"}, {"-0", 2, "0"},
		{"3000", 0, "3000"}, {"1.234", 3, "1234"}, {"90071992547409.93", 2, "9007199254740993"}, {"92233720368547758.07", 2, "9223372036854775807"},
		{"92233720368547758.08", 2, ""}, {"159.901", 2, ""}, {"159.900", 2, ""}, {"30.00", 0, ""}, {"1,15", 2, ""}, {"1.599,00", 2, ""}, {"1e3", 2, ""},
		{"", 2, ""}, {"-", 2, ""}, {".5", 2, ""}, {"5.", 2, ""}, {"05", 2, ""}, {" 5", 2, ""}, {"+5", 2, ""}, {"٣", 2, ""},
	} {
		units, f := minorUnits(c.amount, c.digits)
		if (f != nil) != (c.units == "") || units != c.units {
			t.Errorf("%q is %q, not %q (%v)", c.amount, units, c.units, f)
		}
	}
	for from, to := range map[string]string{"0.05": "5", "0.0115": "1.15", "1": "100", "-0.5": "-50", "0": "0", "12.3456": "1234.56", "0.001": "0.1", "0.00": "0"} {
		if got := shiftPoint(from, 2); got != to {
			t.Errorf("%s becomes %s, not %s", from, got, to)
		}
	}
	for code, digits := range map[string]int{"BRL": 2, "JPY": 0, "KWD": 3} {
		if got, f := currencyDigits(code); f != nil || got != digits {
			t.Errorf("%s has %d digits, %v", code, got, f)
		}
	}
}
