package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// SweepScope says what a sweep looks at.
type SweepScope struct {
	// Policies of the kinds that this host knows. Effects of other kinds are left alone and listed.
	Policies map[string]Policy
	// Keys restricts the sweep to these; nil: all.
	Keys []string
	// Retry is told of each effect that may be attempted again, to bring it to its end. It need not wait for
	// that. An error ends the sweep. nil: they are only counted.
	Retry func(Retakable) error
}

// Retakable is an abandoned or given back effect that may be reserved anew.
type Retakable struct {
	Key, EventID, Kind, Execution string
	// Resend: a person allowed to send it once more.
	Resend bool
	// Content must be sent as it is, if it is not nil: it may have gone out already, or a person saw it.
	// Otherwise what the event wants now is sent.
	Content json.RawMessage
}

// SweepReport says what one sweep found.
type SweepReport struct {
	Uncertain map[string]int64 // moved to incerto, by reason
	Retakable int64            // may be attempted again
	Unknown   map[string]int64 // left alone, by kind: no policy for it. At most a hundred kinds, the others under "".
}

const (
	sweepPage    = 500
	unknownKinds = 100
)

// sweepColumns are what scanAbandoned reads.
const sweepColumns = `
    chave, evento_id, tipo_efeito, execucao_id, tentativas, ao_falhar, pode_ter_saido, livre, reenvio,
    criado_em, atualizado_em, deduplica_ate, conteudo::text, clock_timestamp()`

// sweepSQL pages through what is given back or abandoned, by key, so that rows that are left alone never hide
// later ones. $1 and $2: after which row; $3: begin of the sweep (what it brings back to work is not met again);
// $4: sweep age; $5: how many.
const sweepSQL = `
select ` + sweepColumns + `
from efeito_aplicado
where estado = 'reservado'
  and (atualizado_em, chave) > ($1::timestamptz, $2::text) and atualizado_em <= $3::timestamptz
  and (livre or atualizado_em < clock_timestamp() - $4::bigint * interval '1 microsecond')
order by atualizado_em, chave limit $5`

// sweepKeysSQL is the same for some keys. $1: keys; $2: sweep age.
const sweepKeysSQL = `
select ` + sweepColumns + `
from unnest($1::text[]) as n(chave_pedida)
    cross join lateral (select * from efeito_aplicado where chave = n.chave_pedida limit 1) e
where estado = 'reservado'
  and (livre or atualizado_em < clock_timestamp() - $2::bigint * interval '1 microsecond')`

// abandonSQL moves rows to incerto that no attempt may follow. $1 keys; $2 their versions; $3 reason; $4 quarantine;
// $5 policy of those that have none (they keep none: whoever attempts them next computes their window).
const abandonSQL = `
with alvo as materialized (
    select chave, execucao_id, dono from efeito_aplicado
    where chave = any($1::text[])
      and atualizado_em = any($2::timestamptz[]) -- still the row that was judged: time and attempts only add reasons
      and estado = 'reservado' -- also where somebody changed it by hand
    order by chave
    for update
), mudou as (
    update efeito_aplicado
    set estado = 'incerto', dono = null, livre = false, reenvio = false, motivo = $3::text,
        quarentena_ate = coalesce(tentativa_em, atualizado_em) + $4::bigint * interval '1 microsecond',
        consultar_em = case when coalesce(ao_falhar, $5::text) = 'consultar' then clock_timestamp() end,
        atualizado_em = clock_timestamp()
    where chave = any(array(select chave from alvo))
)
insert into efeito_ocorrencia (chave, execucao_id, dono, tipo, detalhe)
select chave, execucao_id, dono, 'varredura', $3::text from alvo`

// abandoned is a row that a sweep met, and where it is in the order.
type abandoned struct {
	row
	Retakable
}

func scanAbandoned(rows pgx.CollectableRow) (abandoned, error) {
	var a abandoned
	var onFailure *OnFailure
	var content *string
	err := rows.Scan(&a.Key, &a.EventID, &a.Kind, &a.Retakable.Execution, &a.attempts, &onFailure, &a.mayHaveRun, &a.free, &a.resend,
		&a.created, &a.updated, &a.windowEnd, &content, &a.now)
	a.onFailure, a.Resend = value(onFailure), a.free && a.resend
	if content != nil && a.mayHaveRun {
		a.Content = json.RawMessage(*content)
	}
	return a, err
}

// Sweep deals with abandoned and given back reservations: what may be attempted again is handed to s.Retry, what
// may not becomes uncertain.
func (l *Ledger) Sweep(ctx context.Context, s SweepScope) (SweepReport, error) {
	report := SweepReport{Uncertain: map[string]int64{}, Unknown: map[string]int64{}}
	var err error
	if s.Keys != nil {
		err = l.sweepKeys(ctx, s, &report)
	} else {
		err = l.sweepAll(ctx, s, &report)
	}
	return report, wrap(err, "sweep")
}

func (l *Ledger) sweepAll(ctx context.Context, s SweepScope, report *SweepReport) error {
	begin, err := l.clock(ctx)
	if err != nil {
		return err
	}
	after := Cursor{}
	for {
		page, err := collect(ctx, l, sweepSQL, scanAbandoned, after.Version, after.Key, begin, microseconds(l.SweepAge), sweepPage)
		if err != nil {
			return err
		}
		if err := l.sweepRows(ctx, s, page, report); err != nil {
			return err
		}
		if len(page) < sweepPage {
			return nil
		}
		last := page[len(page)-1]
		after = Cursor{Version: last.updated, Key: last.Key}
	}
}

func (l *Ledger) sweepKeys(ctx context.Context, s SweepScope, report *SweepReport) error {
	for keys := s.Keys; len(keys) > 0; {
		n := min(len(keys), sweepPage)
		page, err := collect(ctx, l, sweepKeysSQL, scanAbandoned, keys[:n], microseconds(l.SweepAge))
		if err != nil {
			return err
		}
		if err := l.sweepRows(ctx, s, page, report); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// sweepRows judges a page of rows, moves those that must not be attempted again, and then hands on the others.
func (l *Ledger) sweepRows(ctx context.Context, s SweepScope, page []abandoned, report *SweepReport) error {
	type fate struct{ kind, reason string }
	hopeless := map[fate][]abandoned{}
	var retakable []Retakable
	for _, a := range page {
		policy, known := s.Policies[a.Kind]
		if !known {
			report.unknown(a.Kind)
			continue
		}
		if why := a.notRetakable(policy, l); why != "" && a.mayHaveRun && !a.Resend {
			f := fate{kind: a.Kind, reason: why}
			hopeless[f] = append(hopeless[f], a)
		} else {
			retakable = append(retakable, a.Retakable)
		}
	}
	for f, rows := range hopeless {
		moved, err := l.abandon(ctx, rows, f.reason, s.Policies[f.kind])
		if err != nil {
			return err
		}
		report.Uncertain[f.reason] += moved
	}
	report.Retakable += int64(len(retakable))
	if s.Retry == nil {
		return nil
	}
	for _, r := range retakable {
		if err := s.Retry(r); err != nil {
			return err
		}
	}
	return nil
}

func (r *SweepReport) unknown(kind string) {
	if _, listed := r.Unknown[kind]; !listed && len(r.Unknown) >= unknownKinds {
		kind = ""
	}
	r.Unknown[kind]++
}

func (l *Ledger) abandon(ctx context.Context, rows []abandoned, reason string, p Policy) (moved int64, err error) {
	keys, versions := make([]string, len(rows)), make([]time.Time, len(rows))
	for i, a := range rows {
		keys[i], versions[i] = a.Key, a.updated
	}
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	tag, err := l.pool.Exec(ctx, abandonSQL, pgx.QueryExecModeExec, keys, versions, reason,
		microseconds(l.quarantine(p)), string(p.OnFailure))
	if err != nil {
		return 0, fmt.Errorf("move %d effects to %s: %w", len(rows), Uncertain, err)
	}
	return tag.RowsAffected(), nil
}

const releasedSQL = `select ` + sweepColumns + ` from efeito_aplicado where chave = $1 and estado = 'reservado' and livre`

// Released reads an effect that was given back or that a person allowed to send once more; ok is false if it is
// not free (any more).
func (l *Ledger) Released(ctx context.Context, key string) (r Retakable, ok bool, err error) {
	rows, err := collect(ctx, l, releasedSQL, scanAbandoned, key)
	if err != nil || len(rows) == 0 {
		return r, false, wrap(err, "read %s", key)
	}
	return rows[0].Retakable, true, nil
}

func (l *Ledger) clock(ctx context.Context) (time.Time, error) {
	now, err := collect(ctx, l, `select clock_timestamp()`, pgx.RowTo[time.Time])
	if err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", err)
	}
	return now[0], nil
}
