package importer

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
	"golang.org/x/text/currency"
)

// currencyDigits is how many digits a currency has after the point.
func currencyDigits(code string) (int, *fault) {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return 0, faultf(CodeNumber, "currency %q is not known", excerpt(code))
	}
	digits, _ := currency.Standard.Rounding(unit)
	return digits, nil
}

// written is a number or a text as it is written.
func written(v gjson.Result) string {
	if v.Type == gjson.Number {
		return v.Raw
	}
	return v.String()
}

// minorUnits turns 159.90 into 15990, digit by digit. More digits than the currency has are refused.
func minorUnits(amount string, digits int) (string, *fault) {
	amount, f := decimal(amount)
	if f != nil {
		return "", f
	}
	whole, fraction, _ := strings.Cut(amount, ".")
	if len(fraction) > digits {
		return "", faultf(CodeNumber, "amount %s has more digits than its currency", excerpt(amount))
	}
	sign := ""
	if whole, found := strings.CutPrefix(whole, "-"); found {
		sign, amount = "-", whole
	} else {
		amount = whole
	}
	units := strings.TrimLeft(amount+fraction+strings.Repeat("0", digits-len(fraction)), "0")
	if units == "" {
		return "0", nil
	}
	if _, ok := wholeNumber([]byte(units)); !ok {
		return "", faultf(CodeNumber, "amount %s is too large", excerpt(amount))
	}
	return sign + units, nil
}

var withComma = regexp.MustCompile(`^-?([0-9]{1,3}(\.[0-9]{3})+|[0-9]+)(,[0-9]+)?$`)

// decimalComma turns 1.599,00 into 1599.00. Points that do not group thousands are refused.
func decimalComma(text string) (string, *fault) {
	if !withComma.MatchString(text) {
		return "", faultf(CodeNumber, "%q is not a number with a decimal comma, like 1.599,00", excerpt(text))
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, ".", ""), ",", "."), nil
}

// decimal checks a number that is written with a point, and nothing else: commas and per cent signs mean different
// things in different places.
func decimal(text string) (string, *fault) {
	digits := strings.TrimPrefix(text, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	if !isDigits(whole) || point && !isDigits(fraction) || len(whole) > 1 && whole[0] == '0' || len(digits) > plainNumber {
		return "", faultf(CodeNumber, "%q is not a decimal number like 1.15", excerpt(text))
	}
	return text, nil
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// shiftPoint moves the point of a decimal number to the right.
func shiftPoint(number string, places int) string {
	sign := ""
	if rest, found := strings.CutPrefix(number, "-"); found {
		sign, number = "-", rest
	}
	whole, fraction, _ := strings.Cut(number, ".")
	fraction += strings.Repeat("0", max(0, places-len(fraction)))
	whole, fraction = strings.TrimLeft(whole+fraction[:places], "0"), strings.TrimRight(fraction[places:], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}
