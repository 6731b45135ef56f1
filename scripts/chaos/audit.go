package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// violation is a promise that did not hold, with all that is known of the effect.
type violation struct {
	Promise string `json:"promise"`
	Key     string `json:"key,omitempty"`
	What    string `json:"what"`
	History string `json:"history,omitempty"`
}

func (v violation) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s broken: %s %s\n%s", v.Promise, v.Key, v.What, v.History))
}

// audit collects what was found.
type audit struct {
	violations []violation
	duplicates int64
}

func (a *audit) broken(promise, key, format string, args ...any) {
	a.violations = append(a.violations, violation{Promise: promise, Key: key, What: fmt.Sprintf(format, args...)})
}

// watchSQL notes, while it happens, what must never happen.
const watchSQL = `
	create table chaos_visto (promessa text, chave text, detalhe text);
	create function chaos_versao() returns trigger language plpgsql as $$
	begin
		insert into chaos_visto values ('P7', new.pedido_id, format('from version %s to %s', old.versao_evento, new.versao_evento));
		return null;
	end $$;
	create trigger chaos_versao after update on comissao for each row
		when (new.versao_evento < old.versao_evento) execute function chaos_versao();
	create function chaos_apagada() returns trigger language plpgsql as $$
	begin
		insert into chaos_visto values ('P4', old.chave, format('the row was deleted: %s', to_jsonb(old)));
		return null;
	end $$;
	create trigger chaos_apagada after delete on efeito_aplicado for each row execute function chaos_apagada();`

// effect is a row of the ledger, with the decisions about it.
type effect struct {
	state, result string
	resends       int
	verdict       string // the last
	forced        bool
}

const effectsSQL = `
	select e.chave, e.estado, coalesce(e.desfecho, ''), coalesce(r.reenvios, 0), coalesce(r.ultima, ''), coalesce(r.forcada, false)
	from efeito_aplicado e left join (
		select chave, count(*) filter (where decisao = 'reenviar') as reenvios, (array_agg(decisao order by id desc))[1] as ultima, bool_or(forcada) as forcada
		from efeito_revisao group by chave) r using (chave)`

// audit compares the ledger with what the provider counted, and the state with a fold of the archive.
func (s *site) audit(ctx context.Context, a *audit) error {
	s.say("audit")
	seen, err := s.pool.Query(ctx, `select promessa, chave, detalhe from chaos_visto`)
	if err != nil {
		return err
	}
	var promise, key, detail string
	if _, err := pgx.ForEachRow(seen, []any{&promise, &key, &detail}, func() error { a.broken(promise, key, "%s", detail); return nil }); err != nil {
		return err
	}
	effects := map[string]effect{}
	rows, err := s.pool.Query(ctx, effectsSQL)
	if err != nil {
		return err
	}
	var e effect
	if _, err := pgx.ForEachRow(rows, []any{&key, &e.state, &e.result, &e.resends, &e.verdict, &e.forced}, func() error { effects[key] = e; return nil }); err != nil {
		return err
	}
	s.auditDeliveries(a, effects)
	s.auditEvents(a, effects)
	if err := s.auditState(ctx, a); err != nil {
		return err
	}
	if code, out := s.reprise(ctx, "verify"); code != exitDone {
		a.broken("P12", "", "reprise verify: exit %d: %s", code, out)
	}
	const enough = 20 // to read
	for i := range a.violations[:min(enough, len(a.violations))] {
		v := &a.violations[i]
		if v.History, err = s.history(ctx, v.Key); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) deduplicates() bool { return s.Policy == ledger.Release }

// auditDeliveries goes through every key that came to the provider.
func (s *site) auditDeliveries(a *audit, effects map[string]effect) {
	promise := "P1"
	if s.deduplicates() {
		promise = "P2"
	}
	for _, key := range s.provider.Keys() {
		c := s.provider.Count(key)
		e, known := effects[key]
		if !known {
			a.broken("P4", key, "came to the provider %d times and has no row", c.Requests)
		}
		if c.Delivered > 1+e.resends {
			a.duplicates++
			a.broken(promise, key, "was delivered %d times, with %d decisions to send it again", c.Delivered, e.resends)
		}
	}
	if n := s.provider.Totals().Faults[faultprovider.Conflict]; n > 0 {
		a.broken("P2", "", "%d requests carried another content under a key that had been acted on", n)
	}
	for key, e := range effects {
		delivered := s.provider.Delivered(key)
		decided, noted := s.noted.delivered[key]
		switch {
		case e.state == string(ledger.Reserved):
			a.broken("P3", key, "is still reserved")
		case e.result == string(ledger.Applied) && delivered == 0:
			a.broken("P8", key, "counts as applied and was never delivered")
		case e.result == string(ledger.Refused) && delivered > 0 && !s.deduplicates() && e.resends == 0:
			a.broken("P8", key, "counts as refused and was delivered")
		case e.state == string(ledger.Done) && noted && (e.verdict == "confirmar" || e.verdict == "descartar") && delivered != decided:
			a.broken("P6", key, "was decided (%s) at %d deliveries; now there are %d", e.verdict, decided, delivered)
		case e.forced:
			a.broken("P6", key, "was decided while a call could be alive, though nobody forced it")
		}
	}
}

// auditEvents: every effect that an archived event wants is done, or waits for a person, or was settled by one.
func (s *site) auditEvents(a *audit, effects map[string]effect) {
	for _, e := range s.archive.events {
		if e.Type != "pedido.pago" || e.Poison {
			continue
		}
		key := ledger.Key(e.ID, notify)
		if _, ok := effects[key]; !ok {
			a.broken("P8", key, "position %d is archived, and its effect is not in the ledger", e.Position)
		}
	}
}

// auditState folds the archive, one event after the other, and compares.
func (s *site) auditState(ctx context.Context, a *audit) error {
	type state struct{ value, version int64 }
	want := map[string]state{}
	for _, e := range s.archive.events {
		if e.Type != "pedido.pago" || e.Poison || e.Version < want[e.OrderID].version {
			continue
		}
		var p struct {
			ValorCentavos int64
			Percentual    float64
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			return err
		}
		want[e.OrderID] = state{int64(math.Floor(float64(p.ValorCentavos)*p.Percentual/100 + 0.5)), e.Version}
	}
	rows, err := s.pool.Query(ctx, `select pedido_id, valor_centavos, versao_evento from comissao`)
	if err != nil {
		return err
	}
	var order string
	var got state
	_, err = pgx.ForEachRow(rows, []any{&order, &got.value, &got.version}, func() error {
		if want[order] != got {
			a.broken("P7", order, "holds %+v, a serial fold of the archive gives %+v", got, want[order])
		}
		delete(want, order)
		return nil
	})
	for order, w := range want {
		a.broken("P7", order, "has no commission, a serial fold of the archive gives %+v", w)
	}
	return err
}

// behindCheckpoints: a checkpoint never passed an event whose effect is not settled. What came late, behind a
// checkpoint, is the matter of a later replay.
func (s *site) behindCheckpoints(ctx context.Context, a *audit) error {
	const sql = `
		select f.estado, e.posicao, e.id, c.execucao_id, c.particao
		from reprocessamento_checkpoint c
		join evento_arquivado e on e.posicao between coalesce(c.posicao_de, 1) and c.ultima_posicao
		left join reprocessamento r on r.id = c.execucao_id
		left join efeito_aplicado f on f.chave = e.id || ':' || $1
		where e.tipo = 'pedido.pago' and coalesce(r.modo, 'aplicar') = 'aplicar' and (f.estado is null or f.estado = 'reservado')`
	poison := map[int64]bool{}
	for _, e := range s.archive.events {
		if e.Poison {
			poison[e.Position] = true
		}
	}
	rows, err := s.pool.Query(ctx, sql, notify)
	if err != nil {
		return err
	}
	var state *string
	var position int64
	var id, execution string
	var part int
	_, err = pgx.ForEachRow(rows, []any{&state, &position, &id, &execution, &part}, func() error {
		if !poison[position] && !s.archive.late[position] {
			a.broken("P8", ledger.Key(id, notify), "position %d is behind the checkpoint of partition %d of %s, and its effect is not settled", position, part, execution)
		}
		return nil
	})
	return err
}

const historySQL = `
	select coalesce((select 'row ' || to_jsonb(e) from efeito_aplicado e where chave = $1), 'no row') ||
		coalesce((select string_agg(E'\n' || linha, '' order by criado_em, n) from (
			select criado_em, 1 as n, 'occurrence ' || to_jsonb(o) as linha from efeito_ocorrencia o where chave = $1
			union all select criado_em, 2, 'decision ' || to_jsonb(v) from efeito_revisao v where chave = $1) h), '')`

// history is all that ledger and provider know of a key.
func (s *site) history(ctx context.Context, key string) (string, error) {
	if _, _, ok := ledger.SplitKey(key); !ok {
		return "", nil
	}
	var text string
	if err := s.pool.QueryRow(ctx, historySQL, key).Scan(&text); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", err
	}
	return fmt.Sprintf("%s\nprovider %+v", text, s.provider.Count(key)), nil
}
