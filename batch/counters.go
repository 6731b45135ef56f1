package batch

import "context"

// Plus adds up two accounts.
func (c Counters) Plus(o Counters) Counters {
	sum := Counters{
		Read: c.Read + o.Read, Passed: c.Passed + o.Passed, Written: c.Written + o.Written, Unchanged: c.Unchanged + o.Unchanged,
		Newer: c.Newer + o.Newer, Poison: c.Poison + o.Poison, OtherMode: c.OtherMode + o.OtherMode,
		Effects: make(map[string]EffectCounters, max(len(c.Effects), len(o.Effects))),
	}
	for kind, e := range c.Effects {
		sum.Effects[kind] = e
	}
	for kind, e := range o.Effects {
		sum.Effects[kind] = sum.Effects[kind].Plus(e)
	}
	return sum
}

// Plus adds up two accounts.
func (e EffectCounters) Plus(o EffectCounters) EffectCounters {
	return EffectCounters{
		Applied: e.Applied + o.Applied, Registered: e.Registered + o.Registered, Refused: e.Refused + o.Refused,
		Uncertain: e.Uncertain + o.Uncertain, Suppressed: e.Suppressed + o.Suppressed, Superseded: e.Superseded + o.Superseded,
		Pending: e.Pending + o.Pending, Differs: e.Differs + o.Differs,
	}
}

// Balanced reports whether every event read is in exactly one of the other counters.
func (c Counters) Balanced() bool {
	return c.Read == c.Passed+c.Written+c.Unchanged+c.Newer+c.Poison
}

// total adds up what is settled.
func total(parts []Partition) Counters {
	var sum Counters
	for _, p := range parts {
		sum = sum.Plus(p.Counters)
	}
	return sum
}

// account adds up what a run did. An apply may end before all is settled: every event is accounted for by what
// became of its state, and the effects are those that were settled.
func account(ctx context.Context, q querier, r Replay, parts []Partition) (Counters, error) {
	settled := total(parts)
	if r.Mode == Simulate {
		return settled, nil
	}
	var sum Counters
	for _, p := range parts {
		sum = sum.Plus(p.Projection)
	}
	sum.Effects = settled.Effects
	return sum, countWritten(ctx, q, r.ID, &sum)
}
