package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/fake"
	"reprise.dev/reprise/tui/screen"
)

func (r *rig) commanded(want ...string) {
	r.t.Helper()
	if got := r.store.Commanded(); strings.Join(got, ";") != strings.Join(want, ";") {
		r.t.Fatalf("commanded %q, want %q", got, want)
	}
}

func TestAReplayIsQueuedFromProgressToo(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Progress, "aplicar-2026-10-14-v2")
	r.press("n")
	r.sees("New replay", "Nothing is queued before")
}

func TestRevertIsSignedWithTheRunsID(t *testing.T) {
	r := newRig(t, rigOptions{w: 100, h: 40})
	r.open(screen.Progress, "aplicar-2026-10-14-v1")
	r.press("R")
	r.sees("Revert the state that aplicar-2026-10-14-v1 wrote?", "Effects cannot be undone", "type aplicar-2026-10-14-v1")
	r.press("enter", "enter")
	r.sees("That is not aplicar-2026-10-14-v1.")
	r.commanded()
	r.press(`"aplicar-2026-10-14-v1"`, "enter", "enter")
	r.advance(time.Second)
	r.sees("4,781 orders are as before", "31 were changed by others")
	r.commanded("revert aplicar-2026-10-14-v1")
	r.open(screen.Progress, "simular-2026-10-14")
	r.press("R")
	r.sees("is a simulation: it changed nothing")
	r.open(screen.Progress, "aplicar-2026-10-14-v2")
	r.press("R")
	r.sees("is running: that is not possible now")
}

func TestRunNowIsRefusedWhileTheTaskIsAtWork(t *testing.T) {
	r := newRig(t, rigOptions{w: 100, h: 40})
	r.open(screen.Schedule, "")
	r.press("n")
	r.sees("Run a task now?", "[varredura]", "reprocessar-ontem")
	r.press("enter", "enter")
	r.sees("it is worked by bastion-1 since")
	r.commanded()
	r.press("esc", "n", "right", "enter", "enter")
	r.advance(time.Second)
	r.sees("reprocessar-ontem was set going.")
	r.press(":", `"now reprocessar-ontem"`, "enter", "enter", "enter")
	r.sees("by revisor_a@bastion-1 since")
	r.commanded("run reprocessar-ontem")
}

func TestResumeMayChangeTheLimit(t *testing.T) {
	r := newRig(t, rigOptions{w: 100, h: 40})
	r.open(screen.Progress, "aplicar-2026-10-14-v2")
	r.press("p", "enter")
	r.advance(time.Second)
	r.press("r", `"x"`, "enter", "enter")
	r.sees("a whole number from 0 to")
	r.press("backspace", `"50.000"`, "enter", "enter")
	r.advance(time.Second)
	r.commanded("pause aplicar-2026-10-14-v2", "resume up to 50000 aplicar-2026-10-14-v2")
}

func TestTheHandlerIsChosenInTheForm(t *testing.T) {
	r := newRig(t, rigOptions{w: 100, h: 40})
	r.press("n", "tab", "tab", "tab", "tab", `"1000:2000"`, "tab")
	r.sees("handler", "[by event type]", "comissao", "estoque")
	r.press("right", "right", "shift+tab", "shift+tab", "shift+tab", "shift+tab", "shift+tab", "up", "up", "enter")
	r.advance(time.Second)
	r.sees("Preview: simulate", "handler")
	r.press("y")
	r.advance(time.Second)
	list, err := r.store.Replays(context.Background(), batch.ReplayQuery{Limit: 1})
	if err != nil || list[0].Handler != "estoque" {
		t.Fatalf("%v %v", list, err)
	}
}

func TestApproveUnderAName(t *testing.T) {
	r := newRig(t, rigOptions{w: 120, h: 40})
	r.press(":", `"approve simular-2026-10-14 fix-14"`, "enter")
	r.sees("type fix-14")
	r.press(`"fix-14"`, "enter", "enter")
	r.advance(time.Second)
	r.commanded("approve simular-2026-10-14 fix-14")
}

// failing is a world whose database is away from the start.
func TestStartingWhileTheDatabaseIsAway(t *testing.T) {
	r := newRig(t, rigOptions{w: 100, h: 30, data: func(s *fake.Store) Data {
		s.Fail(errors.New("connection refused"))
		return s
	}})
	r.advance(2 * time.Second)
	r.sees("Database away: ", "connection refused", "nothing was read yet", "loading…")
	r.seesNot("revisor_a")
	r.press("4")
	r.advance(time.Second)
	r.sees("Database away: ", "loading…")
	r.store.Fail(nil)
	r.advance(25 * time.Second)
	r.sees("ev-1042", "reprise@localhost:5432", "role revisor_a")
	r.seesNot("Database away")
	r.press("1")
	r.advance(time.Second)
	r.sees("aplicar-2026-10-14-v2")
}

func TestTheBannerSaysWhatAnErrorComesDownTo(t *testing.T) {
	refused := errors.New("connection refused")
	err := fmt.Errorf("failed to connect to the database of a long name: %w", errors.Join(fmt.Errorf("[::1]:5432: %w", refused), fmt.Errorf("127.0.0.1:5432: %w", refused)))
	if got := reason(err, 40); got != "connection refused" {
		t.Fatal(got)
	}
	if got := reason(refused, 40); got != "connection refused" {
		t.Fatal(got)
	}
}

// staged is a world whose running apply is in an early stage.
type staged struct {
	*fake.Store
	stage *batch.Stage
}

func (s staged) Progress(ctx context.Context, id string) (batch.Progress, error) {
	p, err := s.Store.Progress(ctx, id)
	p.Stage = *s.stage
	switch p.Stage {
	case batch.Projecting:
		p.StageDone = p.StageAll / 2
	case batch.Writing:
		p.StageDone, p.StageAll = 3, 4
	case batch.Working:
		return p, err
	}
	for i := range p.Partitions {
		part := &p.Partitions[i]
		part.Projection, part.ProjectedAll = part.Counters, part.Done
		part.Counters, part.Done = batch.Counters{}, false
	}
	p.Total = batch.Counters{}
	return p, err
}

func TestTheStageOfAnApplyIsSeen(t *testing.T) {
	stage := batch.Projecting
	r := newRig(t, rigOptions{w: 100, h: 40, data: func(s *fake.Store) Data { return staged{s, &stage} }})
	r.advance(2 * time.Second)
	r.sees("1/3 50%")
	r.open(screen.Progress, "aplicar-2026-10-14-v2")
	r.sees("stage 1 of 3: reading the events", "49.9 %", "would be written", "done")
	stage = batch.Writing
	r.advance(2 * time.Second)
	r.sees("stage 2 of 3: writing the state", "75.0 %  3 of 4 parts", "rate —")
	stage = batch.Working
	r.advance(2 * time.Second)
	r.sees("stage 3 of 3: bringing about the effects", "of 48,213 events", "written")
	r.seesNot("would be")
	r.open(screen.Progress, "simular-2026-10-14")
	r.seesNot("stage ")
}

func TestALongFormIsDoneFromAnyField(t *testing.T) {
	r := newRig(t, rigOptions{w: 100, h: 40})
	r.press("n", "tab", "tab", "tab", "tab", `"1000:2000"`)
	r.sees("ctrl+s done")
	r.press("ctrl+s")
	r.sees("Preview: simulate")
	r.press("esc", "esc", ":", `"approve simular-2026-10-14"`, "enter", `"aplicar-2026-10-14-v3"`, "ctrl+s")
	r.commanded()
}

// cutShort is a world in which the partial apply had settled a quarter of its events when it ended.
type cutShort struct{ *fake.Store }

func (s cutShort) Progress(ctx context.Context, id string) (batch.Progress, error) {
	p, err := s.Store.Progress(ctx, id)
	if id == "aplicar-2026-10-14-v1" && err == nil {
		p.Settled = *p.Replay.Events / 4
	}
	return p, err
}

// slowing is a world in which checkpoints still move when an apply was cancelled.
type slowing struct {
	*fake.Store
	settled int64
}

func (s *slowing) Progress(ctx context.Context, id string) (batch.Progress, error) {
	p, err := s.Store.Progress(ctx, id)
	if id == "aplicar-2026-10-14-v2" && err == nil {
		p.Settled = s.settled
	}
	return p, err
}

func TestACancelledApplyIsFollowedToItsLastCheckpoint(t *testing.T) {
	s := &slowing{settled: 12_000}
	r := newRig(t, rigOptions{data: func(world *fake.Store) Data { s.Store = world; return s }})
	r.press("down", "x", "y")
	r.advance(2 * time.Second)
	r.sees("cancelled   aplicar-2026-10-14-v2", "24.8 %")
	s.settled = 13_000
	r.advance(20 * time.Second)
	r.sees("26.9 %")
	r.advance(2 * time.Minute)
	reads := s.Reads()
	s.settled = 14_000 // nothing moves any more: nobody looks
	r.advance(time.Minute)
	r.sees("26.9 %")
	if n := s.Reads() - reads; n > 60 {
		t.Errorf("%d reads in a minute", n)
	}
	r.open(screen.Progress, "aplicar-2026-10-14-v2")
	r.sees("not finished")
	r.seesNot("waiting ─")
}

func TestAnApplyThatEndedShortIsNotShownAsDone(t *testing.T) {
	r := newRig(t, rigOptions{w: 100, h: 40, data: func(s *fake.Store) Data { return cutShort{s} }})
	r.advance(2 * time.Second)
	r.sees("48,190    24.9 %")
}
