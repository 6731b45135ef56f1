package ledger_test

// The steps of the executors in the model check.

func (s *search) executor(w world, who int) {
	e := w.ex[who]
	name := string(rune('A' + who))
	if e.at != idle && w.faults < s.faults {
		n := w
		n.faults++
		n.ex[who] = executor{}
		s.to(w, n, name+" dies", "")
	}
	switch e.at {
	case idle:
		if w.tokens < s.reserving {
			n := w
			n.tokens++
			n.ex[who] = executor{at: asking, token: n.tokens}
			s.reserve(w, n, who, name+" reserves")
		}
	case asking:
		s.reserve(w, w, who, name+" asks again")
	case owning:
		s.begin(w, who, name)
	case calling:
		s.finishCall(w, who, name)
	case reporting:
		s.report(w, who, name)
	}
}

// reserve executes a reservation: its reply arrives, or is lost, or the statement itself is late.
func (s *search) reserve(from, w world, who int, action string) {
	n := w
	n.reserved(s, who, n.ex[who].token, true)
	s.to(from, n, action, "")
	if w.faults < s.faults {
		n = w
		n.faults++
		n.reserved(s, who, n.ex[who].token, false)
		s.to(from, n, action+", reply lost", "")
		if w.late.at == idle {
			n = w
			n.faults++
			n.late = late{at: asking, who: int8(who), token: n.ex[who].token, content: s.contents[who]}
			s.to(from, n, action+", statement late", "")
		}
	}
}

// reserved executes the statement; heard says whether the executor gets the reply.
func (w *world) reserved(s *search, who int, token int8, heard bool) {
	before := w.row
	mine := w.row.reserve(s.caller(who, token), s.without)
	if w.row != before {
		w.holder = token
	}
	if w.row != before && s.windowed && (before.state == absent || !before.left) {
		w.window, w.closed = windowOpen, false
	}
	if !heard {
		return
	}
	e := executor{}
	if mine {
		e = executor{at: owning, token: token, human: w.row.resend, retry: w.row.attempts > 1 && !w.row.resend, old: w.row.stale,
			windowed: w.row.window != noWindow, over: w.row.window == windowOver}
	}
	w.ex[who] = e
}

func (s *search) begin(w world, who int, name string) {
	e := w.ex[who]
	young := !e.old && !(e.retry && e.over)
	if !e.old || s.without == callOnlyWhileYoung {
		if !(e.retry && e.over) || s.without == callOnlyInWindow || s.without == retakeOnlyInWindow {
			n := w
			n.ex[who].at, n.ex[who].timely = calling, young
			bad := ""
			if taken := w.row.state == doubtful || w.row.state == reserved && !w.row.ownedBy(e.token); taken && !e.old {
				bad = "P5: a young reservation was taken from its owner"
			}
			s.to(w, n, name+" calls", bad)
		}
	}
	n := w
	n.ex[who].at, n.ex[who].answer = reporting, unsent
	s.to(w, n, name+" gives up before it calls", "")
}

// finishCall ends a call in each way there is.
func (s *search) finishCall(w world, who int, name string) {
	e := w.ex[who]
	content := s.contents[who]
	end := func(n world, a answer, action, bad string) {
		n.ex[who].at, n.ex[who].answer, n.ex[who].timely = reporting, a, false
		s.to(w, n, name+action, bad)
		if a == ambiguous && s.without == callOnceWhenInDoubt {
			n.ex[who].at = owning
			s.to(w, n, name+action+" and tries again", bad)
		}
	}
	sent := w
	sent.sent = true
	if !e.human {
		sent.automatic++
	}
	delivered := sent
	bad := delivered.deliver(s, content, !e.human)
	end(delivered, acted, ": the provider acts", bad)
	end(delivered, ambiguous, ": the provider acts, no answer", bad)
	end(sent, ambiguous, ": no answer, nothing happened", "")
	end(w, refusedIt, ": refused", "")
	n := w
	n.ex[who].at = owning
	s.to(w, n, name+": not sent", "")
	if w.wire == 0 {
		n = sent
		n.wire, n.wireTime, n.wireAuto = content, e.timely, !e.human
		end(n, ambiguous, ": no answer, still on the wire", "")
	}
}

// deliver is what the provider does with a request.
func (w *world) deliver(s *search, content byte, automatic bool) (bad string) {
	if w.first != 0 && content != w.first && automatic {
		bad = "P2: another content was sent under the same key"
	}
	if w.first == 0 {
		w.first = content
	}
	if deduplicates := s.policy == release && !w.closed; !deduplicates || w.effective == 0 {
		w.effective++
	}
	return bad
}

func (s *search) report(w world, who int, name string) {
	e := w.ex[who]
	n := w
	bad := n.written(s, e.token, e.answer, e.old || e.wrote)
	lost := n
	n.ex[who] = executor{}
	s.to(w, n, name+" reports", bad)
	if w.faults < s.faults {
		lost.faults++
		lost.ex[who].wrote = true
		s.to(w, lost, name+" reports, reply lost", bad)
		if w.late.at == idle {
			n = w
			n.faults++
			n.late = late{at: reporting, token: e.token, answer: e.answer}
			n.ex[who].wrote = true // it may be, from now on
			s.to(w, n, name+" reports, statement late", "")
		}
	}
}

// written executes a write-back. excused: the owner may have lost the reservation, or has written already.
func (w *world) written(s *search, token int8, a answer, excused bool) (bad string) {
	before := w.row
	switch a {
	case acted, refusedIt:
		w.row.conclude(token, s.without)
	case unsent:
		w.row.giveBack(token, s.without)
	default:
		w.row.doubt(token, s.without)
	}
	switch {
	case w.row != before && w.holder != token:
		return "P5: changed by somebody who does not own it"
	case !excused && (before.state == doubtful || before.state == reserved && before.owner != token):
		return "P5: a young reservation was taken from its owner"
	}
	return ""
}

func (s *search) lateStatement(w world) {
	switch w.late.at {
	case asking:
		n := w
		n.late = late{}
		n.reserved(s, int(w.late.who), w.late.token, false)
		s.to(w, n, "late reservation arrives", "")
	case reporting:
		n := w
		n.late = late{}
		bad := n.written(s, w.late.token, w.late.answer, true)
		s.to(w, n, "late report arrives", bad)
	}
	if w.late.at != idle {
		n := w
		n.late = late{}
		s.to(w, n, "late statement is lost", "")
	}
}
