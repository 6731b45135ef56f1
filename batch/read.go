package batch

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// projected is what is left of an event once its handler has seen it; payloads are not kept, so that memory does
// not depend on their size.
type projected struct {
	position int64
	id       string
	order    string
	version  int64
	value    int64
	effects  []Wanted
	fate     fate
	reason   string // of poison
	differs  bool   // exact and IEEE arithmetic differ
}

// fate is what became of an event's state.
type fate byte

const (
	unprojected fate = iota
	passed
	poison
	written
	unchanged
	newer
)

const readSQL = `
	select e.posicao, e.id, e.tipo, e.pedido_id, e.versao, e.payload, e.ocorrido_em
	from evento_arquivado e where` + inScope + `
	order by e.posicao limit $7`

// A chunk ends early at this much payload or time: what events are like is not known before they are read.
const (
	chunkBytes = 16 << 20
	chunkTime  = 2 * time.Second
)

// readChunk reads and projects the next events of a partition. bytes is the size of their payloads; more says that
// there may be further events up to last. What a chunk that ends early had asked for is given up with its connection.
func (e *Engine) readChunk(ctx context.Context, h Handler, s Scope, after, last int64, limit int) (chunk []projected, bytes int, more bool, err error) {
	ctx, giveUp := context.WithCancel(ctx)
	defer giveUp()
	began := time.Now()
	chunk, bytes, err = readEvents(ctx, e.pool, h, s, after, last, limit, func(bytes int) bool {
		if bytes < chunkBytes && time.Since(began) < chunkTime {
			return false
		}
		giveUp()
		more = true
		return true
	})
	if n := len(chunk); n > 0 {
		more = (more || n == limit) && chunk[n-1].position < last
	}
	return chunk, bytes, more, err
}

// readEvents reads and projects the next events, until there are enough of them.
func readEvents(ctx context.Context, q querier, h Handler, s Scope, after, last int64, limit int, enough func(bytes int) bool) (chunk []projected, bytes int, err error) {
	rows, err := q.Query(ctx, readSQL, append(scopeArgs(s, after+1, last), limit)...)
	if err != nil {
		return nil, 0, fmt.Errorf("read archive after %d: %w", after, err)
	}
	defer rows.Close()
	taken := make(map[string]bool, len(h.Types()))
	for _, t := range h.Types() {
		taken[t] = true
	}
	chunk = make([]projected, 0, limit)
	var ev Event
	var payload pgtype.DriverBytes
	var at pgtype.Timestamptz
	columns := []any{&ev.Position, &ev.ID, &ev.Type, &ev.OrderID, &ev.Version, &payload, &at}
	for rows.Next() {
		if err := rows.Scan(columns...); err != nil {
			return nil, 0, fmt.Errorf("read archive after %d: %w", after, err)
		}
		ev.OccurredAt = at.Time
		ev.Payload = jsonOf(payload)
		bytes += len(payload)
		p := projected{position: ev.Position, id: ev.ID, order: ev.OrderID, version: ev.Version}
		switch {
		case !taken[ev.Type]:
			p.fate = passed
		case at.InfinityModifier != pgtype.Finite:
			p.fate, p.reason = poison, remarkInfinite
		default:
			project(h, ev, &p)
		}
		chunk = append(chunk, p)
		if enough(bytes) {
			return chunk, bytes, nil
		}
	}
	if err := rows.Err(); err != nil {
		return nil, 0, fmt.Errorf("read archive after %d: %w", after, err)
	}
	return chunk, bytes, nil
}

// project lets the handler see one event; whatever goes wrong in there is that event's own fault.
func project(h Handler, ev Event, p *projected) {
	defer func() {
		if r := recover(); r != nil {
			p.fate, p.reason, p.effects = poison, fmt.Sprintf(remarkHandlerFell, h.Name(), r), nil
		}
	}()
	out, err := h.Project(ev)
	if err != nil {
		p.fate, p.reason = poison, err.Error()
		return
	}
	p.value, p.effects, p.differs = out.Value, out.Effects, out.OtherValue != nil
}

// jsonOf strips the version byte of the binary form of jsonb, when the connection uses it.
func jsonOf(raw []byte) []byte {
	if len(raw) > 0 && raw[0] == 1 {
		return raw[1:]
	}
	return raw
}

// readEvent reads one event by its id.
func readEvent(ctx context.Context, q querier, id string) (Event, error) {
	rows, err := q.Query(ctx, `
		select posicao, id, tipo, pedido_id, versao, payload, case when isfinite(ocorrido_em) then ocorrido_em else 'epoch' end
		from evento_arquivado where id = $1`, id)
	if err != nil {
		return Event{}, fmt.Errorf("event %s: %w", id, err)
	}
	ev, err := pgx.CollectExactlyOneRow(rows, scanEvent)
	if err != nil {
		return Event{}, fmt.Errorf("event %s: %w", id, err)
	}
	return ev, nil
}

func scanEvent(row pgx.CollectableRow) (ev Event, err error) {
	return ev, row.Scan(&ev.Position, &ev.ID, &ev.Type, &ev.OrderID, &ev.Version, &ev.Payload, &ev.OccurredAt)
}

// clean keeps a reason storable: PostgreSQL text holds no NUL.
func clean(s string) string {
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", `\0`), "\uFFFD")
	const most = 2000
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
