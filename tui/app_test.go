package tui

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/fake"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/theme"
)

func TestTheDatabaseGoesAwayAndComesBack(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Review, "")
	r.store.Fail(errors.New("connection refused"))
	r.advance(15 * time.Second)
	r.sees("Database away: ", "as of 00:", "retry", "ev-1042")
	r.press("down", "down") // keys work on what is there
	r.sees("▌ ev-1044")
	r.advance(10 * time.Minute)
	r.sees("as of 10:1")
	tries := r.store.Reads()
	r.advance(10 * time.Minute)
	if n := r.store.Reads() - tries; n > 200 {
		t.Fatalf("%d tries in ten minutes", n)
	}
	r.press("c", `"seen"`, "enter", "enter")
	r.sees("connection refused")
	r.store.Fail(nil)
	r.press("enter") // the note was kept
	r.sees("ev-1044:notificar-vendedor confirmed.")
	r.advance(25 * time.Second)
	r.seesNot("Database away", "  ev-1044")
	if len(r.decisions("ev-1044:notificar-vendedor")) != 1 {
		t.Fatal("the decision got lost")
	}
}

// ticking is a world in which only the clock runs.
type ticking struct {
	*fake.Store
	now func() time.Time
}

func (c ticking) Now(context.Context) (time.Time, error) { return c.now(), nil }

func TestNothingIsDrawnWhileNothingChanges(t *testing.T) {
	for _, s := range []scene{
		{"replays", screen.Replays, "", nil},
		{"progress", screen.Progress, "aplicar-2026-10-14-v1", nil},
		{"diff", screen.Diff, "simular-2026-10-14", nil},
		{"history", screen.Diff, "simular-2026-10-14", []string{"enter"}},
		{"review", screen.Review, "", []string{"enter"}},
		{"failures", screen.Failures, "aplicar-2026-10-14-v1", nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			still := func() time.Time { return fake.Noon } // the world stands still; only the clocks run
			r := &rig{now: fake.Noon}
			r = newRig(t, rigOptions{world: fake.Options{Now: still}, w: 120, h: 40, data: func(s *fake.Store) Data {
				return ticking{s, func() time.Time { return r.now }}
			}})
			if s.screen == screen.Replays {
				if err := r.store.Pause(context.Background(), "aplicar-2026-10-14-v2"); err != nil {
					t.Fatal(err)
				}
			}
			r.open(s.screen, s.replay)
			r.press(s.keys...)
			r.advance(2 * time.Minute)
			drawn, reads := r.app.drawn, r.store.Reads()
			r.advance(10 * time.Minute)
			if n := r.app.drawn - drawn; n > 12 { // the minute of the clock
				t.Errorf("drew %d frames in ten idle minutes", n)
			}
			if n := r.store.Reads() - reads; n > 400 {
				t.Errorf("made %d reads in ten idle minutes", n)
			}
			t.Logf("ten idle minutes: %d frames, %d reads", r.app.drawn-drawn, r.store.Reads()-reads)
		})
	}
}

func TestConfirmationsDoNothingUntilTheyAreConfirmed(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Replays, "")
	r.press("down", "p")
	r.sees("Pause aplicar-2026-10-14-v2?", "next checkpoint")
	r.press("esc")
	r.press("p", "n")
	r.press("x")
	r.sees("for good?", "undoes nothing", "  Cancel the replay    [ Back ]")
	r.press("enter") // of a dangerous one, enter does nothing
	if got := r.store.Commanded(); len(got) != 0 {
		t.Fatalf("commanded %v", got)
	}
	r.press("p", "enter")
	r.advance(time.Second)
	r.sees("aplicar-2026-10-14-v2 is paused.", "‖ paused")
	r.press("r", "enter", "enter")
	r.press("x", "tab", "tab", "y")
	r.advance(time.Second)
	want := []string{"pause aplicar-2026-10-14-v2", "resume aplicar-2026-10-14-v2", "cancel aplicar-2026-10-14-v2"}
	if got := r.store.Commanded(); strings.Join(got, ";") != strings.Join(want, ";") {
		t.Fatalf("commanded %v", got)
	}
	r.press("p")
	r.sees("is cancelled: that is not possible now")
}

func TestApprovingIsSignedWithTheRunsID(t *testing.T) {
	r := newRig(t, rigOptions{w: 120, h: 40})
	r.open(screen.Diff, "simular-2026-10-14")
	r.press("a")
	r.sees("type aplicar-2026-10-14-v3", "the state of 31 orders changed since", "08:00–20:00", "sent to avisos", "23,736 would apply")
	r.press(`"aplicar-2026-10-14"`, "enter", "enter")
	r.sees("That is not aplicar-2026-10-14-v3.")
	if len(r.store.Commanded()) != 0 {
		t.Fatal("approved with another id")
	}
	r.press(`"-v3"`, "enter", "enter")
	r.advance(time.Second)
	r.sees("aplicar-2026-10-14-v3 is queued.", "2 Progress", "○ queued")
	if got := r.store.Commanded(); len(got) != 1 || got[0] != "approve simular-2026-10-14 aplicar-2026-10-14-v3" {
		t.Fatalf("commanded %v", got)
	}
}

func TestQueueShowsTheWindowBeforeItQueues(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, rigOptions{Options: Options{Zone: zone}, w: 100, h: 40})
	r.press("n")
	r.press("tab", `"2026-10-14"`)
	r.sees("UTC  2026-10-14T03:00:00Z → 2026-10-15T03:00:00Z")
	r.press("tab", `"2026-10-14 12:00"`)
	r.sees("UTC  2026-10-14T03:00:00Z → 2026-10-14T15:00:00Z")
	r.press("tab", "ctrl+u", `"Mars/Base"`, "enter", "enter", "enter", "enter", "enter", "enter", "enter", "enter", "enter", "enter")
	r.sees(`There is no time zone "Mars/Base"`)
	for range 9 {
		r.press("up")
	}
	r.press("ctrl+u", `"America/Sao_Paulo"`)
	for range 10 {
		r.press("enter")
	}
	r.sees("Preview: simulate", "48,213 events of 41,007 orders", "Effects at stake", "23,102 already in the ledger")
	if len(r.store.Commanded()) != 0 {
		t.Fatal("queued before it was seen")
	}
	r.press("y")
	r.advance(time.Second)
	r.sees("simular-2026-10-14-140231 is queued.")
}

func TestAnApplyIsQueuedOnlyWithItsIDTyped(t *testing.T) {
	r := newRig(t, rigOptions{w: 100, h: 40})
	r.press("n", "right", "tab", "tab", "tab", "tab", `"1000:2000"`, "up", "up", "up", "up", "up", "up", "enter")
	r.sees("Preview: apply", "these positions are being worked by aplicar-2026-10-14-v2", "suppressed effects of kind publicar-extrato")
	r.press("tab", "enter")
	if len(r.store.Commanded()) != 0 {
		t.Fatal("queued without its id")
	}
	r.press(`"aplicar-2026-10-14-140231"`, "enter", "enter")
	r.advance(time.Second)
	if got := r.store.Commanded(); len(got) != 1 || got[0] != "queue aplicar-2026-10-14-140231" {
		t.Fatalf("commanded %v", got)
	}
}

func TestADismissedFormStillTellsItsOutcome(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.press("down", "p")
	var later tea.Cmd
	_, later = r.app.Update(keyOf("enter")) // carried out, but the answer takes its time
	r.press("esc")
	r.run(later)
	r.sees("is paused.")
}

func TestDiffSortsFiltersAndPagesInTheDatabase(t *testing.T) {
	r := newRig(t, rigOptions{world: fake.Options{Orders: 20_000}})
	r.open(screen.Diff, "simular-2026-10-14")
	r.press("s", "s", "s", "S")
	r.advance(time.Second)
	r.sees("DELTA↓")
	r.press("G")
	r.advance(time.Second)
	r.sees("▌ P-", "new")
	r.press("g", "c", "c")
	r.advance(time.Second)
	r.sees("New orders of simular-2026-10-14")
	r.seesNot("=")
	r.press("/", `"P-12"`)
	r.advance(time.Second)
	r.press("enter")
	r.advance(time.Second)
	r.sees("/P-12", "P-12")
	r.press("esc")
	r.advance(10 * time.Second)
	r.sees("All orders")
	for range 2000 {
		r.press("pgdown")
		if r.app.screen().Subject() == "" {
			t.Fatal("lost the subject")
		}
	}
	if most := r.store.MostRows(); most > 181 {
		t.Fatalf("read %d rows at once", most)
	}
}

func TestTheDiffSaysHowManyOrdersThereAreInAll(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Diff, "simular-2026-10-14")
	r.sees("1/4,812")
	r.press("c")
	r.advance(time.Second)
	r.sees("Changed orders", "1/4,558")
	r.press("G")
	r.advance(time.Second)
	r.sees("more above and below, 4,558 in all")
	r.press("/", `"P-10"`, "enter") // of a prefix nobody counted them
	r.advance(time.Second)
	r.seesNot("4,558 in all", "/4,558")
}

func TestExport(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.open(screen.Diff, "simular-2026-10-14")
	file := filepath.Join(t.TempDir(), "out.csv")
	r.press(":", `"export csv `+file+`"`, "enter")
	r.sees("written")
	info, err := os.Stat(file)
	if err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	r.press(":", `"export json `+file+`"`, "enter")
	r.sees("exists already")
}

func TestCommands(t *testing.T) {
	r := newRig(t, rigOptions{w: 120, h: 40})
	command := func(line string) {
		r.press(":", `"`+line+`"`, "enter")
		r.advance(time.Second)
	}
	command("progress aplicar-2026-10-14-v1")
	r.sees("◐ partial", "23 failures")
	command("falhas")
	r.sees("could not be processed by aplicar-2026-10-14-v1", "ev-1300")
	command("order P-1042")
	r.sees(`Order "P-1042"`)
	command("review")
	command("kind publicar-extrato")
	r.sees("/publicar-extrato")
	command("confirm")
	r.sees("It went out: confirm?")
	r.press("esc")
	command("pause aplicar-2026-10-14-v2")
	r.sees("Pause aplicar-2026-10-14-v2?")
	r.press("esc")
	command("frobnicate")
	r.sees("Unknown command frobnicate")
	command("language pt")
	r.sees("4 Revisão")
	r.press(":", `"progress apl"`, "tab")
	r.press("esc")
	r.open(screen.Replays, "")
	r.press(":", `"progress aplicar-2026-10-14"`, "tab")
	r.sees("progress aplicar-2026-10-14-v2")
	r.press("tab")
	r.sees("progress aplicar-2026-10-14-v1")
	r.press("esc", ":", "up", "up", "up")
	r.sees("pause aplicar-2026-10-14-v2")
	r.press("esc")
	command("q")
	if !r.quit {
		t.Fatal(":q does not quit")
	}
	if len(r.store.Commanded()) != 0 {
		t.Fatalf("commanded %v", r.store.Commanded())
	}
}

func TestKeysThatArriveTogetherCountAlone(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("4jjj")})
	r.advance(time.Second)
	r.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jjj c")})
	r.sees("1 effect went out: confirm?")
}

func TestBackLeadsBack(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.press("down", "enter")
	r.advance(time.Second)
	r.press("d")
	r.advance(time.Second)
	r.press("enter")
	r.advance(time.Second)
	r.sees("Order")
	r.press("esc")
	r.sees("All orders of aplicar-2026-10-14-v2")
	r.press("esc")
	r.sees("▸ running  aplicar-2026-10-14-v2")
	r.press("esc")
	r.sees("Queue and history")
	r.press("esc", "esc")
	if r.quit {
		t.Fatal("esc quits")
	}
}

// odd is a world in which a replay is as told.
type odd struct {
	*fake.Store
	progress batch.Progress
}

func (o odd) Progress(context.Context, string) (batch.Progress, error) { return o.progress, nil }

func TestProgressOfOddNumbers(t *testing.T) {
	at := fake.Noon.Add(-time.Minute)
	n := func(v int64) *int64 { return &v }
	base := batch.Replay{ID: "r", State: batch.Running, Mode: batch.Apply, StartedAt: &at}
	for name, c := range map[string]struct {
		replay func(*batch.Replay)
		total  batch.Counters
		sees   []string
	}{
		"nothing in scope": {func(r *batch.Replay) { r.Events = n(0) }, batch.Counters{}, []string{"Nothing to do", "left —"}},
		"read twice":       {func(r *batch.Replay) { r.Events = n(10) }, batch.Counters{Read: 12}, []string{"100 %", "10 of 10 events"}},
		"not planned":      {func(r *batch.Replay) { r.State = batch.Queued; r.StartedAt = nil }, batch.Counters{}, []string{"not planned yet", "elapsed —"}},
		"just started":     {func(r *batch.Replay) { r.Events = n(10); r.StartedAt = &fake.Noon }, batch.Counters{}, []string{"0.0 %", "left —", "rate —"}},
		"limit reached":    {func(r *batch.Replay) { r.Events = n(100); r.Limits.Effects = 10 }, batch.Counters{Read: 50, Effects: map[string]batch.EffectCounters{"x": {Applied: 11}}}, []string{"10 of 10 effects"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := base
			c.replay(&r)
			rig := newRig(t, rigOptions{data: func(s *fake.Store) Data {
				return odd{s, batch.Progress{Replay: r, Settled: c.total.Read, Total: c.total, At: fake.Noon}}
			}})
			rig.open(screen.Progress, "r")
			rig.sees(c.sees...)
		})
	}
	r := newRig(t, rigOptions{})
	r.open(screen.Progress, "nirgendwo")
	r.sees(`There is no replay "nirgendwo"`)
	r.seesNot("Database away", "Reading failed")
}

// endless is a world in which more slots fired than are counted.
type endless struct{ *fake.Store }

func (endless) FiringCount(context.Context) (batch.Count, error) {
	return batch.Count{Rows: batch.CountLimit, More: true}, nil
}

func TestListsSayHowManyRowsTheyHave(t *testing.T) {
	r := newRig(t, rigOptions{data: func(s *fake.Store) Data { return endless{s} }})
	r.advance(time.Second)
	r.sees(" 1/408 ")
	r.press("/", `"nowhere"`, "enter")
	r.advance(time.Second)
	r.sees("Nothing matches the filter; esc shows all.")
	r.press("esc", "/", `"apply"`, "enter") // as a mode is said here
	r.advance(time.Second)
	r.sees("/apply", " 1/404 ", "aplicar-2026-10-14-v2")
	r.press("esc")
	r.advance(time.Second)
	r.sees(" 2/408 ")
	r.open(screen.Schedule, "")
	r.sees(" 1/10,000+ ")
	r.open(screen.Failures, "aplicar-2026-10-14-v1")
	r.sees(" 1/23 ")
}

func TestTheShareOfAStageIsNotCut(t *testing.T) {
	r := newRig(t, rigOptions{data: func(s *fake.Store) Data {
		return odd{s, batch.Progress{Stage: batch.Writing, StageDone: 4, StageAll: 4}}
	}})
	r.advance(time.Second)
	r.sees(" 2/3 100% ")
}

func TestWhatIsInHandMovesTheBars(t *testing.T) {
	n := int64(10)
	p := batch.Progress{
		Replay: batch.Replay{ID: "r", Mode: batch.Apply, State: batch.Running, Events: &n}, At: fake.Noon,
		Stage: batch.Working, StageDone: 3, StageAll: n, Settled: 3,
		Partitions: []batch.Partition{{Events: n, Last: n, Owner: "h", ProjectedAll: true, Settled: 3}},
	}
	r := newRig(t, rigOptions{data: func(s *fake.Store) Data { return odd{s, p} }})
	r.open(screen.Progress, "r")
	r.sees("30.0 %  3 of 10 events", "#0  30.0 %  3 of 10 events")
	r.press("v")
	r.sees("  0  ▶   30.0 %  ")
}

func TestPartitionMapAggregates(t *testing.T) {
	p := batch.Progress{Replay: batch.Replay{ID: "r", State: batch.Running}, At: fake.Noon}
	for i := range 4096 {
		p.Partitions = append(p.Partitions, batch.Partition{Index: i, Events: 10, Done: i < 2000, Owner: map[bool]string{true: "h"}[i == 2001]})
	}
	r := newRig(t, rigOptions{data: func(s *fake.Store) Data { return odd{s, p} }})
	r.open(screen.Progress, "r")
	r.sees("■ 2,000 done", "▶ 1 active", "■■■■", "▶")
	r.press("right", "down", "v", "down", "G")
	r.sees("4,095")
}

// keys that a masher hits.
var mashed = strings.Split("up down left right pgup pgdown home end enter enter esc esc esc tab shift+tab backspace space ctrl+r ctrl+u "+
	"1 2 3 4 5 6 ? / : j k h l g G n p r x a o d f v s S c t A u K y e J Z 0 9 é 漢 \u200b \u202e", " ")

func TestKeyMash(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	mash(t, seed, 10_000)
}

func TestKeyMashKeptSeeds(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		mash(t, seed, 500)
	}
}

func mash(t *testing.T, seed uint64, presses int) {
	t.Helper()
	t.Chdir(t.TempDir()) // an export may be hit
	rng := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t, rigOptions{world: fake.Options{Uncertain: 300}, w: 100, h: 30})
	sizes := [][2]int{{80, 24}, {20, 5}, {200, 50}, {0, 0}, {60, 12}, {1, 1}, {130, 24}, {61, 40}}
	for i := range presses {
		switch n := rng.IntN(100); {
		case n == 0:
			size := sizes[rng.IntN(len(sizes))]
			r.resize(size[0], size[1])
		case n == 1:
			r.store.Fail([]error{nil, nil, errors.New("away")}[rng.IntN(3)])
		case n < 8:
			r.advance(time.Duration(rng.IntN(3000)) * time.Millisecond)
		default:
			r.press(mashed[rng.IntN(len(mashed))])
		}
		if i%10 == 0 {
			r.frame()
		}
		if r.quit {
			t.Fatal("quit by a key that does not quit")
		}
	}
}

func TestResizeStorm(t *testing.T) {
	r := newRig(t, rigOptions{})
	for _, s := range scenes {
		r.resize(80, 24)
		r.app.modals, r.app.prompt = nil, nil
		r.open(s.screen, s.replay)
		r.press(s.keys...)
		for _, size := range [][2]int{{80, 24}, {20, 5}, {200, 60}, {0, 0}, {80, 24}, {1, 1}, {60, 12}, {61, 13}, {109, 12}, {110, 60}, {149, 16}, {150, 15}, {500, 200}, {80, 24}} {
			r.resize(size[0], size[1])
			r.advance(time.Second)
			r.frame()
		}
	}
}

func TestEveryThemeAndSymbolSet(t *testing.T) {
	for _, mode := range []theme.Mode{theme.Dark, theme.Light, theme.Mono, theme.Plain} {
		r := newRig(t, rigOptions{theme: mode, w: 120, h: 40})
		for _, s := range scenes {
			r.app.modals = nil
			r.open(s.screen, s.replay)
			r.press(s.keys...)
			r.frame()
			if mode != theme.Plain {
				continue
			}
			if view := r.app.View(); strings.Contains(view, "\x1b") {
				t.Fatalf("%s: a terminal without attributes gets some", s.name)
			}
		}
	}
}

// hostile is what each text of the world becomes in turn.
var hostile = []string{
	"\x1b]52;c;cm0gLXJm\x07", "\x1b]0;title\x07", "\x1b[2J\x1b[H", "\u009b2J", "\rconcluido", "\u202eoãçisop\u202c", "\x1b]0;unterminated",
	"\x1b[31mred", "a\tb", "zero\u200bwidth\u200d\ufeff", "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字", "👩\u200d👩\u200d👧👍🏽🇧🇷", "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301",
	"\xff\xfe\xc3", "\x00\x01\x7f", "line\nbreak", "раypal", strings.Repeat("x", 5000), strings.Repeat("界", 3000), "\u2028\u2029", "\U000e0041\U000e0042", "", " ", "%s%d%!", `\x1b[2J`, "ㅤ⠀",
}

func TestHostileData(t *testing.T) {
	turn := 0
	world := fake.Options{Text: func(s string) string {
		turn++
		return s + hostile[turn%len(hostile)]
	}}
	for _, size := range [][2]int{{60, 12}, {80, 24}, {200, 80}} {
		r := newRig(t, rigOptions{world: world, w: size[0], h: size[1]})
		r.app.who.Ask(func(context.Context) (Identity, error) {
			return Identity{Database: hostile[0], Server: hostile[1], Role: hostile[3]}, nil
		})
		for _, s := range scenes {
			r.app.modals, r.app.prompt = nil, nil
			r.open(s.screen, s.replay)
			r.press(s.keys...)
			for range 4 {
				r.press("down")
				r.advance(400 * time.Millisecond)
				r.frame()
			}
			r.press("pgdown", "enter")
			r.advance(400 * time.Millisecond)
			r.frame()
		}
		r.store.Fail(errors.New(strings.Join(hostile[:9], "")))
		r.advance(20 * time.Second)
		r.frame()
		r.press("p")
		r.frame()
	}
}

func TestPastedTextIsCleaned(t *testing.T) {
	r := newRig(t, rigOptions{})
	for _, s := range hostile {
		r.press("/")
		r.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Paste: true})
		r.frame()
		r.press("left", "left", "home")
		r.frame()
		r.press("esc", "n", "tab")
		r.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Paste: true})
		r.frame()
		r.press("esc")
	}
}

// wideMoney is a diff with an order whose change exceeds 64 bits.
type wideMoney struct{ *fake.Store }

func (wideMoney) Diff(_ context.Context, q batch.DiffQuery) ([]batch.DiffRow, error) {
	if q.After != nil {
		return nil, nil
	}
	low, high := int64(-9_000_000_000_000_000_000), int64(9_000_000_000_000_000_000)
	return []batch.DiffRow{{OrderID: "P-1", Before: &low, After: high}, {OrderID: "P-2", Before: &high, After: low}}, nil
}

func TestAChangeBeyond64BitsIsExact(t *testing.T) {
	r := newRig(t, rigOptions{w: 200, h: 40, data: func(s *fake.Store) Data { return wideMoney{s} }})
	r.open(screen.Diff, "simular-2026-10-14")
	r.sees("↑ +R$ 180,000,000,000,000,000.00", "↓ -R$ 180,000,000,000,000,000.00", " -R$ 90,000,000,000,000,000.00")
	r.press("enter")
	r.sees("+R$ 180,000,000,000,000,000.00  +200.0 %")
	r.press("esc", "down", "enter")
	r.sees("-R$ 180,000,000,000,000,000.00  -200.0 %")
}
