package ledger_test

// The steps of everything around the executors in the model check.

// consumer is a consumer without tokens: one attempt, in time.
func (s *search) consumer(w world) {
	switch e := w.foreign; e.at {
	case idle:
		if e.wrote {
			return
		}
		n := w
		before := n.row
		if n.row.foreignReserve(s.policy == release, s.without) {
			n.foreign.at, n.holder = calling, -1
			if before.state == absent && s.windowed {
				n.window = windowOpen
			}
			s.to(w, n, "consumer reserves", "")
		}
	case calling:
		n := w
		n.foreign.at, n.foreign.answer = reporting, acted
		bad := n.deliver(s, 1, true)
		s.to(w, n, "consumer calls", bad)
		n.foreign.answer = ambiguous
		s.to(w, n, "consumer calls, no answer", bad)
		n = w
		n.foreign.at, n.foreign.answer = reporting, ambiguous
		s.to(w, n, "consumer calls, nothing happens", "")
	case reporting:
		n := w
		n.foreign = executor{wrote: true}
		switch {
		case e.answer == acted:
			n.row.foreignComplete()
		case s.policy == release:
			n.row.foreignDelete(s.without)
			if n.row.state == absent {
				n.first, n.effective = 0, 0 // what it forgets of its own nobody can know
			}
		default:
			n.row.foreignDoubt(s.without)
		}
		s.to(w, n, "consumer reports", "")
		n = w
		n.foreign = executor{wrote: true}
		s.to(w, n, "consumer dies", "")
	}
}

// clock lets time pass. A call that began in time has ended by then: that is what its deadline and the margin
// are for. So has a request on the wire.
func (s *search) clock(w world) {
	busy := w.foreign.at == calling || w.wire != 0 && w.wireTime
	for _, e := range w.ex {
		busy = busy || e.at == calling && e.timely
	}
	if !busy && (w.row.state == reserved && !w.row.stale || !w.ex[0].old && w.ex[0].at > asking || !w.ex[1].old && w.ex[1].at > asking) {
		n := w
		n.row.stale = n.row.state == reserved
		n.row.recent, n.row.quarantine = false, false
		for i := range n.ex {
			n.ex[i].old = n.ex[i].at > asking
		}
		s.to(w, n, "the sweep age passes", "")
	}
	if !busy && (w.row.quarantine || w.row.recent && w.row.state == reserved && w.row.free) {
		n := w
		n.row.recent, n.row.quarantine = false, false
		s.to(w, n, "the quarantine passes", "")
	}
	if w.window == windowOpen {
		n := w
		n.window = windowOver
		if n.row.window == windowOpen || n.row.policy == unknownPolicy && n.row.state != absent {
			n.row.window = windowOver
		}
		for i := range n.ex {
			n.ex[i].over = n.ex[i].windowed
		}
		s.to(w, n, "too late for a call in the window", "")
	}
	if !busy && w.window == windowOver && !w.closed {
		n := w
		n.closed = true
		s.to(w, n, "the provider forgets the key", "")
	}
}

func (s *search) network(w world) {
	if w.wire == 0 {
		return
	}
	n := w
	n.wire, n.wireTime, n.wireAuto = 0, false, false
	s.to(w, n, "the request on the wire is lost", "")
	bad := n.deliver(s, w.wire, w.wireAuto)
	s.to(w, n, "the request on the wire arrives", bad)
}

func (s *search) sweepAndReview(w world) {
	n := w
	if n.row.sweep(s.caller(0, 0), s.without) {
		bad := ""
		if w.row.resend && w.row.free {
			bad = "P12: what a person decided is undone"
		}
		s.to(w, n, "sweep", bad)
	}
	if w.row.state != absent && !w.seen {
		n = w
		n.seen = true
		s.to(w, n, "a reviewer looks", "")
	}
	if w.decided == maxDecisions {
		return
	}
	for v, name := range []string{"confirm", "resend", "discard"} {
		n = w
		if !n.row.decide(verdict(v), w.seen, s.without) {
			continue
		}
		n.decided++
		if verdict(v) == resend {
			n.permitted++
		}
		bad := ""
		switch {
		case !w.seen:
			bad = "P11: decided on a row that nobody saw"
		case w.wire != 0 || w.ex[0].at == calling || w.ex[1].at == calling || w.foreign.at == calling:
			bad = "P6: decided while a call is alive"
		}
		s.to(w, n, "a reviewer decides: "+name, bad)
	}
}
