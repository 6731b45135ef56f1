package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// countLimit bounds what counting the review queue costs: beyond it the counts are of the oldest.
const countLimit = 100_000

// historyLimit bounds what is read of one effect's history: the newest.
const historyLimit = 1000

// uncertainColumns are what scanUncertain reads. A consumer without tokens stores no quarantine: its own call has
// ended when it says "incerto", but not necessarily that of another one that had retaken the row. $1: sweep age.
const uncertainColumns = `
    chave, evento_id, tipo_efeito, execucao_id, motivo, ao_falhar, tentativas, atualizado_em,
    greatest(0, extract(epoch from coalesce(quarentena_ate, atualizado_em + $1::bigint * interval '1 microsecond')
        - clock_timestamp()))::float8,
    consultar_em, consultas, conteudo::text`

// The review queue, oldest first. $2 kind, $3 execution, $4 reason, $5 part of the key ("" matches all); $6 and
// $7: after which row; $8: how many.
const uncertainSQL = `
select ` + uncertainColumns + `
from efeito_aplicado
where estado = 'incerto'
  and ($2::text = '' or tipo_efeito = $2) and ($3::text = '' or execucao_id = $3)
  and ($4::text = '' or motivo = $4) and ($5::text = '' or position($5 in chave) > 0)
  and (atualizado_em, chave) > ($6::timestamptz, $7::text)
order by atualizado_em, chave limit $8`

const uncertainBackwardsSQL = `
select ` + uncertainColumns + `
from efeito_aplicado
where estado = 'incerto'
  and ($2::text = '' or tipo_efeito = $2) and ($3::text = '' or execucao_id = $3)
  and ($4::text = '' or motivo = $4) and ($5::text = '' or position($5 in chave) > 0)
  and (atualizado_em, chave) < ($6::timestamptz, $7::text)
order by atualizado_em desc, chave desc limit $8`

const uncertainByKeySQL = `
select ` + uncertainColumns + ` from efeito_aplicado where estado = 'incerto' and chave = $2`

// The limit comes before the filters: what counting costs must not grow with how little matches.
const countUncertainSQL = `
select tipo_efeito, coalesce(motivo, ''), count(*), min(atualizado_em)
from (select tipo_efeito, motivo, atualizado_em, execucao_id, chave from efeito_aplicado
      where estado = 'incerto' order by atualizado_em, chave limit $1) e
where ($2::text = '' or tipo_efeito = $2) and ($3::text = '' or execucao_id = $3)
  and ($4::text = '' or motivo = $4) and ($5::text = '' or position($5 in chave) > 0)
group by 1, 2 order by 1, 2`

const occurrencesSQL = `
select id, chave, execucao_id, tipo, detalhe, resposta::text, criado_em
from (select * from efeito_ocorrencia where chave = $1 order by id desc limit $2) o order by id`

// Bounds of the queue, for a page without a cursor.
var (
	beforeAll = Cursor{}
	afterAll  = Cursor{Version: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
)

// Uncertain returns a page of the review queue, oldest first; with q.Backwards the page before the cursor,
// newest first.
func (l *Ledger) Uncertain(ctx context.Context, q UncertainQuery) ([]UncertainEffect, error) {
	sql, from := uncertainSQL, beforeAll
	if q.Backwards {
		sql, from = uncertainBackwardsSQL, afterAll
	}
	if q.After != nil {
		from = *q.After
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	page, err := collectPage(ctx, l, sql, scanUncertain, microseconds(l.SweepAge), q.Kind, q.Execution, q.Reason, q.Text, from.Version, from.Key, limit)
	if err != nil {
		return nil, fmt.Errorf("read the review queue: %w", err)
	}
	return page, nil
}

// UncertainByKey reads one effect of the review queue; found is false if it is not uncertain (any more).
func (l *Ledger) UncertainByKey(ctx context.Context, key string) (e UncertainEffect, found bool, err error) {
	rows, err := collect(ctx, l, uncertainByKeySQL, scanUncertain, microseconds(l.SweepAge), key)
	if err != nil || len(rows) == 0 {
		return e, false, wrap(err, "read %s", key)
	}
	return rows[0], true, nil
}

func scanUncertain(rows pgx.CollectableRow) (UncertainEffect, error) {
	var e UncertainEffect
	var reason, content *string
	var onFailure *OnFailure
	var quarantine float64
	err := rows.Scan(&e.Key, &e.EventID, &e.Kind, &e.Execution, &reason, &onFailure, &e.Attempts, &e.Version,
		&quarantine, &e.NextLookUp, &e.LookUps, &content)
	e.Reason, e.OnFailure, e.Since = value(reason), value(onFailure), e.Version
	e.QuarantineLeft = time.Duration(quarantine * float64(time.Second))
	if content != nil {
		e.Content = []byte(*content)
	}
	return e, err
}

// UncertainCounts counts what matches of the review queue, by kind and reason; where q's page lies does not matter. Of
// a queue of more than 100,000 it looks at the oldest 100,000.
func (l *Ledger) UncertainCounts(ctx context.Context, q UncertainQuery) ([]UncertainCount, error) {
	counts, err := collect(ctx, l, countUncertainSQL, func(rows pgx.CollectableRow) (c UncertainCount, err error) {
		return c, rows.Scan(&c.Kind, &c.Reason, &c.Effects, &c.Oldest)
	}, countLimit, q.Kind, q.Execution, q.Reason, q.Text)
	return counts, wrap(err, "count the review queue")
}

// Occurrences is the log of what was not plain success of an effect, oldest first; the newest thousand.
func (l *Ledger) Occurrences(ctx context.Context, key string) ([]Occurrence, error) {
	list, err := collect(ctx, l, occurrencesSQL, func(rows pgx.CollectableRow) (o Occurrence, err error) {
		var answer *string
		err = rows.Scan(&o.ID, &o.Key, &o.Execution, &o.Kind, &o.Text, &answer, &o.At)
		if answer != nil {
			o.Answer = []byte(*answer)
		}
		return o, err
	}, key, historyLimit)
	return list, wrap(err, "read the log of %s", key)
}

// wrap adds what was being done, unless there is no error.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
