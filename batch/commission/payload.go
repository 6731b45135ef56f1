package commission

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unsafe"

	"github.com/tidwall/gjson"
)

// payload is what a paid order says: its value in cents and the seller's share. Both are kept as they were
// written, since no binary number holds 1.15.
type payload struct {
	cents, share   string
	centsF, shareF float64 // as JavaScript reads them
}

// parse takes what the live consumer takes: an object whose valorCentavos satisfies Number.isInteger and whose
// percentual is a number. Of a repeated key the last one counts.
func parse(raw []byte) (payload, error) {
	if !gjson.ValidBytes(raw) {
		return payload{}, errors.New(remarkNotJSON)
	}
	// Not copied: a payload may be large, and nothing of it is kept once the event is projected.
	object := gjson.Parse(unsafe.String(unsafe.SliceData(raw), len(raw)))
	if !object.IsObject() {
		return payload{}, errors.New(remarkNoObject)
	}
	var cents, share gjson.Result
	object.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "valorCentavos":
			cents = value
		case "percentual":
			share = value
		}
		return true
	})
	p := payload{cents: cents.Raw, share: share.Raw}
	var err error
	if p.centsF, err = number("valorCentavos", cents); err != nil {
		return payload{}, err
	}
	if p.shareF, err = number("percentual", share); err != nil {
		return payload{}, err
	}
	if math.IsInf(p.centsF, 0) || p.centsF != math.Trunc(p.centsF) {
		return payload{}, fmt.Errorf(remarkNotWhole, excerpt(p.cents))
	}
	return p, nil
}

// number reads a JSON number as JavaScript does: to the nearest double, infinite beyond their range.
func number(name string, r gjson.Result) (float64, error) {
	if !r.Exists() {
		return 0, fmt.Errorf(remarkMissing, name)
	}
	if r.Type != gjson.Number {
		return 0, fmt.Errorf(remarkNotANumber, name, excerpt(r.Raw))
	}
	f, err := strconv.ParseFloat(r.Raw, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf(remarkNotANumber, name, excerpt(r.Raw))
	}
	return f, nil
}

func excerpt(raw string) string {
	const most = 60
	if len(raw) > most {
		return raw[:most] + "…"
	}
	return raw
}
