package importer

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Sources without positions, or without versions, get them here: from an order that the events themselves define,
// so that a later import of the same files derives the same numbers. For this, all events are held in memory.

// maxCollected is how many events are held.
const maxCollected = 2_000_000

// sortKey orders the events of a source that has no positions, element by element.
type sortKey [4]int64

// collected is an event that waits for its numbers.
type collected struct {
	row
	file *fileRun
}

const (
	// What the archive holds already keeps its numbers.
	knownSQL = `
		select a.id, a.posicao, a.versao
		from unnest($1::text[]) x(id) join evento_arquivado a on a.id = x.id`

	lastSQL = `select coalesce(max(posicao), 0) from evento_arquivado`

	othersSQL = `select count(*) from evento_arquivado where posicao between $1 and $2`

	versionsBeforeSQL = `
		select pedido_id, max(versao) from evento_arquivado
		where pedido_id = any($1) and posicao < $2 group by pedido_id`
)

// derive gives every event its numbers. An import of which the archive holds a part already must give that part the
// numbers that it has there; else nothing is imported.
func (r *run) derive(ctx context.Context) error {
	slices.SortStableFunc(r.pending, func(a, b collected) int {
		if c := slices.Compare(a.key[:], b.key[:]); c != 0 || !a.byID {
			return c
		}
		return bytes.Compare(a.id, b.id)
	})
	if err := r.dropRepeated(); err != nil {
		return err
	}
	if err := r.dropMixed(); err != nil || len(r.pending) == 0 {
		return err
	}
	known, err := r.known(ctx)
	if err != nil {
		return err
	}
	if err := r.derivePositions(ctx, known); err != nil {
		return err
	}
	if err := r.deriveVersions(ctx); err != nil {
		return err
	}
	for i := range r.pending {
		e := &r.pending[i]
		at, archived := known[string(e.id)]
		if !archived {
			continue
		}
		if e.position != at.position || e.version != at.version {
			return fmt.Errorf("%w: event %s is archived as posicao %d, versao %d, and these files make it %d and %d; import the files that were imported before, unchanged and complete",
				ErrDerived, excerpt(e.id), at.position, at.version, e.position, e.version)
		}
	}
	r.report.Derived.Rule = r.pending[0].file.format.rule
	return nil
}

// dropRepeated keeps the first of several events of one id. Deliveries are repeated, so that equal ones are no
// fault; the time of the message may differ.
func (r *run) dropRepeated() error {
	first := make(map[string]int, len(r.pending))
	kept := r.pending[:0]
	for _, e := range r.pending {
		at, seen := first[string(e.id)]
		if !seen {
			first[string(e.id)] = len(kept)
			kept = append(kept, e)
			continue
		}
		if other := kept[at]; bytes.Equal(other.payload, e.payload) && bytes.Equal(other.kind, e.kind) && bytes.Equal(other.order, e.order) && other.version == e.version {
			r.count(e.file, 1, 0, 1)
			continue
		}
		if err := r.refuse(e, CodeOtherContent, "event %s is there twice, with another content in line %d of %s",
			excerpt(e.id), kept[at].line.number, kept[at].file.Name); err != nil {
			return err
		}
	}
	r.pending = kept
	return nil
}

// dropMixed refuses events without a version of an order that also has events with one: where they belong among
// those cannot be known.
func (r *run) dropMixed() error {
	with := map[string]bool{}
	for i := range r.pending {
		if e := &r.pending[i]; e.version != 0 {
			with[string(e.order)] = true
		}
	}
	kept := r.pending[:0]
	for _, e := range r.pending {
		if e.version != 0 || !with[string(e.order)] {
			kept = append(kept, e)
			continue
		}
		if err := r.refuse(e, CodeVersion, "order %s has events with a version, and this one without", excerpt(e.order)); err != nil {
			return err
		}
	}
	r.pending = kept
	return nil
}

func (r *run) refuse(e collected, code, format string, args ...any) error {
	r.count(e.file, 1, 0, 0)
	return r.reject(e.file, rejectOf(e.file, e.line, 0, code, fmt.Sprintf(format, args...)))
}

// numbers are those of an archived event.
type numbers struct{ position, version int64 }

// known finds the pending events that the archive holds, by their id.
func (r *run) known(ctx context.Context) (map[string]numbers, error) {
	known := map[string]numbers{}
	for part := range slices.Chunk(r.pending, batchRows) {
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = string(part[i].id)
		}
		rows, err := r.pool.Query(ctx, knownSQL, ids)
		if err != nil {
			return nil, fmt.Errorf("look up archived events: %w", err)
		}
		var id string
		var at numbers
		if _, err := pgx.ForEachRow(rows, []any{&id, &at.position, &at.version}, func() error {
			known[id] = at
			return nil
		}); err != nil {
			return nil, fmt.Errorf("look up archived events: %w", err)
		}
	}
	return known, nil
}

// derivePositions numbers the events: by the source's own numbers if those are of one log, else without gaps, after
// the last event of the archive or from where an earlier import of the same files began.
func (r *run) derivePositions(ctx context.Context, known map[string]numbers) error {
	if r.ownPositions() {
		return nil
	}
	var base int64
	begun := slices.IndexFunc(r.pending, func(e collected) bool { _, archived := known[string(e.id)]; return archived })
	if begun >= 0 {
		base = max(0, known[string(r.pending[begun].id)].position-int64(begun)-1)
	} else {
		if err := r.pool.QueryRow(ctx, lastSQL).Scan(&base); err != nil {
			return fmt.Errorf("last position: %w", err)
		}
	}
	for i := range r.pending {
		r.pending[i].position = base + 1 + int64(i)
	}
	r.report.Derived.Positions = int64(len(r.pending))
	var there int64
	if err := r.pool.QueryRow(ctx, othersSQL, base+1, base+int64(len(r.pending))).Scan(&there); err != nil {
		return fmt.Errorf("positions from %d: %w", base+1, err)
	}
	if there != int64(len(known)) {
		return fmt.Errorf("%w: of positions %d to %d, which these files take, the archive has %d events, and %d of the files' events; import the files that were imported before, unchanged and complete",
			ErrDerived, base+1, base+int64(len(r.pending)), there, len(known))
	}
	return nil
}

// ownPositions takes the source's numbers if every event has one and all are of the same log.
func (r *run) ownPositions() bool {
	for i := range r.pending {
		if e := &r.pending[i]; e.natural == 0 || e.log != r.pending[0].log {
			return false
		}
	}
	for i := range r.pending {
		r.pending[i].position = r.pending[i].natural
	}
	slices.SortStableFunc(r.pending, func(a, b collected) int { return cmp.Compare(a.position, b.position) })
	return true
}

// deriveVersions counts the events of each order that has no versions, on from what the archive holds before them.
func (r *run) deriveVersions(ctx context.Context) error {
	without := map[string][]int{} // order → its events
	for i := range r.pending {
		if e := &r.pending[i]; e.version == 0 {
			without[string(e.order)] = append(without[string(e.order)], i)
		}
	}
	if len(without) == 0 {
		return nil
	}
	before, err := r.versionsBefore(ctx, without)
	if err != nil {
		return err
	}
	for order, events := range without {
		slices.SortStableFunc(events, func(a, b int) int { return cmp.Compare(r.pending[a].versionKey, r.pending[b].versionKey) })
		for n, i := range events {
			r.pending[i].version = before[order] + 1 + int64(n)
		}
		r.report.Derived.Versions += int64(len(events))
	}
	return nil
}

func (r *run) versionsBefore(ctx context.Context, orders map[string][]int) (map[string]int64, error) {
	names := make([]string, 0, len(orders))
	for order := range orders {
		names = append(names, order)
	}
	before := map[string]int64{}
	first := r.pending[0].position
	for part := range slices.Chunk(names, batchRows) {
		rows, err := r.pool.Query(ctx, versionsBeforeSQL, part, first)
		if err != nil {
			return nil, fmt.Errorf("look up versions: %w", err)
		}
		var order string
		var version int64
		if _, err := pgx.ForEachRow(rows, []any{&order, &version}, func() error {
			before[order] = version
			return nil
		}); err != nil {
			return nil, fmt.Errorf("look up versions: %w", err)
		}
	}
	return before, nil
}
