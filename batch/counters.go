package batch

import (
	"context"
	"maps"
)

// Plus adds up two accounts.
func (c Counters) Plus(o Counters) Counters {
	c.Effects, c.InHand = maps.Clone(c.Effects), nil
	c.add(o)
	return c
}

// add adds another account to this one.
func (c *Counters) add(o Counters) {
	c.Read += o.Read
	c.Passed += o.Passed
	c.Written += o.Written
	c.Unchanged += o.Unchanged
	c.Newer += o.Newer
	c.Poison += o.Poison
	c.OtherMode += o.OtherMode
	c.addEffects(o.Effects)
}

func (c *Counters) addEffects(kinds map[string]EffectCounters) {
	if c.Effects == nil {
		c.Effects = make(map[string]EffectCounters, len(kinds))
	}
	for kind, e := range kinds {
		c.Effects[kind] = c.Effects[kind].Plus(e)
	}
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
		sum.add(p.Counters)
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
		sum.add(p.Projection)
	}
	sum.Effects = settled.Effects
	return sum, countWritten(ctx, q, r.ID, &sum)
}
