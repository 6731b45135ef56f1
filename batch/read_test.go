package batch

import (
	"errors"
	"testing"

	"reprise.dev/reprise/schema/pgtest"
)

type sees func(Event) (Projection, error)

func (sees) Name() string                           { return "sees" }
func (sees) Types() []string                        { return []string{"t"} }
func (sees) Kinds() []string                        { return nil }
func (sees) State() StateTable                      { return StateTable{} }
func (f sees) Project(ev Event) (Projection, error) { return f(ev) }

// TestAChunkEndsAtItsPayload: however many events are asked for, a chunk of large ones ends early, the next one goes on
// where it ended, and the pool does not care.
func TestAChunkEndsAtItsPayload(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	const events = 50
	if _, err := pool.Exec(t.Context(), `
		insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select g, 'ev-' || g, 't', 'P-' || g, 1, to_jsonb(repeat('x', 1000000)), 'epoch' from generate_series(1, $1::int) g`, events); err != nil {
		t.Fatal(err)
	}
	e := &Engine{Store: &Store{pool: pool}}
	h := sees(func(Event) (Projection, error) { return Projection{}, errors.New("no") })
	after, chunks := int64(0), 0
	for more := true; more; chunks++ {
		var chunk []projected
		var bytes int
		var err error
		chunk, bytes, more, err = e.readChunk(t.Context(), h, Scope{}, after, events, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if bytes > chunkBytes+1_000_100 {
			t.Errorf("a chunk of %d bytes", bytes)
		}
		for _, p := range chunk {
			if after++; p.position != after {
				t.Fatalf("position %d follows %d", p.position, after-1)
			}
		}
	}
	if after != events || chunks < 3 {
		t.Errorf("%d events in %d chunks, want %d in at least 3", after, chunks, events)
	}
}
