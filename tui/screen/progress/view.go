package progress

import (
	"strings"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/component/chart"
	"reprise.dev/reprise/tui/component/heatmap"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// View draws the run.
func (m *Model) View(w, h int) layout.Block {
	e := m.env
	switch {
	case m.id == "":
		return layout.Fit(layout.Block{"", "  " + e.Theme.Muted.Render(e.S(text.NoReplayChosen))}, w, h)
	case !m.feed.Loaded:
		return layout.Fit(layout.Block{"", "  " + e.Theme.Muted.Render(e.S(text.Loading))}, w, h)
	case m.feed.Value.missing:
		return layout.Fit(layout.Block{"", "  " + e.Theme.Warn.Render(e.S(text.NoSuchReplay, screen.Quote(m.id)))}, w, h)
	}
	out := m.summary(w)
	if m.bars {
		out = append(out, e.Section(e.S(text.SectionPartitions), m.legend(), w))
		return layout.Fit(append(out, m.table.View(rows{m}, w, max(h-len(out), 2), true)...), w, h)
	}
	effects := m.effects(w)
	room := h - len(out) - len(effects)
	s := m.feed.Value.Replay.State
	moves := active(s) || s == batch.Paused // what is over needs no hosts
	if w >= 130 && moves {
		side := w * 2 / 5
		hosts := m.hosts(side)
		left := m.partitions(w-side-2, max(min(room, max(len(hosts), 8)), 4))
		n := max(len(left), min(len(hosts), room))
		out = append(out, layout.Beside("  ", layout.Fit(left, w-side-2, n), layout.Fit(hosts, side, n))...)
		out = append(out, effects...)
		return m.fill(append(out, m.account(w)...), w, h)
	}
	var hosts layout.Block
	if moves {
		hosts = m.hosts(w)
	}
	out = append(out, m.partitions(w, max(min(room-len(hosts), 8), 5))...)
	out = append(out, effects...)
	out = append(out, hosts...)
	return m.fill(append(out, m.account(w)...), w, h)
}

// fill gives what is left of a tall screen to the partitions one by one.
func (m *Model) fill(out layout.Block, w, h int) layout.Block {
	const worthwhile = 6
	if h-len(out) >= worthwhile && len(m.feed.Value.Partitions) > 0 {
		out = append(out, m.env.Section(m.env.S(text.SectionOneByOne), "", w))
		m.table.To(rows{m}, m.cursor)
		out = append(out, m.table.View(rows{m}, w, h-len(out), false)...)
	}
	return layout.Fit(out, w, h)
}

func (m *Model) account(w int) layout.Block {
	r := m.feed.Value.Replay
	if r.Summary == nil {
		return nil
	}
	return screen.Account(m.env, r, w)
}

// total is the number of events in scope, as far as it is known.
func (m *Model) total() (int64, bool) {
	p := m.feed.Value
	if p.Replay.Summary != nil {
		return p.Replay.Summary.Events, true
	}
	if p.Replay.Events != nil {
		return *p.Replay.Events, true
	}
	if len(p.Partitions) == 0 {
		return 0, false
	}
	var sum int64
	for _, part := range p.Partitions {
		sum += part.Events
	}
	return sum, true
}

// summary is the head of the screen: state, bar, pace, limit.
func (m *Model) summary(w int) layout.Block {
	e, p := m.env, m.feed.Value
	t, r := e.Theme, p.Replay
	symbol, word, style := e.StateOf(r.State)
	head := style.Render(symbol+" "+word) + "  " + t.Bold.Render(text.Clean(r.ID)) + t.Muted.Render("  "+e.Mode(r.Mode)+"  ") + t.Text.Render(e.Scope(r.Scope))
	out := layout.Block{text.Truncate(head, w)}
	if utc := e.ScopeUTC(r.Scope); utc != "" && text.Width(head)+text.Width(utc)+6 <= w {
		out[0] = layout.Ends(head, t.Muted.Render("UTC "+utc), w)
	}
	for _, why := range []struct {
		label text.M
		text  string
		style theme.Style
	}{{text.LabelWaiting, e.Remark(r.Waiting), t.Info}, {text.LabelHolder, r.Holder, t.Warn}, {text.LabelError, e.Remark(r.Error), t.Bad}} {
		if why.text != "" {
			out = append(out, text.Truncate(t.Muted.Render(e.S(why.label)+"  ")+why.style.Render(text.CleanLine(why.text)), w))
		}
	}
	if stage := m.stage(); stage != "" {
		out = append(out, t.Accent.Render(text.Truncate(stage, w)))
	}
	out = append(out, m.bar(w, style), m.paceLine(w))
	if line := m.limit(w); line != "" {
		out = append(out, line)
	}
	if r.Summary != nil { // the account at the end has them
		return out
	}
	counters, foreseen := m.counters()
	return append(out, e.Counters(counters, foreseen, w)...)
}

func (m *Model) bar(w int, style theme.Style) string {
	e, p := m.env, m.feed.Value
	read, total, known := m.done()
	if known && total == 0 {
		return e.Theme.Muted.Render(e.S(text.NothingToDo))
	}
	if !known {
		return e.Theme.Muted.Render(e.S(text.NotPlanned))
	}
	if p.Replay.State == batch.Done {
		read = total
	}
	unit := text.OfEvents
	if m.early() && p.Stage == batch.Writing {
		unit = text.StageParts
	}
	label := "  " + e.Percent(read, total) + "  " + e.S(unit, e.Int(read), e.Int(total))
	room := max(w-text.Width(label), 4)
	return chart.Bar(e.Theme, read, total, room, style) + e.Theme.Bold.Render(label)
}

// paceLine says how fast it goes and how long it takes.
func (m *Model) paceLine(w int) string {
	e, p := m.env, m.feed.Value
	t, r := e.Theme, p.Replay
	started := time.Time{}
	if r.StartedAt != nil && (r.Mode == batch.Simulate || p.Stage == batch.Projecting) { // its first stage
		started = *r.StartedAt
	}
	fact := func(label text.M, value string) string {
		return t.Muted.Render(e.S(label)+" ") + t.Text.Render(value)
	}
	parts := []string{fact(text.LabelElapsed, m.elapsed())}
	rate, eta := text.None, text.None
	if r.State == batch.Running {
		if perSecond, ok := m.pace.rate(started); ok && p.Stage != batch.Writing {
			rate = e.S(text.PerSecond, e.Decimal(perSecond, decimals(perSecond)))
		}
		if done, all, known := m.done(); known {
			if left, ok := m.pace.left(all-done, started); ok {
				eta = e.Duration(left)
			}
		}
		parts = append(parts, fact(text.LabelLeft, eta), fact(text.LabelRate, rate))
	} else if r.FinishedAt != nil {
		parts = append(parts, fact(text.LabelFinished, e.Time(*r.FinishedAt)))
	}
	line := strings.Join(parts, "   ")
	room := min(w-text.Width(line)-2, 60, len(m.pace.rates))
	if room > 0 && r.State == batch.Running {
		return layout.Ends(line, chart.Spark(t, m.pace.rates, room, t.Accent), w)
	}
	return text.Pad(line, w)
}

func decimals(f float64) int {
	if f < 10 {
		return 1
	}
	return 0
}

func (m *Model) elapsed() string {
	e, r := m.env, m.feed.Value.Replay
	if r.StartedAt == nil {
		return text.None
	}
	end := e.Now()
	switch {
	case r.FinishedAt != nil:
		end = *r.FinishedAt
	case r.State != batch.Running && r.UpdatedAt != nil:
		end = *r.UpdatedAt
	}
	return e.Duration(end.Sub(*r.StartedAt))
}

// limit says how near the run is to the most effects that it may send.
func (m *Model) limit(w int) string {
	e, p := m.env, m.feed.Value
	most := p.Replay.Limits.Effects
	if most <= 0 || p.Replay.Mode == batch.Simulate {
		return ""
	}
	var sent int64
	for _, c := range p.Total.Effects {
		sent += c.Applied + c.Refused + c.Uncertain
	}
	sent = min(sent, most)
	style := e.Theme.Info
	if sent*10 >= most*9 {
		style = e.Theme.Warn
	}
	label := e.Theme.Muted.Render(e.S(text.LabelLimit) + " ")
	value := " " + e.S(text.OfEffects, e.Int(sent), e.Int(most))
	room := min(w-text.Width(label)-text.Width(value), 30)
	return label + chart.Bar(e.Theme, sent, most, max(room, 4), style) + style.Render(value)
}

// legend names the symbols of the map and counts them.
func (m *Model) legend() string {
	e := m.env
	counts := map[heatmap.State]int64{}
	for _, p := range m.feed.Value.Partitions {
		counts[m.stateOf(p)]++
	}
	left := text.PartWaiting
	switch m.feed.Value.Replay.State {
	case batch.Partial, batch.Failed, batch.Cancelled:
		left = text.PartLeft
	case batch.Queued, batch.Running, batch.Paused, batch.Done:
	}
	var parts []string
	for _, s := range []struct {
		state heatmap.State
		label text.M
	}{{heatmap.Done, text.PartDone}, {heatmap.Active, text.PartActive}, {heatmap.Waiting, left}, {heatmap.Error, text.PartError}} {
		if counts[s.state] == 0 {
			continue
		}
		symbol, _ := heatmap.Look(e.Theme, s.state)
		parts = append(parts, symbol+" "+e.Int(counts[s.state])+" "+e.S(s.label))
	}
	return strings.Join(parts, "  ")
}

// partitions draws the map, and below it the partition that is pointed at.
func (m *Model) partitions(w, h int) layout.Block {
	e, p := m.env, m.feed.Value
	out := layout.Block{e.Section(e.S(text.SectionPartitions), m.legend(), w)}
	if len(p.Partitions) == 0 {
		return append(out, e.Theme.Muted.Render(e.S(text.ProgressNoPartitions)))
	}
	cells := m.cells()
	m.grid = cells.Lay(w-2, max(h-2, 1))
	for _, line := range cells.View(e.Theme, w-2, max(h-2, 1)) {
		out = append(out, " "+line)
	}
	return append(out, m.pointed(w))
}

// pointed describes the partition, or the partitions, in the cell under the cursor.
func (m *Model) pointed(w int) string {
	e, parts := m.env, m.feed.Value.Partitions
	t := e.Theme
	from := m.cursor / max(m.grid.PerCell, 1) * max(m.grid.PerCell, 1)
	to := min(from+m.grid.PerCell, len(parts))
	if to-from > 1 {
		var done, read, events int64
		for _, p := range parts[from:to] {
			if _, all := m.inHand(p); all {
				done++
			}
			read += m.doneOf(p)
			events += p.Events
		}
		return text.Truncate(t.Muted.Render(e.S(text.PartitionGroup, from, to-1, e.Int(done), e.Int(int64(to-from)))+"  ")+
			t.Text.Render(e.Percent(min(read, events), events)), w)
	}
	p := parts[m.cursor]
	symbol, style := heatmap.Look(t, m.stateOf(p))
	line := style.Render(symbol) + t.Bold.Render(" #"+e.Int(int64(p.Index))) + "  " +
		t.Text.Render(e.Percent(m.doneOf(p), p.Events)+"  "+e.S(text.OfEvents, e.Int(m.doneOf(p)), e.Int(p.Events))) +
		t.Muted.Render("  "+e.Int(p.First)+" "+t.Right+" "+e.Int(p.Last))
	if p.Owner != "" {
		line += t.Accent.Render("  " + text.Clean(m.worker(p.Owner)))
	}
	if c, _ := m.inHand(p); c.Poison > 0 {
		line += t.Bad.Render("  " + e.N(text.CountPoison, c.Poison))
	}
	return text.Truncate(line, w)
}

func (m *Model) doneOf(p batch.Partition) int64 {
	c, done := m.inHand(p)
	if done {
		return p.Events
	}
	return max(0, min(c.Read, p.Events))
}

func (m *Model) effects(w int) layout.Block {
	e, p := m.env, m.feed.Value
	if p.Replay.Summary != nil { // the account at the end has them
		return nil
	}
	out := layout.Block{e.Section(e.S(text.SectionEffects), "", w)}
	return append(out, e.Effects(p.Total.Effects, p.Replay.Mode == batch.Simulate, w)...)
}

// hosts lists the processes that work, and how many partitions each has in hand.
func (m *Model) hosts(w int) layout.Block {
	e, p := m.env, m.feed.Value
	t := e.Theme
	out := layout.Block{e.Section(e.S(text.SectionHosts), "", w)}
	held := map[string]int64{}
	for _, part := range p.Partitions {
		if part.Owner != "" {
			held[part.Owner]++
		}
	}
	if len(p.Hosts) == 0 {
		return append(out, t.Warn.Render(text.Truncate(t.Warning+" "+e.S(text.NoHosts), w)))
	}
	names := screen.HostNames(p.Hosts, w/3)
	for _, h := range p.Hosts {
		symbol, style, state := t.Running, t.Good, e.N(text.SlicesInHand, held[h.ID])
		switch silence := e.Now().Sub(h.SeenAt); {
		case silence > screen.HostSilent:
			symbol, style, state = t.Failed, t.Bad, e.S(text.HostSilent, e.Age(silence))
		case held[h.ID] == 0:
			symbol, style, state = t.Dot, t.Muted, e.S(text.HostIdle)
		}
		line := style.Render(symbol) + " " + t.Text.Render(text.Pad(screen.HostName(h), names)) + "  " + style.Render(state)
		out = append(out, e.HostLine(line, h, w))
	}
	return out
}
