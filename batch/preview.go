package batch

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const previewSQL = `
	select count(*), count(distinct e.pedido_id), coalesce(min(e.posicao), 0), coalesce(max(e.posicao), 0),
		min(e.ocorrido_em), max(e.ocorrido_em), count(*) filter (where e.tipo = any($7))
	from evento_arquivado e where` + inScope

const registeredSQL = `
	select count(*), count(*) filter (where f.estado = 'incerto')
	from evento_arquivado e join efeito_aplicado f on f.chave = e.id || ':' || $7
	where` + inScope

// Preview says what a request would take, before it is queued.
func (s *Store) Preview(ctx context.Context, q Request) (Preview, error) {
	q, err := s.complete(q)
	if err != nil {
		return Preview{}, err
	}
	h, err := s.handlers.Get(q.Handler)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Request: q, UTCFrom: inUTC(q.Scope).From, UTCTo: inUTC(q.Scope).To}
	first, last := bounds(q.Scope)
	var wanted int64
	err = s.patiently(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, previewSQL, append(scopeArgs(q.Scope, first, last), h.Types())...).
			Scan(&p.Events, &p.Orders, &p.First, &p.Last, &p.FirstAt, &p.LastAt, &wanted)
	})
	if err != nil {
		return Preview{}, fmt.Errorf("preview: %w", err)
	}
	for _, kind := range h.Kinds() {
		rule, known := policyOf(s.rules, kind)
		k := KindPreview{Kind: kind, Rule: rule, Wanted: wanted}
		err := s.patiently(ctx, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, registeredSQL, append(scopeArgs(q.Scope, first, last), kind)...).Scan(&k.Registered, &k.Uncertain)
		})
		if err != nil {
			return Preview{}, fmt.Errorf("preview: effects %s: %w", kind, err)
		}
		if !known {
			p.Warnings = append(p.Warnings, fmt.Sprintf(remarkUnknownKind, kind))
		}
		p.Kinds = append(p.Kinds, k)
	}
	if p.Events == 0 {
		p.Warnings = append(p.Warnings, remarkNoEvents)
	}
	if q.Mode == Apply {
		if p.Overlaps, err = s.overlaps(ctx, p.First, p.Last); err != nil {
			return Preview{}, err
		}
		again, err := s.suppressedBefore(ctx, p.First, p.Last)
		if err != nil {
			return Preview{}, err
		}
		p.Warnings = append(p.Warnings, again...)
	}
	return p, nil
}

// overlaps lists applies that work positions of this range now.
func (s *Store) overlaps(ctx context.Context, first, last int64) ([]string, error) {
	rows, err := s.pool.Query(ctx, `
		select id from reprocessamento
		where modo = 'aplicar' and estado in ('executando', 'pausado') and faixa && int8range($1, $2, '[]') order by id`, first, last)
	if err != nil {
		return nil, fmt.Errorf("overlapping applies: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// suppressedBefore warns if an earlier apply suppressed, on these positions, a kind that would now be sent.
func (s *Store) suppressedBefore(ctx context.Context, first, last int64) ([]string, error) {
	rows, err := s.pool.Query(ctx, `
		select id, politica from reprocessamento
		where modo = 'aplicar' and estado in ('concluido', 'parcial') and faixa && int8range($1, $2, '[]')
		order by criado_em desc limit 100`, first, last)
	if err != nil {
		return nil, fmt.Errorf("earlier applies: %w", err)
	}
	var warnings []string
	var id string
	var policy map[string]Rule
	_, err = pgx.ForEachRow(rows, []any{&id, &policy}, func() error {
		for kind, now := range s.rules {
			if before, ok := policy[kind]; now.Mode == ModeApply && (!ok || before.Mode == ModeSuppress) {
				warnings = append(warnings, fmt.Sprintf(remarkSuppressed, id, kind))
			}
		}
		policy = nil
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("earlier applies: %w", err)
	}
	return warnings, nil
}
