// Package sample makes archives that look like a shop's: a day of order events, several per order, in the order of
// their positions. The same options give the same bytes on any machine.
package sample

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"time"
)

// The types of event. An order's first event that is no payment creates it, a later one cancels it.
const (
	typePaid      = "pedido.pago"
	typeCreated   = "pedido.criado"
	typeCancelled = "pedido.cancelado"
)

// Defaults of [Options].
const (
	DefaultDay       = "2026-10-14"
	DefaultPaidShare = 0.8
	// ordersPerEvent gives most orders one or two events and some of them many.
	ordersPerEvent = 0.6
)

// Options describe an archive. The zero value of a field means its default.
type Options struct {
	Seed          uint64
	Events        int            // how many there are
	StartPosition int64          // of the first event. Default 1
	Day           string         // as 2026-10-14. Default DefaultDay
	Days          int            // how many days they are spread over. Default 1
	Location      *time.Location // whose midnight begins the day. Default UTC
	Orders        int            // how many orders they are about. Default: six for ten events
	PaidShare     float64        // share of pedido.pago, 0 to 1. Default DefaultPaidShare; negative: none
	PoisonShare   float64        // share of the pedido.pago whose payload no handler can use
	GapShare      float64        // missing positions, as a share of the events
}

// Event is one event of a sample archive. Payload is valid until the next one is asked for.
type Event struct {
	Position   int64
	ID         string // ev-<position>
	Type       string
	OrderID    string // P-<number>
	Version    int64
	Payload    []byte
	OccurredAt time.Time // whole microseconds
	Poison     bool
}

// Summary counts what an archive holds.
type Summary struct {
	Events, Paid, Poison, Gaps, Orders int
	First, Last                        int64 // positions
}

func (s *Summary) add(e Event) {
	if s.Events == 0 {
		s.First = e.Position
	} else {
		s.Gaps += int(e.Position - s.Last - 1)
	}
	s.Last = e.Position
	s.Events++
	if e.Version == 1 {
		s.Orders++
	}
	if e.Type == typePaid {
		s.Paid++
	}
	if e.Poison {
		s.Poison++
	}
}

// Events checks the options and returns the events.
func Events(o Options) (iter.Seq[Event], error) {
	from, to, err := o.window()
	if err != nil {
		return nil, err
	}
	return func(yield func(Event) bool) {
		random := rand.New(rand.NewPCG(o.Seed, 0x52657072697365))
		versions := make([]int32, o.Orders)
		step := float64(to.Sub(from)) / float64(o.Events)
		position := o.StartPosition - 1
		var paid, buf = 0, make([]byte, 0, 64)
		for i := range o.Events {
			position++
			if i > 0 && crosses(i, o.GapShare) {
				position++
			}
			order := random.IntN(o.Orders)
			versions[order]++
			e := Event{
				Position: position,
				ID:       "ev-" + strconv.FormatInt(position, 10),
				OrderID:  "P-" + strconv.Itoa(order+1),
				Version:  int64(versions[order]),
				// One instant in each equal part of the window, so that time follows position.
				OccurredAt: from.Add(time.Duration((float64(i) + random.Float64()) * step)).Truncate(time.Microsecond),
			}
			switch {
			case random.Float64() < o.PaidShare:
				e.Type = typePaid
				e.Poison = crosses(paid, o.PoisonShare)
				paid++
			case e.Version == 1:
				e.Type = typeCreated
			default:
				e.Type = typeCancelled
			}
			buf = appendPayload(buf[:0], random, e)
			e.Payload = buf
			if !yield(e) {
				return
			}
		}
	}, nil
}

// crosses picks share of all n, evenly spread, so that their number is exact.
func crosses(n int, share float64) bool {
	return int64(float64(n+1)*share) > int64(float64(n)*share)
}

// window fills in the defaults and finds the instants between which the events lie.
func (o *Options) window() (from, to time.Time, err error) {
	fill(&o.StartPosition, 1)
	fill(&o.Day, DefaultDay)
	fill(&o.Days, 1)
	fill(&o.PaidShare, DefaultPaidShare)
	fill(&o.Orders, max(1, int(float64(o.Events)*ordersPerEvent)))
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Events < 1 || o.Orders < 1 || o.Days < 1 || o.StartPosition < 1 {
		return from, to, errors.New("sample: events, orders, days and start position are at least 1")
	}
	if o.PaidShare > 1 || bad(o.PoisonShare) || bad(o.GapShare) {
		return from, to, errors.New("sample: shares lie between 0 and 1")
	}
	day, err := time.ParseInLocation(time.DateOnly, o.Day, o.Location)
	if err != nil {
		return from, to, fmt.Errorf("sample: day %q is not like %s", o.Day, DefaultDay)
	}
	return day, day.AddDate(0, 0, o.Days), nil
}

func bad(share float64) bool { return share < 0 || share > 1 }

func fill[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}
