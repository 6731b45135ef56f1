package progress

import "time"

// pace is how fast a replay went lately, from successive snapshots.
type pace struct {
	at    []time.Time
	read  []int64
	rates []float64 // events per second between two snapshots
}

const (
	keepRates = 240
	window    = 30 * time.Second // that the current rate is averaged over
)

// add notes how much had been read at an instant. Going back in time or in number starts again: the replay was
// resumed, or read once more from its start.
func (p *pace) add(at time.Time, read int64) {
	if n := len(p.at); n > 0 {
		span := at.Sub(p.at[n-1])
		if span <= 0 || read < p.read[n-1] {
			*p = pace{}
		} else {
			p.rates = append(p.rates, float64(read-p.read[n-1])/span.Seconds())
		}
	}
	p.at, p.read = append(p.at, at), append(p.read, read)
	if len(p.at) > keepRates {
		p.at, p.read = p.at[1:], p.read[1:]
	}
	if len(p.rates) > keepRates {
		p.rates = p.rates[1:]
	}
}

// rate is the number of events per second over the last while, or since the start if that is all there is.
func (p *pace) rate(started time.Time) (perSecond float64, known bool) {
	n := len(p.at)
	if n == 0 {
		return 0, false
	}
	last := n - 1
	first := last
	for first > 0 && p.at[last].Sub(p.at[first-1]) <= window {
		first--
	}
	from, read := p.at[first], p.read[first]
	if p.at[last].Sub(from) < 3*time.Second && !started.IsZero() { // just opened: what it did on average
		from, read = started, 0
	}
	span := p.at[last].Sub(from).Seconds()
	if span < 1 {
		return 0, false
	}
	return float64(p.read[last]-read) / span, true
}

// left is how long the rest takes at that rate.
func (p *pace) left(rest int64, started time.Time) (time.Duration, bool) {
	perSecond, known := p.rate(started)
	if !known || perSecond <= 0 || rest < 0 {
		return 0, false
	}
	seconds := float64(rest) / perSecond
	if seconds > 100*24*3600 {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}
