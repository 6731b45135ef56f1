package feed

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPaceFollowsChange(t *testing.T) {
	value, reads := 0, 0
	f := New(context.Background(), func(context.Context) (int, error) { reads++; return value, nil })
	now := time.Unix(0, 0)
	run := func(d time.Duration) (n int) {
		before := reads
		for end := now.Add(d); now.Before(end); now = now.Add(100 * time.Millisecond) {
			if f.Due(now) {
				f.Accept(f.Read(now)())
			}
		}
		return reads - before
	}
	run(time.Minute)
	if n := run(time.Minute); n > 9 {
		t.Errorf("an unchanging value was read %d times a minute", n)
	}
	value = 1
	run(10 * time.Second)
	for range 20 {
		value++
		run(time.Second)
	}
	value++
	if n := run(2 * time.Second); n < 1 {
		t.Errorf("a changing value was read %d times in two seconds", n)
	}
}

func TestFailuresBackOffAndHeal(t *testing.T) {
	var fail error
	reads := 0
	f := New(context.Background(), func(context.Context) (string, error) { reads++; return "v", fail })
	now := time.Unix(0, 0)
	f.Accept(f.Read(now)())
	fail = errors.New("away")
	for range 6000 {
		now = now.Add(100 * time.Millisecond)
		if f.Due(now) {
			f.Accept(f.Read(now)())
		}
	}
	h := f.Health()
	if h.Err == nil || !h.Good.Equal(time.Unix(0, 0)) || f.Value != "v" || !f.Loaded {
		t.Fatalf("%+v %q", h, f.Value)
	}
	if reads > 45 {
		t.Fatalf("tried %d times in ten minutes", reads)
	}
	fail = nil
	now = h.Retry
	f.Accept(f.Read(now)())
	if f.Health().Err != nil {
		t.Fatal("did not heal")
	}
}

func TestSameIsSaid(t *testing.T) {
	v := []int{1}
	f := New(context.Background(), func(context.Context) ([]int, error) { return append([]int(nil), v...), nil })
	now := time.Unix(0, 0)
	first := f.Read(now)().(Result)
	f.Accept(first)
	second := f.Read(now)().(Result)
	f.Accept(second)
	v = []int{2}
	third := f.Read(now)().(Result)
	if first.Same || !second.Same || third.Same {
		t.Fatal(first.Same, second.Same, third.Same)
	}
}

func TestAReadHasADeadline(t *testing.T) {
	f := New(context.Background(), func(ctx context.Context) (time.Time, error) {
		d, _ := ctx.Deadline()
		return d, nil
	})
	f.Accept(f.Read(time.Now())())
	if left := time.Until(f.Value); left <= 0 || left > timeout {
		t.Fatal(left)
	}
}
