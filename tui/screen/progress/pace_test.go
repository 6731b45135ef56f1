package progress

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	start := time.Unix(1000, 0)
	var p pace
	if _, ok := p.left(10, start); ok {
		t.Fatal("knows before it saw anything")
	}
	p.add(start.Add(10*time.Second), 100)
	if rate, ok := p.rate(start); !ok || rate != 10 {
		t.Fatalf("average since the start: %v %v", rate, ok)
	}
	for i := range 60 {
		p.add(start.Add(time.Duration(11+i)*time.Second), int64(100+(i+1)*50))
	}
	if rate, ok := p.rate(start); !ok || rate != 50 {
		t.Fatalf("current rate: %v %v", rate, ok)
	}
	if left, ok := p.left(500, start); !ok || left != 10*time.Second {
		t.Fatalf("left: %v %v", left, ok)
	}
	p.add(start.Add(100*time.Second), 5) // read again from its start
	if len(p.rates) != 0 {
		t.Fatal("a step back counts as a rate")
	}
	for i := range 1000 {
		p.add(start.Add(time.Duration(101+i)*time.Second), 5)
	}
	if _, ok := p.left(500, start); ok {
		t.Fatal("an end is foreseen for what stands still")
	}
	if len(p.at) > keepRates || len(p.rates) > keepRates {
		t.Fatal("grows for ever")
	}
}
