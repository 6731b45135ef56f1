package paged

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"
)

// shelf is a sorted list somewhere else.
type shelf struct {
	rows  []int
	most  int
	reads int
	err   error
}

func (s *shelf) fetch(_ context.Context, after *int, back bool, limit int) ([]int, error) {
	s.reads++
	if s.err != nil {
		return nil, s.err
	}
	var out []int
	if back {
		for i := len(s.rows) - 1; i >= 0 && len(out) < limit; i-- {
			if after == nil || s.rows[i] < *after {
				out = append(out, s.rows[i])
			}
		}
	} else {
		for _, r := range s.rows {
			if (after == nil || r > *after) && len(out) < limit {
				out = append(out, r)
			}
		}
	}
	s.most = max(s.most, len(out))
	return out, nil
}

func upTo(n int) *shelf {
	s := &shelf{}
	for i := range n {
		s.rows = append(s.rows, i)
	}
	return s
}

// reader holds a place in a list by value, as a table does.
type reader struct {
	list *List[int]
	now  time.Time
	at   int // value
}

func (r *reader) take(cmd tea.Cmd) {
	for cmd != nil {
		msg := cmd()
		r.list.Accept(msg)
		cmd = nil
		r.now = r.now.Add(time.Minute)
		if p := r.list.Poller(); p.Due(r.now) {
			r.list.Accept(p.Read(r.now)())
		}
	}
}

func (r *reader) index() int { return max(0, slices.Index(r.list.Rows(), r.at)) }

func (r *reader) move(by int) {
	rows := r.list.Rows()
	if len(rows) == 0 {
		return
	}
	i := max(0, min(r.index()+by, len(rows)-1))
	r.at = rows[i]
	r.take(r.list.Look(i, r.now))
}

func TestReadingOnReachesEveryRow(t *testing.T) {
	for _, both := range []bool{true, false} {
		s := upTo(1000)
		r := &reader{list: New(context.Background(), 20, s.fetch, both), now: time.Unix(0, 0)}
		r.take(r.list.Poller().Read(r.now))
		for want := range 1000 {
			if r.at != want {
				t.Fatalf("at %d after %d steps down", r.at, want)
			}
			r.move(1)
		}
		for want := 998; want >= 0; want-- {
			r.move(-1)
			if r.at != want {
				t.Fatalf("at %d, want %d on the way up", r.at, want)
			}
		}
		if s.most > 61 {
			t.Fatalf("read %d rows at once", s.most)
		}
		if !r.list.AtStart() {
			t.Fatal("not at the start")
		}
	}
}

func TestEndsAreReachedAtOnce(t *testing.T) {
	s := upTo(1000)
	r := &reader{list: New(context.Background(), 20, s.fetch, true), now: time.Unix(0, 0)}
	r.take(r.list.Poller().Read(r.now))
	r.take(r.list.Bottom(r.now))
	rows := r.list.Rows()
	if !r.list.AtEnd() || rows[len(rows)-1] != 999 || len(rows) != 60 {
		t.Fatalf("%v", rows)
	}
	r.at = 999
	for range 70 {
		r.move(-1)
	}
	if r.at != 929 {
		t.Fatalf("at %d", r.at)
	}
	r.take(r.list.Top(r.now))
	if !r.list.AtStart() || r.list.Rows()[0] != 0 {
		t.Fatal("not at the top")
	}
}

func TestAWindowIsOneAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := upTo(rapid.IntRange(0, 300).Draw(t, "rows"))
		r := &reader{list: New(context.Background(), 10, s.fetch, true), now: time.Unix(0, 0)}
		r.take(r.list.Poller().Read(r.now))
		for range 60 {
			switch rapid.IntRange(0, 6).Draw(t, "do") {
			case 0:
				r.take(r.list.Bottom(r.now))
			case 1:
				r.take(r.list.Top(r.now))
			case 2: // rows go elsewhere
				if n := len(s.rows); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "gone")
					s.rows = slices.Delete(s.rows, i, min(n, i+rapid.IntRange(1, 40).Draw(t, "many")))
				}
			case 3: // the list is read again
				r.now = r.now.Add(time.Minute)
				r.list.Accept(r.list.Poller().Read(r.now)())
				r.now = r.now.Add(time.Minute)
				if p := r.list.Poller(); p.Due(r.now) {
					r.list.Accept(p.Read(r.now)())
				}
				rows := r.list.Rows()
				if len(rows) == 0 {
					if len(s.rows) > 0 {
						t.Fatalf("shows nothing of %d rows", len(s.rows))
					}
					continue
				}
				at := slices.Index(s.rows, rows[0])
				if at < 0 || !slices.Equal(rows, s.rows[at:at+len(rows)]) {
					t.Fatalf("window %v is no part of the list", rows)
				}
				if r.list.AtStart() != (at == 0) && r.list.AtStart() {
					t.Fatal("takes the middle for the start")
				}
				if r.list.AtEnd() && at+len(rows) != len(s.rows) {
					t.Fatal("takes the middle for the end")
				}
			default:
				r.move(rapid.IntRange(-15, 15).Draw(t, "by"))
			}
		}
	})
}

func TestFailureKeepsTheRows(t *testing.T) {
	s := upTo(10)
	l := New(context.Background(), 20, s.fetch, true)
	now := time.Unix(0, 0)
	l.Accept(l.Poller().Read(now)())
	s.err = errors.New("away")
	l.Accept(l.Poller().Read(now)())
	if len(l.Rows()) != 10 || l.Poller().Health().Err == nil {
		t.Fatalf("%v %v", l.Rows(), l.Poller().Health())
	}
}

func TestAnAnswerToAnOldQuestionIsDropped(t *testing.T) {
	s, other := upTo(10), upTo(3)
	l := New(context.Background(), 20, s.fetch, true)
	now := time.Unix(0, 0)
	old := l.Poller().Read(now)()
	fresh := l.Reset(other.fetch, now)()
	if l.Accept(old) {
		t.Fatal("took the old answer")
	}
	l.Accept(fresh)
	if len(l.Rows()) != 3 {
		t.Fatalf("%v", l.Rows())
	}
}
