package chart

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

func TestBarIsClamped(t *testing.T) {
	plain := theme.Fixed(theme.Plain)
	for _, c := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, ".........."}, {0, 10, ".........."}, {5, 10, "#####....."}, {10, 10, "##########"}, {12, 10, "##########"}, {-3, 10, ".........."},
		{999_999, 1_000_000, "#########."}, {5, 0, ".........."},
	} {
		if got := Bar(plain, c.part, c.whole, 10, theme.Style{}); got != c.want {
			t.Errorf("%d of %d: %q", c.part, c.whole, got)
		}
	}
	dark := theme.Fixed(theme.Dark)
	for w := range 50 {
		for part := range int64(12) {
			if got := ansi.StringWidth(Bar(dark, part, 10, w, dark.Good)); got != w {
				t.Fatalf("%d of 10 in %d: %d wide", part, w, got)
			}
		}
	}
}

func TestSpark(t *testing.T) {
	dark := theme.Fixed(theme.Dark)
	if got := ansi.Strip(Spark(dark, []float64{0, 1, 4, 8}, 6, theme.Style{})); got != "  ▁▁▄█" {
		t.Errorf("%q", got)
	}
	if got := ansi.Strip(Spark(dark, []float64{9, 9, 0, 0}, 2, theme.Style{})); got != "▁▁" {
		t.Errorf("%q", got)
	}
	if got := Spark(dark, nil, 0, theme.Style{}); got != "" {
		t.Errorf("%q", got)
	}
}

func TestHistogram(t *testing.T) {
	p := text.NewPrinter(text.English, nil)
	buckets := []Bucket{{Label: "a", Value: 1}, {Label: "bb", Value: 1000}, {Label: "c", Value: 0}, {Label: "d", Value: 7}}
	for w := 1; w < 60; w++ {
		for h := range 6 {
			block := Histogram(theme.Fixed(theme.Dark), p, buckets, w, h)
			if len(block) > h {
				t.Fatalf("%d lines of %d", len(block), h)
			}
			for _, line := range block {
				if ansi.StringWidth(line) != w {
					t.Fatalf("%dx%d: %q", w, h, line)
				}
			}
		}
	}
	block := Histogram(theme.Fixed(theme.Plain), p, buckets, 30, 4)
	if strings.Count(block[0], "#") != 1 || strings.Count(block[1], "#") < 15 || strings.Count(block[2], "#") != 0 {
		t.Errorf("%q", block)
	}
}
