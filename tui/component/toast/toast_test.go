package toast

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/theme"
)

func TestToastsComeAndGo(t *testing.T) {
	var s Stack
	now := time.Unix(0, 0)
	s.Add(Message{Good, "paused"}, now)
	s.Add(Message{Bad, "refused"}, now)
	if s.Expire(now.Add(4*time.Second)) || s.Empty() {
		t.Fatal("gone too early")
	}
	if !s.Expire(now.Add(6*time.Second)) || s.Empty() {
		t.Fatal("bad news goes with the good")
	}
	if !s.Expire(now.Add(time.Minute)) || !s.Empty() {
		t.Fatal("still there")
	}
	for range 10 {
		s.Add(Message{Good, "x"}, now)
	}
	if len(s.entries) != 3 {
		t.Fatal(len(s.entries))
	}
}

func TestWhatWasSaidForTheMeantimeGivesWay(t *testing.T) {
	var s Stack
	s.Add(Message{Warn, "slow"}, time.Unix(0, 0))
	s.Add(Message{Info, "marking…"}, time.Unix(0, 0))
	s.Add(Message{Info, "25 marked"}, time.Unix(0, 0))
	if len(s.entries) != 2 || s.entries[0].Text != "slow" || s.entries[1].Text != "25 marked" {
		t.Fatalf("%+v", s.entries)
	}
}

func TestToastsStayInTheWindow(t *testing.T) {
	for w := 1; w < 100; w += 3 {
		for h := range 5 {
			var s Stack
			s.Add(Message{Bad, strings.Repeat("a long story 漢字 ", 20)}, time.Unix(0, 0))
			s.Add(Message{Good, "short"}, time.Unix(0, 0))
			block := s.Over(theme.Fixed(theme.Dark), layout.Fit(nil, w, h), w)
			if len(block) != h {
				t.Fatalf("%d lines of %d", len(block), h)
			}
			for _, line := range block {
				if ansi.StringWidth(line) != w {
					t.Fatalf("%dx%d: %q", w, h, line)
				}
			}
		}
	}
}
