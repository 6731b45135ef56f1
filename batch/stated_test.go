package batch

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestStatedEventsAreStoredExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		positions := rapid.SliceOfDistinct(rapid.Int64Range(-1<<62, 1<<62), rapid.ID[int64]).Draw(t, "positions")
		slices.Sort(positions)
		var events []statedEvent
		for _, p := range positions {
			events = append(events, statedEvent{p, rapid.SampledFrom([]fate{written, unchanged, newer}).Draw(t, "fate")})
		}
		stored := encodeStated(events)
		got, err := decodeStated(stored)
		if err != nil || !slices.Equal(got, events) {
			t.Fatalf("got %v %v, want %v", got, err, events)
		}
		if len(stored) > 0 {
			if _, err := decodeStated(stored[:len(stored)-1]); err == nil {
				t.Fatal("a damaged value was taken")
			}
		}
		for _, p := range positions {
			if after := statedAfter(events, p); len(after) > 0 && after[0].position <= p || len(after) != len(events)-1-slices.Index(positions, p) {
				t.Fatalf("after %d: %v of %v", p, after, events)
			}
		}
	})
}
