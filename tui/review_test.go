package tui

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/fake"
	"reprise.dev/reprise/tui/screen"
)

// other decides as another reviewer, on the row as it is now.
func (r *rig) other(key string, v ledger.Verdict) {
	r.t.Helper()
	e, found, err := r.store.UncertainByKey(context.Background(), key)
	if err != nil || !found {
		r.t.Fatalf("no uncertain effect %s: %v", key, err)
	}
	if _, err := r.store.DecideAs("revisor_b", ledger.Decision{Key: key, Verdict: v, Note: "seen", Seen: e.Version, Force: true}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) decisions(key string) []ledger.DecisionRecord {
	r.t.Helper()
	records, err := r.store.Decisions(context.Background(), key)
	if err != nil {
		r.t.Fatal(err)
	}
	return records
}

func TestDecideBringsTheNextItem(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Review, "")
	r.press("down", "c")
	r.sees(`"ev-1043:notificar-vendedor"`, "It went out: confirm?")
	r.press("enter", "enter") // without a note
	r.sees("Say why")
	r.press(`"provider log"`, "enter", "enter")
	r.sees("ev-1043:notificar-vendedor confirmed.", "▌ ev-1044")
	r.seesNot("  ev-1043  ")
	got := r.decisions("ev-1043:notificar-vendedor")
	if len(got) != 1 || got[0].Verdict != ledger.Confirm || got[0].Note != "provider log" || got[0].Origin != "bastion-1" {
		t.Fatalf("recorded: %+v", got)
	}
	r.advance(10 * time.Second)
	r.sees("▌ ev-1044", "/41")
}

func TestTheDialogShowsWhatIsDecided(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Review, "")
	r.advance(time.Second)
	r.press("r")
	r.sees(`"ev-1042:notificar-vendedor"`, "the call left and no answer came", `{"pedidoId":"P-1042","valorCentavos":4713`)
}

func TestDecideInTheDetailShowsTheNextDetail(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Review, "")
	r.press("enter")
	r.advance(time.Second)
	r.sees(`"ev-1042:notificar-vendedor"`, "valorCentavos")
	r.press("d", `"duplicate"`, "enter", "enter")
	r.advance(time.Second)
	r.sees(`"ev-1043:notificar-vendedor"`, "valorCentavos")
}

func TestAnotherReviewersDecisionAppearsAsSuch(t *testing.T) {
	r := newRig(t, rigOptions{w: 140, h: 30})
	r.open(screen.Review, "")
	r.press("down")
	r.advance(time.Second)
	r.other("ev-1043:notificar-vendedor", ledger.Discard)
	r.advance(10 * time.Second)
	r.sees("▌✓ev-1043", "discarded by revisor_b at 14:02")
	r.press("c")
	if len(r.app.modals) != 0 {
		t.Fatal("a row that somebody else settled can still be decided")
	}
	r.press("down")
	r.advance(time.Minute)
	r.seesNot("ev-1043 ")
}

func TestOfASettledRowNothingIsSaidOfItsContent(t *testing.T) {
	r := newRig(t, rigOptions{w: 120, h: 40})
	r.open(screen.Review, "")
	r.advance(time.Second)
	r.sees("What was to be sent")
	r.other("ev-1042:notificar-vendedor", ledger.Confirm)
	r.advance(16 * time.Second)
	r.sees("confirmed by revisor_b", "The event")
	r.seesNot("What was to be sent")
}

func TestTheLoserOfARaceSeesWhoDecided(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Review, "")
	r.press("r", `"not in the log"`, "enter")
	r.other("ev-1042:notificar-vendedor", ledger.Confirm)
	r.press("enter")
	r.sees("confirmed by revisor_b at 14:02")
	if got := r.decisions("ev-1042:notificar-vendedor"); len(got) != 1 {
		t.Fatalf("%d decisions on one row", len(got))
	}
	if got := r.decisions("ev-1043:notificar-vendedor"); len(got) != 0 {
		t.Fatal("the decision fell on the next row")
	}
}

func TestTheDialogKeepsItsRowWhateverMovesBehindIt(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Review, "")
	r.press("down", "down", "d", `"wrong number"`)
	r.other("ev-1042:notificar-vendedor", ledger.Confirm)
	r.other("ev-1043:notificar-vendedor", ledger.Confirm)
	r.advance(30 * time.Second)
	r.sees(`"ev-1044:notificar-vendedor"`)
	r.press("enter", "enter")
	if got := r.decisions("ev-1044:notificar-vendedor"); len(got) != 1 || got[0].Verdict != ledger.Discard {
		t.Fatalf("ev-1044: %+v", got)
	}
	for _, key := range []string{"ev-1045:publicar-extrato", "ev-1046:notificar-vendedor"} {
		if len(r.decisions(key)) != 0 {
			t.Fatalf("decided %s, which was not shown", key)
		}
	}
}

func TestSelectionFollowsItsRow(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Review, "")
	r.press("down", "down", "down", "down")
	r.sees("▌ ev-1046")
	r.other("ev-1042:notificar-vendedor", ledger.Confirm)
	r.other("ev-1044:notificar-vendedor", ledger.Confirm)
	r.advance(time.Minute)
	r.sees("▌ ev-1046")
}

// lossy records decisions but loses the answer.
type lossy struct{ *fake.Store }

func (l lossy) Decide(ctx context.Context, d ledger.Decision) (ledger.DecisionRecord, error) {
	if _, err := l.Store.Decide(ctx, d); err != nil {
		return ledger.DecisionRecord{}, err
	}
	return ledger.DecisionRecord{}, errors.New("unexpected EOF")
}

func TestALostAnswerIsLookedUp(t *testing.T) {
	r := newRig(t, rigOptions{data: func(s *fake.Store) Data { return lossy{s} }})
	r.open(screen.Review, "")
	r.press("c", `"seen"`, "enter", "enter")
	r.sees("ev-1042:notificar-vendedor confirmed.")
	r.seesNot("EOF")
}

// mute does not answer once a decision was tried.
type mute struct {
	*fake.Store
	tried *bool
}

func (m mute) Decide(context.Context, ledger.Decision) (ledger.DecisionRecord, error) {
	*m.tried = true
	return ledger.DecisionRecord{}, errors.New("unexpected EOF")
}

func (m mute) UncertainByKey(ctx context.Context, key string) (ledger.UncertainEffect, bool, error) {
	if *m.tried {
		return ledger.UncertainEffect{}, false, errors.New("connection refused")
	}
	return m.Store.UncertainByKey(ctx, key)
}

func TestAnUnknownOutcomeIsSaid(t *testing.T) {
	r := newRig(t, rigOptions{data: func(s *fake.Store) Data { return mute{s, new(bool)} }})
	r.open(screen.Review, "")
	r.press("c", `"seen"`, "enter", "enter")
	r.sees("whether it was recorded is not known")
	if len(r.app.modals) != 1 {
		t.Fatal("the dialog is gone, with the note in it")
	}
}

func TestQuarantineIsWaitedForOrForced(t *testing.T) {
	r := newRig(t, rigOptions{world: fake.Options{Uncertain: 8}, late: -26*time.Hour + 5*time.Minute}) // the first has just become uncertain
	r.open(screen.Review, "")
	r.advance(time.Second)
	r.sees("01:39")
	r.press("c", `"seen"`, "enter", "enter", "enter")
	r.sees("A call may still be alive", "In quarantine for")
	if len(r.decisions("ev-1042:notificar-vendedor")) != 0 {
		t.Fatal("decided in quarantine")
	}
	r.press("shift+tab", "right", "enter", "enter")
	got := r.decisions("ev-1042:notificar-vendedor")
	if len(got) != 1 || !got[0].Forced {
		t.Fatalf("not forced: %+v", got)
	}
	before := r.app.drawn
	r.press("g")
	r.frame()
	r.advance(3 * time.Second)
	r.frame()
	if r.app.drawn == before {
		t.Fatal("the countdown stands still")
	}
}

func TestBulkMarked(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Review, "")
	r.press(" ", " ", "down", " ")
	r.sees("3 marked", "●ev-1042", "●ev-1043", "●ev-1045")
	r.press("d")
	r.sees("3 effects must not go out any more", "2  notificar-vendedor", "1  publicar-extrato")
	r.press(`"ticket 7"`, "enter", "enter")
	r.advance(time.Second)
	r.sees("3 decided")
	for _, key := range []string{"ev-1042:notificar-vendedor", "ev-1043:notificar-vendedor", "ev-1045:publicar-extrato"} {
		if len(r.decisions(key)) != 1 {
			t.Fatalf("%s was not decided", key)
		}
	}
	if len(r.decisions("ev-1044:notificar-vendedor")) != 0 {
		t.Fatal("decided a row that was not marked")
	}
}

func TestBulkByFilterTakesWhatMatchesAndNothingElse(t *testing.T) {
	r := newRig(t, rigOptions{world: fake.Options{Uncertain: 400}})
	r.open(screen.Review, "")
	r.press("K", "K") // the second kind
	r.advance(time.Second)
	r.press("A")
	r.sees("57 marked")
	r.press("d", `"all asked for"`, "enter")
	r.press("enter", "enter")
	r.sees("Type 57")
	r.press(`"57"`, "enter")
	r.other("ev-1052:publicar-extrato", ledger.Confirm)
	r.press("enter")
	r.advance(time.Second)
	r.sees("56 decided", "1 settled by others meanwhile")
	r.advance(30 * time.Second)
	r.sees("Nothing matches the filter; esc shows all.") // of other kinds there are some
	r.press("esc")
	r.advance(time.Second)
	r.seesNot("Nothing matches")
	counts, err := r.store.UncertainCounts(context.Background(), ledger.UncertainQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counts {
		if c.Kind == "publicar-extrato" {
			t.Fatalf("%d of the kind are left", c.Effects)
		}
	}
}

// TestTheQueueIsNarrowedByReasonAndRun: by keys and by commands; the tally counts what is shown, and nothing else is
// marked.
func TestTheQueueIsNarrowedByReasonAndRun(t *testing.T) {
	r := newRig(t, rigOptions{w: 120, h: 40})
	r.open(screen.Review, "")
	r.sees("42 wait")
	r.press("w")
	r.advance(time.Second)
	r.sees("/abandonada", "7 wait  7 abandonada")
	r.press("w", "w")
	r.advance(time.Second)
	r.sees("/sem-recibo", "7 wait  7 sem-recibo")
	r.press("esc")
	r.advance(time.Second)
	r.sees("42 wait")
	r.press(":", `"run ao-vivo"`, "enter")
	r.advance(time.Second)
	r.sees("/ao-vivo", "5 wait")
	r.press("A")
	r.sees("5 marked")
	r.press("esc", "e") // of all runs again
	r.advance(time.Second)
	r.sees("42 wait")
	r.press("e")
	r.advance(time.Second)
	r.sees("/aplicar-2026-10-14-v2", "37 wait")
	r.press(":", `"reason resposta-503"`, "enter")
	r.advance(time.Second)
	r.sees("7 wait  7 resposta-503")
	r.press("/", `"105"`, "enter")
	r.advance(time.Second)
	r.sees("/resposta-503 /aplicar-2026-10-14-v2 /105", "2 wait  2 resposta-503")
}

func TestMarksFallWithTheFilter(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Review, "")
	r.press(" ", " ")
	r.sees("2 marked")
	r.press("/", `"1050"`, "enter")
	r.advance(time.Second)
	r.sees("ev-1050")
	r.seesNot("marked", "ev-1042")
	r.press("esc")
	r.advance(time.Second)
	r.sees("ev-1042")
}

func TestHugeContentIsShownInPart(t *testing.T) {
	r := newRig(t, rigOptions{})
	big := json.RawMessage(`{"texto":"` + strings.Repeat("comissão ", 2<<20) + `"}`)
	r.store.SetContent("ev-1042:notificar-vendedor", big)
	r.open(screen.Review, "")
	r.press("enter")
	r.advance(time.Second)
	start := time.Now()
	r.app.dirty = true
	r.frame()
	t.Logf("a frame beside %d MB: %v", len(big)>>20, time.Since(start))
	r.press("end")
	for range 60 {
		r.press("pgup")
	}
	for range 8 {
		if strings.Contains(r.frame(), "the first 4.0 kB of") {
			return
		}
		r.press("pgdown")
	}
	t.Fatal("it is not said that there is more")
}

func TestAHundredThousandRows(t *testing.T) {
	r := newRig(t, rigOptions{world: fake.Options{Uncertain: 100_000}, w: 120, h: 40})
	r.open(screen.Review, "")
	var worst, sum time.Duration
	const presses = 1500
	for i := range presses {
		start := time.Now()
		r.press("down")
		r.app.View()
		took := time.Since(start)
		worst, sum = max(worst, took), sum+took
		if i%50 == 0 {
			r.advance(100 * time.Millisecond)
			r.frame()
		}
	}
	r.sees("▌ ev-" + strconv.Itoa(1042+presses))
	t.Logf("key to frame: mean %v, worst %v", sum/presses, worst)
	if most := r.store.MostRows(); most > 181 {
		t.Fatalf("read %d rows at once", most)
	}
	r.press("G")
	r.advance(time.Second)
	r.sees("▌ ev-" + strconv.Itoa(1042+99_999))
	for range 400 {
		r.press("up")
	}
	r.advance(time.Second)
	r.sees("▌ ev-" + strconv.Itoa(1042+99_599))
	r.press("g")
	r.advance(time.Second)
	r.sees("▌ ev-1042 ")
}

// meddling is a world in which something happens between a decision and its answer.
type meddling struct {
	*fake.Store
	meanwhile func()
}

func (m *meddling) Decide(ctx context.Context, d ledger.Decision) (ledger.DecisionRecord, error) {
	record, err := m.Store.Decide(ctx, d)
	m.meanwhile()
	return record, err
}

// TestOnesOwnDecisionsAreNoSurprise: the queue is read again between a decision from here and its answer; the row that left
// it is not taken for one that somebody else settled. One that somebody else did settle still is.
func TestOnesOwnDecisionsAreNoSurprise(t *testing.T) {
	m := &meddling{meanwhile: func() {}}
	r := newRig(t, rigOptions{data: func(s *fake.Store) Data {
		m.Store = s
		return m
	}})
	m.meanwhile = func() { r.advance(10 * time.Second) }
	r.open(screen.Review, "")
	r.press("c", `"seen"`, "enter", "enter")
	r.seesNot("confirmed by", "▲ ev-")
	r.press(" ", " ", " ", "d", `"ticket 7"`, "enter", "enter")
	r.sees("3 decided")
	r.seesNot("discarded by", "▲ ev-")
	r.other("ev-1046:notificar-vendedor", ledger.Confirm)
	r.advance(10 * time.Second)
	r.sees("confirmed by")
}
