// Package chart draws numbers as bars, sparklines and histograms of characters.
package chart

import (
	"math"
	"strings"

	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/text"
	"reprise.dev/reprise/tui/theme"
)

// Bar draws a share of a whole in w columns. Whatever the numbers, it never shows less than nothing or more
// than all, and all only of what is complete.
func Bar(t *theme.Theme, part, whole int64, w int, fill theme.Style) string {
	return BarOn(t, part, whole, w, fill, theme.Style{})
}

// BarOn is Bar on a background.
func BarOn(t *theme.Theme, part, whole int64, w int, fill, back theme.Style) string {
	if w <= 0 {
		return ""
	}
	f := 0.0
	if whole > 0 {
		f = min(max(float64(part)/float64(whole), 0), 1)
	}
	halves := int(f * float64(w*2))
	if part > 0 && halves == 0 {
		halves = 1
	}
	if whole > 0 && part < whole {
		halves = min(halves, w*2-1)
	}
	full := halves / 2
	bar := strings.Repeat(t.BarFull, full)
	if halves%2 > 0 && t.BarHalf != "" {
		bar += t.BarHalf
		full++
	}
	return fill.On(back).Render(bar) + t.Faint.On(back).Render(strings.Repeat(t.BarEmpty, w-full))
}

// Spark draws the latest values in w columns, the last one at the right edge; its top is the largest value.
func Spark(t *theme.Theme, values []float64, w int, style theme.Style) string {
	if w <= 0 {
		return ""
	}
	if len(values) > w {
		values = values[len(values)-w:]
	}
	most := 0.0
	for _, v := range values {
		most = max(most, v)
	}
	var b strings.Builder
	for _, v := range values {
		level := 0
		if most > 0 && v > 0 {
			level = min(int(math.Ceil(v/most*float64(len(t.Spark))))-1, len(t.Spark)-1)
		}
		b.WriteString(t.Spark[max(level, 0)])
	}
	return strings.Repeat(" ", w-len(values)) + style.Render(b.String())
}

// Bucket is one bar of a histogram.
type Bucket struct {
	Label string // clean
	Value int64
	Style theme.Style
}

// Histogram draws buckets below one another: label, bar, count. Where there is less room than buckets, the
// emptiest at the ends go first.
func Histogram(t *theme.Theme, p *text.Printer, buckets []Bucket, w, h int) layout.Block {
	for len(buckets) > h && len(buckets) > 0 {
		if buckets[0].Value <= buckets[len(buckets)-1].Value {
			buckets = buckets[1:]
		} else {
			buckets = buckets[:len(buckets)-1]
		}
	}
	labels, counts, most := 0, 0, int64(1)
	for _, b := range buckets {
		labels = max(labels, text.Width(b.Label))
		counts = max(counts, text.Width(p.Int(b.Value)))
		most = max(most, b.Value)
	}
	room := w - labels - counts - 2
	out := make(layout.Block, 0, len(buckets))
	for _, b := range buckets {
		n := int(float64(b.Value) / float64(most) * float64(max(room, 0)))
		if b.Value > 0 && n == 0 {
			n = 1
		}
		bar := ""
		if room > 0 {
			bar = b.Style.Render(strings.Repeat(t.Column, n)) + strings.Repeat(" ", room-n) + " "
		}
		out = append(out, text.Pad(t.Muted.Render(text.PadLeft(b.Label, labels))+" "+bar+text.PadLeft(p.Int(b.Value), counts), w))
	}
	return out
}
