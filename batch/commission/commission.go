// Package commission is the handler of seller commissions: a paid order's commission is a share of its value, it
// is kept in table comissao, and the seller is told of it.
package commission

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tidwall/gjson"

	"reprise.dev/reprise/batch"
)

const (
	// NotifySeller is the kind of effect that tells a seller the commission.
	NotifySeller = "notificar-vendedor"
	// OrderPaid is the type of event that a commission follows from.
	OrderPaid = "pedido.pago"
)

// The arithmetics. Both round halves towards plus infinity.
const (
	IEEE  = "ieee"  // doubles, cent for cent what a consumer in JavaScript stores
	Exact = "exact" // decimal
)

// Options configure the handler.
type Options struct {
	Arithmetic string // [IEEE], the default, or [Exact]
	Divisor    int64  // what percentual is divided by: 100, the default, for per cent; 1000 for per mille
}

type handler struct {
	arithmetic string
	divisor    int64
}

// New makes the handler. Its name is "comissao". It panics on options that configuration would have refused.
func New(o Options) batch.Handler {
	h := handler{arithmetic: o.Arithmetic, divisor: o.Divisor}
	if h.arithmetic == "" {
		h.arithmetic = IEEE
	}
	if h.divisor == 0 {
		h.divisor = 100
	}
	if h.arithmetic != IEEE && h.arithmetic != Exact || h.divisor < 0 {
		panic(fmt.Sprintf("commission: options %+v: arithmetic is ieee or exact, divisor positive", o))
	}
	return h
}

func (handler) Name() string            { return "comissao" }
func (handler) Types() []string         { return []string{OrderPaid} }
func (handler) Kinds() []string         { return []string{NotifySeller} }
func (handler) State() batch.StateTable { return stateTable }

// Project computes the commission in cents. The error of an event that has none starts with the words of the
// live consumer and says what is wrong.
func (h handler) Project(e batch.Event) (batch.Projection, error) {
	p, err := parse(e.Payload)
	if err != nil {
		return batch.Projection{}, fmt.Errorf(remarkInvalid, OrderPaid, err)
	}
	value, err := p.commission(h.arithmetic, h.divisor)
	if err != nil {
		return batch.Projection{}, fmt.Errorf(remarkInvalid, OrderPaid, err)
	}
	out := batch.Projection{
		Value:   value,
		Effects: []batch.Wanted{{Kind: NotifySeller, Content: notification(e.OrderID, value)}},
	}
	other := Exact
	if h.arithmetic == Exact {
		other = IEEE
	}
	if v, err := p.commission(other, h.divisor); err == nil && v != value {
		differing := v // a variable of its own, so that only this case allocates
		out.OtherValue = &differing
	}
	return out, nil
}

// notification is the content of the effect; the provider's contract fixes its keys.
func notification(order string, cents int64) json.RawMessage {
	const keys = len(`{"pedidoId":"","valorCentavos":-9223372036854775808}`)
	b := make([]byte, 0, keys+len(order))
	b = append(b, `{"pedidoId":`...)
	b = gjson.AppendJSONString(b, order)
	b = append(b, `,"valorCentavos":`...)
	b = strconv.AppendInt(b, cents, 10)
	return append(b, '}')
}
