package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/schema/pgtest"
)

// everyReservation inserts a reservation of every kind: the product of all that its fate depends on. $1: kind of
// effect; $2: hash of what the caller would send.
const everyReservation = `
insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, criado_em, atualizado_em,
    livre, reenvio, pode_ter_saido, ao_falhar, tentativas, deduplica_ate, conteudo_hash, conteudo)
select id || ':' || $1::text, id, $1, 'reservado', 'before', t.agora - criada, t.agora - idade,
    livre, reenvio, saiu, ao_falhar, tentativas, t.agora + janela, hash, '1'
from (select clock_timestamp() as agora) t
    cross join (values (true), (false)) a(livre)
    cross join (values (interval '1 minute'), ('6 minutes')) b(idade)
    cross join (values (interval '10 minutes'), ('3 hours')) c(criada)
    cross join (values (true), (false)) d(reenvio)
    cross join (values (true), (false)) e(saiu)
    cross join (values (null), ('liberar'), ('manter'), ('consultar')) f(ao_falhar)
    cross join (values (1), (5)) g(tentativas)
    cross join (values (null), (interval '1 hour'), ('5 seconds'), ('-1 hour')) h(janela)
    cross join (values (null::bytea), ($2), ('other'::bytea)) i(hash)
    cross join lateral (select concat_ws('/', case when livre then 'free' end, idade, criada, case when reenvio then 'resend' end,
        case when saiu then 'left' end, coalesce(ao_falhar, '-'), tentativas, coalesce(janela::text, '-'),
        case when hash = $2 then 'same' when hash is null then '-' else 'other' end)) k(id)`

// What is predicted to those who look is what happens to those who reserve, and the reason that is given is the
// one that holds. The rule itself is written a third time here, as a sentence.
func TestP1_WhatLookPredictsIsWhatReserveDoes(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	l := New(pool, Options{})
	t.Cleanup(l.Close)
	content := json.RawMessage(`{"valorCentavos":150}`)
	for kind, policy := range map[string]Policy{
		"release":  {OnFailure: Release, CallTimeout: time.Second},
		"windowed": {OnFailure: Release, CallTimeout: time.Second, DedupWindow: time.Hour},
		"keep":     {OnFailure: Keep, CallTimeout: time.Second},
		"look-up":  {OnFailure: LookUp, CallTimeout: time.Second},
	} {
		if _, err := pool.Exec(t.Context(), everyReservation, kind, hashOf(content)); err != nil {
			t.Fatal(err)
		}
		rows, err := pool.Query(t.Context(), `
			select evento_id, livre or atualizado_em < clock_timestamp() - interval '5 minutes', livre and reenvio, pode_ter_saido,
				coalesce(ao_falhar, ''), tentativas, criado_em, deduplica_ate, conteudo_hash is not null and conteudo_hash <> $2, clock_timestamp()
			from efeito_aplicado where tipo_efeito = $1`, kind, hashOf(content))
		if err != nil {
			t.Fatal(err)
		}
		type facts struct {
			ID                      string
			Ownerless, Resend, Left bool
			OnFailure               OnFailure
			Attempts                int
			Created                 time.Time
			WindowEnd               *time.Time
			Other                   bool
			Now                     time.Time
			predicted, standing     Status
		}
		all, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (f facts, err error) {
			return f, r.Scan(&f.ID, &f.Ownerless, &f.Resend, &f.Left, &f.OnFailure, &f.Attempts, &f.Created, &f.WindowEnd, &f.Other, &f.Now)
		})
		if err != nil || len(all) != 3072 {
			t.Fatal(len(all), err)
		}
		for part := range slices.Chunk(all, 512) {
			effects, asked := make([]Effect, len(part)), make([]*reserving, len(part))
			for i, f := range part {
				effects[i] = Effect{EventID: f.ID, Kind: kind, Execution: "after", Content: content, Policy: policy}
				if asked[i], err = l.newReserving(t.Context(), effects[i]); err != nil {
					t.Fatal(err)
				}
			}
			predicted, err := l.Look(t.Context(), effects)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.reserveOnce(policy, asked); err != nil {
				t.Fatal(err)
			}
			for i := range part {
				part[i].predicted, part[i].standing = predicted[i], asked[i].status
			}
		}
		for _, f := range all {
			deduplicates, end := f.OnFailure == Release, f.WindowEnd
			if f.OnFailure == "" {
				deduplicates, end = policy.OnFailure == Release, nil
				if policy.DedupWindow > 0 {
					e := f.Created.Add(policy.DedupWindow)
					end = &e
				}
			}
			mine := f.Ownerless && (!f.Left || !f.Other && (f.Resend ||
				deduplicates && f.Attempts < 5 && (end == nil || end.After(f.Now.Add(11*time.Second)))))
			if (f.standing.Standing == Mine) != mine {
				t.Errorf("%s: %s by policy %s", f.ID, f.standing.Standing, kind)
			}
			if mine != (f.predicted.Standing == Absent) {
				t.Errorf("%s: predicted %s by policy %s", f.ID, f.predicted.Standing, kind)
			}
			if !mine && fmt.Sprint(f.predicted) != fmt.Sprint(f.standing) {
				t.Errorf("%s: predicted %+v, found %+v by policy %s", f.ID, f.predicted, f.standing, kind)
			}
			if review := f.Ownerless && !mine && !(f.Resend && f.Left); review != (f.standing.Standing == NeedsReview) || review != (f.standing.Standing == NeedsReview && f.standing.Reason != "") {
				t.Errorf("%s: %+v by policy %s", f.ID, f.standing, kind)
			}
		}
	}
}
