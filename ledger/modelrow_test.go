package ledger_test

// The ledger's statements over one row, as functions, guard by guard. The model check searches all that can
// happen with them; the conformance test compares them with the statements on a real database.

// guard is one condition of a statement, or one rule about when something may be done. A variant of the model
// lacks one. (Conditions that others back up are not listed: lacking them is not wrong, only later or dearer.)
type guard int

const (
	none guard = iota
	retakeOnlyReserved
	retakeOnlyOwnerless
	retakeOnlyIfDeduplicated // or nothing left, or a person allowed it
	retakeOnlySameContent
	retakeOnlyInWindow
	retakeOnlyWithAttemptsLeft
	permissionOnlyWhileFree
	windowOfFirstAttempt
	callOnlyWhileYoung
	callOnlyInWindow
	callOnceWhenInDoubt
	writeBackOnlyByOwner
	writeBackOnlyOnReserved
	unsentKeepsEarlierDoubt
	sweepOnlyOwnerless
	sweepOnlyReserved
	sweepOnlyHopeless
	sweepWhatIsHopeless
	decideOnlyUncertain
	decideOnlyAfterQuarantine
	decideOnlyWhatWasSeen
	foreignRetakeByPolicy   // trigger efeito_aplicado_retomada
	foreignRetakeTakesToken // the same
	foreignDeleteGivesBack  // trigger efeito_aplicado_apagada
	foreignDoubtOnlyOfOwn   // trigger efeito_aplicado_tardia
	guards                  // how many
)

// variants say what each guard is, and in which scenario its absence shows.
var variants = [guards]struct{ guard, scenario string }{
	retakeOnlyReserved:         {"reserve: retakes only what is reserved", "release"},
	retakeOnlyOwnerless:        {"reserve: retakes only what is given back or stale", "release, windowed"},
	retakeOnlyIfDeduplicated:   {"reserve: retakes what may have left only if the provider deduplicates", "keep"},
	retakeOnlySameContent:      {"reserve: retakes what may have left only with the same content", "release"},
	retakeOnlyInWindow:         {"reserve and call: both only inside the deduplication window", "release, windowed"},
	retakeOnlyWithAttemptsLeft: {"reserve: retakes only while attempts are left", "release"},
	permissionOnlyWhileFree:    {"reserve: a permission counts only while the row is given back", "keep"},
	windowOfFirstAttempt:       {"reserve: a retry keeps the window of the first attempt", "release, windowed"},
	callOnlyWhileYoung:         {"call: only while the reservation is young enough", "keep"},
	callOnlyInWindow:           {"call: only while the window is open", "release, windowed"},
	callOnceWhenInDoubt:        {"call: not repeated under one reservation once it may have left", "keep"},
	writeBackOnlyByOwner:       {"write-back: only by the owner's token", "keep"},
	writeBackOnlyOnReserved:    {"write-back: only on a reservation", "release, beside a consumer without tokens"},
	unsentKeepsEarlierDoubt:    {"give back: an earlier attempt may still have left", "release"},
	sweepOnlyOwnerless:         {"sweep: only what is given back or stale", "keep"},
	sweepOnlyReserved:          {"sweep: only what is reserved", "keep"},
	sweepOnlyHopeless:          {"sweep: leaves what a person allowed to send", "keep"},
	sweepWhatIsHopeless:        {"sweep: moves what nobody may retake", "keep"},
	decideOnlyUncertain:        {"decide: only what is uncertain", "keep"},
	decideOnlyAfterQuarantine:  {"decide: only after the quarantine", "keep"},
	decideOnlyWhatWasSeen:      {"decide: only the row that was seen", "keep"},
	foreignRetakeByPolicy:      {"trigger: a consumer without tokens retakes only what may be sent again", "release, beside a consumer without tokens"},
	foreignRetakeTakesToken:    {"trigger: and takes the former owner's token away", "release, beside a consumer without tokens"},
	foreignDeleteGivesBack:     {"trigger: and gives back what it deletes of ours", "release, beside a consumer without tokens"},
	foreignDoubtOnlyOfOwn:      {"trigger: and doubts only its own", "keep, beside a consumer without tokens"},
}

type modelState byte

const (
	absent modelState = iota
	reserved
	done
	doubtful
)

type modelPolicy byte

const (
	unknownPolicy modelPolicy = iota
	release
	keep
	lookUp
)

type modelWindow byte

const (
	noWindow modelWindow = iota
	windowOpen
	windowOver // or too near its end for a call
)

const modelMaxAttempts = 2

// modelRow is a row of efeito_aplicado.
type modelRow struct {
	state      modelState
	policy     modelPolicy
	window     modelWindow
	owner      int8 // token; 0: nobody, or a consumer without tokens
	attempts   int8
	left, free bool
	resend     bool
	ours       bool // Reprise attempted it
	stale      bool
	recent     bool // the attempt began less than a quarantine ago
	quarantine bool // of an uncertain row, not over
	content    byte // 0: unknown
}

// caller is what a reservation is asked for with.
type caller struct {
	token    int8
	content  byte
	policy   modelPolicy
	windowed bool
}

func (c caller) freshWindow() modelWindow {
	if c.windowed {
		return windowOpen
	}
	return noWindow
}

// effectiveWindow is the window that counts for a retry: a consumer without tokens stored none, so the caller's
// counts from the row's creation.
func (r modelRow) effectiveWindow(c caller) modelWindow {
	switch {
	case r.policy != unknownPolicy:
		return r.window
	case c.windowed && r.window == noWindow:
		return windowOpen
	case c.windowed:
		return r.window
	default:
		return noWindow
	}
}

func (r modelRow) effectivePolicy(c caller) modelPolicy {
	if r.policy == unknownPolicy {
		return c.policy
	}
	return r.policy
}

func (r modelRow) ownedBy(token int8) bool {
	return r.state == reserved && r.owner == token && token != 0 && !r.free
}

// reserve is reserveSQL and the recognition of the own token.
func (r *modelRow) reserve(c caller, without guard) (mine bool) {
	if r.ownedBy(c.token) {
		return true
	}
	if r.state == absent {
		*r = modelRow{state: reserved, policy: c.policy, window: c.freshWindow(), owner: c.token, attempts: 1, left: true, ours: true, recent: true, content: c.content}
		return true
	}
	if !r.retakable(c, without) {
		return false
	}
	switch {
	case !r.left:
		r.window = c.freshWindow()
	case without == windowOfFirstAttempt:
		r.window = noWindow // one that lasts longer than the provider's
	default:
		r.window = r.effectiveWindow(c)
	}
	if r.left {
		r.policy = r.effectivePolicy(c)
	} else {
		r.policy = c.policy
	}
	r.resend = r.resend && r.free
	r.state, r.owner, r.content = reserved, c.token, c.content
	r.attempts++
	r.left, r.free, r.ours, r.stale, r.recent, r.quarantine = true, false, true, false, true, false
	return true
}

func (r modelRow) retakable(c caller, without guard) bool {
	if r.state != reserved && without != retakeOnlyReserved {
		return false
	}
	if !r.free && !r.stale && without != retakeOnlyOwnerless {
		return false
	}
	if !r.left {
		return true
	}
	if r.content != 0 && r.content != c.content && without != retakeOnlySameContent {
		return false
	}
	return r.resend && (r.free || without == permissionOnlyWhileFree) || r.retryAllowed(c, without)
}

// retryAllowed: an automatic attempt may follow one that may have left.
func (r modelRow) retryAllowed(c caller, without guard) bool {
	return (r.effectivePolicy(c) == release || without == retakeOnlyIfDeduplicated) &&
		(r.attempts < modelMaxAttempts || without == retakeOnlyWithAttemptsLeft) &&
		(r.effectiveWindow(c) != windowOver || without == retakeOnlyInWindow)
}

func (r modelRow) fenced(token int8, without guard) bool {
	return r.state != absent &&
		(r.owner == token || without == writeBackOnlyByOwner) &&
		(r.state == reserved || without == writeBackOnlyOnReserved)
}

func (r *modelRow) conclude(token int8, without guard) {
	if r.fenced(token, without) {
		r.state, r.resend = done, false
	}
}

func (r *modelRow) giveBack(token int8, without guard) {
	if !r.fenced(token, without) {
		return
	}
	r.owner, r.free, r.stale = 0, true, false
	r.attempts--
	r.left = r.attempts > 0 && without != unsentKeepsEarlierDoubt
	r.state = reserved
}

func (r *modelRow) doubt(token int8, without guard) {
	if !r.fenced(token, without) {
		return
	}
	r.owner, r.resend, r.stale = 0, false, false
	retry := r.policy == release &&
		r.attempts < modelMaxAttempts && r.window != windowOver // else a sweep would find it; this is sooner
	if retry {
		r.state, r.free = reserved, true
	} else {
		r.state, r.free, r.quarantine = doubtful, false, true
	}
}

// sweep is what a sweep does to the row; it reports whether it moved it.
func (r *modelRow) sweep(c caller, without guard) bool {
	if r.state != reserved && (without != sweepOnlyReserved || r.state == absent) {
		return false
	}
	if !r.free && !r.stale && without != sweepOnlyOwnerless {
		return false
	}
	allowed := r.resend && r.free && without != sweepOnlyHopeless
	if !r.left || allowed || r.retryAllowed(c, none) || without == sweepWhatIsHopeless {
		return false
	}
	r.state, r.owner, r.free, r.resend, r.quarantine, r.stale = doubtful, 0, false, false, r.recent, false
	return true
}

type verdict byte

const (
	confirm verdict = iota
	resend
	discard
)

func (r *modelRow) decide(v verdict, seen bool, without guard) bool {
	if r.state == absent || r.state != doubtful && without != decideOnlyUncertain ||
		!seen && without != decideOnlyWhatWasSeen ||
		r.quarantine && without != decideOnlyAfterQuarantine {
		return false
	}
	r.quarantine = false
	if v != resend {
		r.state = done
		return true
	}
	r.state, r.owner, r.free, r.resend, r.ours, r.stale = reserved, 0, true, true, true, false
	return true
}

// The statements of a consumer without tokens, and what the triggers make of them.

func (r *modelRow) foreignReserve(deduplicated bool, without guard) (mine bool) {
	if r.state == absent {
		*r = modelRow{state: reserved, attempts: 1, left: true, recent: true}
		return true
	}
	if r.state != reserved || !r.stale || !deduplicated {
		return false
	}
	forbidden := r.policy == keep || r.policy == lookUp || r.policy == release && r.window == windowOver
	if r.left && forbidden && without != foreignRetakeByPolicy {
		return false
	}
	if without != foreignRetakeTakesToken {
		r.owner = 0
	}
	r.attempts++
	r.left, r.free, r.stale, r.recent = true, false, false, true
	return true
}

func (r *modelRow) foreignComplete() {
	if r.state != absent {
		r.state = done
	}
}

func (r *modelRow) foreignDelete(without guard) {
	switch {
	case r.state != reserved:
	case without == foreignDeleteGivesBack, r.owner == 0 && !r.ours:
		*r = modelRow{}
	case r.owner == 0:
		r.free, r.stale = true, true
	}
}

func (r *modelRow) foreignDoubt(without guard) {
	if r.state == absent || without != foreignDoubtOnlyOfOwn && (r.state == done || r.state == reserved && r.owner != 0) {
		return
	}
	r.quarantine = r.quarantine || r.state != doubtful
	r.state, r.stale = doubtful, false
}
