package sample

import (
	"math/rand/v2"
	"strconv"
)

// Shares of the seller in per cent, as text: some have no exact binary form, so that arithmetic shows.
var percents = [...]string{"5", "5", "5", "2.5", "7", "1.15", "0.7", "0.35", "10", "12.5"}

const minCents, maxCents = 500, 500_000

func appendPayload(b []byte, random *rand.Rand, e Event) []byte {
	cents := int64(minCents + random.IntN(maxCents-minCents+1))
	percent := percents[random.IntN(len(percents))]
	if e.Poison {
		return appendPoison(b, random, cents)
	}
	switch e.Type {
	case typePaid:
		b = append(b, `{"valorCentavos":`...)
		b = strconv.AppendInt(b, cents, 10)
		b = append(b, `,"percentual":`...)
		b = append(b, percent...)
	case typeCreated:
		b = append(b, `{"itens":`...)
		b = strconv.AppendInt(b, cents%9+1, 10)
	default:
		b = append(b, `{"motivo":"cliente desistiu"`...)
	}
	return append(b, '}')
}

// appendPoison writes what is JSON, and imports, but is no payment.
func appendPoison(b []byte, random *rand.Rand, cents int64) []byte {
	switch random.IntN(4) {
	case 0: // text
		b = append(b, `{"valorCentavos":"`...)
		b = strconv.AppendInt(b, cents, 10)
		return append(b, `","percentual":5}`...)
	case 1: // half a cent
		b = append(b, `{"valorCentavos":`...)
		b = strconv.AppendInt(b, cents, 10)
		return append(b, `.5,"percentual":5}`...)
	case 2:
		return append(b, `{"valorCentavos":null,"percentual":5}`...)
	default:
		b = append(b, `{"valorCentavos":`...)
		b = strconv.AppendInt(b, cents, 10)
		return append(b, '}')
	}
}
