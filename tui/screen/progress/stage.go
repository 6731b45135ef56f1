package progress

import (
	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/text"
)

// stages are those of an apply: it knows what all events lead to before it writes, and has written all state before
// its first effect. A simulation is one stage.
var stages = []struct {
	stage batch.Stage
	name  text.M
}{{batch.Projecting, text.StageProjecting}, {batch.Writing, text.StageWriting}, {batch.Working, text.StageWorking}}

// stage says where an apply is, or "" of a simulation, of one that has not begun and of one that is over.
func (m *Model) stage() string {
	r := m.feed.Value.Replay
	if r.Mode != batch.Apply || r.Summary != nil || r.StartedAt == nil {
		return ""
	}
	for i, s := range stages {
		if s.stage == m.feed.Value.Stage {
			return m.env.S(text.StageOf, i+1, len(stages), m.env.S(s.name))
		}
	}
	return ""
}

// early reports whether an apply has not come to its effects yet: what is settled is still nothing.
func (m *Model) early() bool {
	p := m.feed.Value
	return p.Replay.Summary == nil && (p.Stage == batch.Projecting || p.Stage == batch.Writing)
}

// done and all measure the stage; known is false before the scope was planned.
func (m *Model) done() (done, all int64, known bool) {
	p := m.feed.Value
	if m.early() {
		return min(p.StageDone, p.StageAll), p.StageAll, true
	}
	all, known = m.total()
	return max(0, min(p.Settled, all)), all, known
}

// counters are what is known of the events in this stage: what they would lead to, or what they led to.
func (m *Model) counters() (c batch.Counters, foreseen bool) {
	p := m.feed.Value
	if p.Replay.Mode == batch.Simulate {
		return p.Total, true
	}
	for _, part := range p.Partitions {
		c = c.Plus(part.Projection)
	}
	if !m.early() { // its events were read long ago; what is written is known since
		c.Written, c.Unchanged, c.Newer = p.Total.Written, p.Total.Unchanged, p.Total.Newer
	}
	return c, m.early()
}

// inHand is what one partition shows in this stage.
func (m *Model) inHand(p batch.Partition) (c batch.Counters, done bool) {
	if m.early() {
		return p.Projection, p.ProjectedAll
	}
	c = p.Counters
	c.Read = p.Settled
	return c, p.Done
}
