package batch

import "time"

// inScope is the condition that a replay's scope puts on the archive; its arguments come from scopeArgs.
// A window is half-open: an event at its end belongs to the next day.
const inScope = `
	($1::timestamptz is null or e.ocorrido_em >= $1) and ($2::timestamptz is null or e.ocorrido_em < $2)
	and e.posicao between $3 and $4
	and (cardinality($5::text[]) = 0 or e.tipo = any($5))
	and (cardinality($6::text[]) = 0 or e.pedido_id = any($6))`

func scopeArgs(s Scope, first, last int64) []any {
	return []any{s.From, s.To, first, last, notNil(s.Types), notNil(s.Orders)}
}

// bounds are the positions that a scope names, or all there are.
func bounds(s Scope) (first, last int64) {
	const maxPosition = 1<<63 - 2
	if s.FirstPos == nil {
		return -maxPosition, maxPosition
	}
	return *s.FirstPos, min(*s.LastPos, maxPosition)
}

func inUTC(s Scope) Scope {
	utc := func(t *time.Time) *time.Time {
		if t == nil {
			return nil
		}
		u := t.UTC().Truncate(time.Microsecond)
		return &u
	}
	s.From, s.To = utc(s.From), utc(s.To)
	s.Types, s.Orders = notNil(s.Types), notNil(s.Orders)
	return s
}
