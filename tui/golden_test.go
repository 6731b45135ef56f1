package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/tui/screen"
)

var update = flag.Bool("update", false, "write the golden frames anew; look at them before committing")

func golden(t *testing.T, name, frame string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	lines := strings.Split(frame, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// scene is a way to a screen worth keeping.
type scene struct {
	name   string
	screen screen.ID
	replay string
	keys   []string
}

var scenes = []scene{
	{"replays", screen.Replays, "", nil},
	{"cancel", screen.Replays, "", []string{"down", "x"}},
	{"new-replay", screen.Replays, "", []string{"n", "tab", `"14/10/2026"`}},
	{"preview", screen.Replays, "", []string{"n", "right", "tab", "tab", "tab", "tab", `"1000:2000"`, "up", "up", "up", "up", "up", "up", "enter"}},
	{"progress", screen.Progress, "aplicar-2026-10-14-v2", nil},
	{"pause", screen.Progress, "aplicar-2026-10-14-v2", []string{"p"}},
	{"partial", screen.Progress, "aplicar-2026-10-14-v1", nil},
	{"diff", screen.Diff, "simular-2026-10-14", nil},
	{"history", screen.Diff, "simular-2026-10-14", []string{"down", "enter"}},
	{"told", screen.Diff, "simular-2026-10-14", []string{"t"}},
	{"approve", screen.Diff, "simular-2026-10-14", []string{"a"}},
	{"review", screen.Review, "", []string{"down"}},
	{"evidence", screen.Review, "", []string{"down", "enter"}},
	{"decide", screen.Review, "", []string{"r"}},
	{"bulk", screen.Review, "", []string{"A", "d"}},
	{"schedule", screen.Schedule, "", nil},
	{"failures", screen.Failures, "aplicar-2026-10-14-v1", []string{"down"}},
	{"help", screen.Review, "", []string{"?"}},
}

func TestGolden(t *testing.T) {
	for _, language := range []string{"en", "pt"} {
		sizes := [][2]int{{80, 24}, {120, 40}}
		if language == "en" {
			sizes = append(sizes, [2]int{200, 50})
		}
		for _, size := range sizes {
			for _, s := range scenes {
				t.Run(fmt.Sprintf("%s-%dx%d-%s", s.name, size[0], size[1], language), func(t *testing.T) {
					r := newRig(t, rigOptions{Options: Options{Language: language}, w: size[0], h: size[1]})
					r.open(s.screen, s.replay)
					for _, key := range s.keys {
						r.press(key)
						r.advance(300 * time.Millisecond)
					}
					golden(t, filepath.Base(t.Name()), r.frame())
				})
			}
		}
	}
}

func TestGoldenTooSmall(t *testing.T) {
	for _, language := range []string{"en", "pt"} {
		for _, size := range [][2]int{{20, 5}, {59, 11}, {8, 2}} {
			t.Run(fmt.Sprintf("small-%dx%d-%s", size[0], size[1], language), func(t *testing.T) {
				r := newRig(t, rigOptions{Options: Options{Language: language}, w: size[0], h: size[1]})
				golden(t, filepath.Base(t.Name()), r.frame())
			})
		}
	}
}
