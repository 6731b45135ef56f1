package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/schema/pgtest"
	"reprise.dev/reprise/schema/seedsql"
)

const key = "ev-1:notificar-vendedor"

// provider is the consumer's gateway: it counts deliveries by key, and fails while told to.
type provider struct {
	calls  []string
	bodies []string
	fails  error
}

func (p *provider) call(_ context.Context, key string, body []byte) error {
	p.calls = append(p.calls, key)
	p.bodies = append(p.bodies, string(body))
	return p.fails
}

func paid(id string, version int64) seedsql.Event {
	return seedsql.Event{
		ID: id, Type: seedsql.OrderPaid, Order: "pedido-7", Version: version,
		Payload: json.RawMessage(`{"valorCentavos": 10050, "percentual": 5}`),
	}
}

// consumer returns one with its provider, and the outcomes that it reports.
func consumer(pool *pgxpool.Pool, onFailure string) (seedsql.Consumer, *provider, *[]string) {
	p, outcomes := new(provider), new([]string)
	return seedsql.Consumer{
		Pool: pool, Gateway: p.call, Execution: seedsql.Live,
		Policy:  seedsql.Policy{seedsql.NotifySeller: {Mode: seedsql.Apply, OnFailure: onFailure}},
		Observe: func(_, outcome string) { *outcomes = append(*outcomes, outcome) },
	}, p, outcomes
}

// effect is what a test looks at in a row of the ledger.
type effect struct {
	State, Execution string
	Owner            *string
	Attempts         int
	Given            bool // "livre"
	MayHaveLeft      bool
}

func readEffect(t *testing.T, pool *pgxpool.Pool, key string) *effect {
	t.Helper()
	rows, err := pool.Query(t.Context(), `select estado, execucao_id, dono, tentativas, livre, pode_ter_saido from efeito_aplicado where chave = $1`, key)
	if err != nil {
		t.Fatal(err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByPos[effect])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func wantEffect(t *testing.T, pool *pgxpool.Pool, want *effect) {
	t.Helper()
	if diff := cmp.Diff(want, readEffect(t, pool, key)); diff != "" {
		t.Errorf("row of %s: %s", key, diff)
	}
}

// reserved stores a reservation as Reprise makes it.
func reserved(t *testing.T, pool *pgxpool.Pool, owner, onFailure, age string) {
	t.Helper()
	exec(t, pool, `
insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, dono, ao_falhar,
    primeira_tentativa_em, tentativa_em, criado_em, atualizado_em)
values ($1, 'ev-1', 'notificar-vendedor', 'reservado', 'replay-1', $2, $3,
    now() - $4::interval, now() - $4::interval, now() - $4::interval, now() - $4::interval)`, key, owner, onFailure, age)
}

func TestTheConsumerWorksUnchanged(t *testing.T) {
	for _, mode := range []string{"cache_statement", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			pool := open(t, pgtest.NewURL(t)+"&default_query_exec_mode="+mode)
			c, p, outcomes := consumer(pool, seedsql.Release)
			for _, event := range []seedsql.Event{paid("ev-2", 2), paid("ev-2", 2), paid("ev-1", 1)} {
				if err := c.Apply(t.Context(), event); err != nil {
					t.Fatal(err)
				}
			}
			wantOutcomes := []string{"gravado", "aplicado", "gravado", "ja-registrado", "ignorado-versao-mais-nova", "aplicado"}
			if !slices.Equal(*outcomes, wantOutcomes) {
				t.Errorf("outcomes %q, want %q", *outcomes, wantOutcomes)
			}
			if want := []string{"ev-2:notificar-vendedor", key}; !slices.Equal(p.calls, want) {
				t.Errorf("calls %q, want %q", p.calls, want)
			}
			if want := `{"pedidoId":"pedido-7","valorCentavos":503}`; p.bodies[0] != want {
				t.Errorf("body %s, want %s", p.bodies[0], want)
			}
			state := query[string](t, pool, `select format('%s v%s', valor_centavos, versao_evento) from comissao where pedido_id = 'pedido-7'`)
			if state != "503 v2" {
				t.Errorf("commission %s, want 503 v2", state)
			}
			wantEffect(t, pool, &effect{State: "concluido", Execution: seedsql.Live, Attempts: 1, MayHaveLeft: true})
			if result := query[string](t, pool, `select resultado::text from efeito_aplicado where chave = $1`, key); result != "null" {
				t.Errorf("resultado %s, want JSON null", result)
			}
		})
	}
}

func TestTheConsumersSimulationWorksUnchanged(t *testing.T) {
	pool := pgtest.New(t)
	c, p, outcomes := consumer(pool, seedsql.Release)
	c.Simulate, c.Execution = true, "simulacao-1"
	exec(t, pool, `insert into comissao (pedido_id, valor_centavos, versao_evento) values ('pedido-7', 50, 1)`)
	for range 2 {
		if err := c.Apply(t.Context(), paid("ev-1", 1)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := query[string](t, pool, `select format('%s %s %s', pedido_id, antes, depois) from reprocessamento_diff`); diff != "pedido-7 50 503" {
		t.Errorf("diff %q, want pedido-7 50 503", diff)
	}
	if len(p.calls) > 0 || !slices.Equal(*outcomes, []string{"seria-aplicado", "seria-aplicado"}) {
		t.Errorf("calls %q, outcomes %q", p.calls, *outcomes)
	}
}

func TestTheConsumerReleasesByDeletingAndReservesAgain(t *testing.T) {
	pool := pgtest.New(t)
	c, p, _ := consumer(pool, seedsql.Release)
	p.fails = errors.New("503")
	if err := c.Apply(t.Context(), paid("ev-1", 1)); !errors.Is(err, p.fails) {
		t.Fatalf("got %v, want the provider's error", err)
	}
	wantEffect(t, pool, nil)
	p.fails = nil
	if err := c.Apply(t.Context(), paid("ev-1", 1)); err != nil {
		t.Fatal(err)
	}
	wantEffect(t, pool, &effect{State: "concluido", Execution: seedsql.Live, Attempts: 1, MayHaveLeft: true})
}

func TestTheConsumerKeepsAFailureInDoubt(t *testing.T) {
	pool := pgtest.New(t)
	c, p, _ := consumer(pool, seedsql.Keep)
	p.fails = errors.New("connection reset")
	if err := c.Apply(t.Context(), paid("ev-1", 1)); err != nil {
		t.Fatal(err)
	}
	wantEffect(t, pool, &effect{State: "incerto", Execution: seedsql.Live, Attempts: 1, MayHaveLeft: true})
}

func TestP5_TheConsumerRetakesAStaleReservationAndTheFormerOwnersTokenIsGone(t *testing.T) {
	pool := pgtest.New(t)
	reserved(t, pool, "token-a", seedsql.Release, "10 minutes")
	c, p, _ := consumer(pool, seedsql.Release)
	var during *effect
	c.Gateway = func(ctx context.Context, key string, body []byte) error {
		during = readEffect(t, pool, key)
		// The former owner wakes up and reports; it names its token.
		tag, err := pool.Exec(ctx, `update efeito_aplicado set estado = 'concluido', dono = null where chave = $1 and dono = 'token-a' and estado = 'reservado'`, key)
		if err != nil || tag.RowsAffected() != 0 {
			t.Errorf("the former owner changed %d rows (%v), want none", tag.RowsAffected(), err)
		}
		return p.call(ctx, key, body)
	}
	if err := c.Apply(t.Context(), paid("ev-1", 1)); err != nil {
		t.Fatal(err)
	}
	want := &effect{State: "reservado", Execution: seedsql.Live, Attempts: 2, MayHaveLeft: true}
	if diff := cmp.Diff(want, during); diff != "" {
		t.Errorf("while the consumer called: %s", diff)
	}
	wantEffect(t, pool, &effect{State: "concluido", Execution: seedsql.Live, Attempts: 2, MayHaveLeft: true})
}

func TestTheConsumerDoesNotRetake(t *testing.T) {
	for name, row := range map[string]struct{ onFailure, age, change string }{
		"P1 what was reserved for a provider that does not deduplicate": {seedsql.Keep, "10 minutes", ``},
		"P1 what waits for a look-up":                                   {"consultar", "10 minutes", ``},
		"P2 what the provider may have forgotten":                       {seedsql.Release, "2 hours", `update efeito_aplicado set deduplica_ate = now() - interval '1 hour'`},
		"P5 a young reservation":                                        {seedsql.Release, "4 minutes", ``},
	} {
		t.Run(name, func(t *testing.T) {
			pool := pgtest.New(t)
			reserved(t, pool, "token-a", row.onFailure, row.age)
			if row.change != "" {
				exec(t, pool, row.change)
			}
			c, p, outcomes := consumer(pool, seedsql.Release)
			if err := c.Apply(t.Context(), paid("ev-1", 1)); err != nil {
				t.Fatal(err)
			}
			if len(p.calls) > 0 || !slices.Contains(*outcomes, "ja-registrado") {
				t.Errorf("calls %q, outcomes %q; want no call", p.calls, *outcomes)
			}
			owner := "token-a"
			wantEffect(t, pool, &effect{State: "reservado", Execution: "replay-1", Owner: &owner, Attempts: 1, MayHaveLeft: true})
		})
	}
}

func TestTheConsumerRetakesWhatNeverLeftWhateverThePolicy(t *testing.T) {
	pool := pgtest.New(t)
	reserved(t, pool, "token-a", seedsql.Keep, "10 minutes")
	exec(t, pool, `update efeito_aplicado set pode_ter_saido = false`)
	c, p, _ := consumer(pool, seedsql.Release)
	if err := c.Apply(t.Context(), paid("ev-1", 1)); err != nil {
		t.Fatal(err)
	}
	if len(p.calls) != 1 {
		t.Errorf("%d calls, want 1", len(p.calls))
	}
}

func TestP4_ADeleteDoesNotForgetWhatRepriseOwns(t *testing.T) {
	for _, state := range []string{"reservado", "concluido", "incerto"} {
		t.Run(state, func(t *testing.T) {
			pool := pgtest.New(t)
			reserved(t, pool, "token-a", seedsql.Release, "1 minute")
			exec(t, pool, `update efeito_aplicado set estado = $1, motivo = 'sem-resposta'`, state)
			exec(t, pool, seedsql.GiveBack, key)
			exec(t, pool, `delete from efeito_aplicado`)
			owner := "token-a"
			wantEffect(t, pool, &effect{State: state, Execution: "replay-1", Owner: &owner, Attempts: 1, MayHaveLeft: true})
		})
	}
}

func TestP4_ADeleteDoesNotForgetAReservationThatWasNotAttemptedYet(t *testing.T) {
	pool := pgtest.New(t)
	reserved(t, pool, "token-a", seedsql.Release, "1 minute")
	exec(t, pool, `update efeito_aplicado set primeira_tentativa_em = null, pode_ter_saido = false`)
	exec(t, pool, seedsql.GiveBack, key)
	owner := "token-a"
	wantEffect(t, pool, &effect{State: "reservado", Execution: "replay-1", Owner: &owner, Attempts: 1})
}

func TestP4_WhatRepriseOnceAttemptedIsGivenBackAndTheConsumerMayTakeItAgainAtOnce(t *testing.T) {
	pool := pgtest.New(t)
	reserved(t, pool, "token-a", seedsql.Release, "10 minutes")
	c, p, _ := consumer(pool, seedsql.Release)
	p.fails = errors.New("503")
	if err := c.Apply(t.Context(), paid("ev-1", 1)); !errors.Is(err, p.fails) {
		t.Fatalf("got %v, want the provider's error", err)
	}
	wantEffect(t, pool, &effect{State: "reservado", Execution: seedsql.Live, Attempts: 2, Given: true, MayHaveLeft: true})

	p.fails = nil
	if err := c.Apply(t.Context(), paid("ev-1", 1)); err != nil {
		t.Fatal(err)
	}
	wantEffect(t, pool, &effect{State: "concluido", Execution: seedsql.Live, Attempts: 3, MayHaveLeft: true})
}

func TestP5_TheConsumersLateFailureChangesNothing(t *testing.T) {
	owner := "token-a"
	for name, test := range map[string]struct {
		prepare string
		want    *effect
	}{
		"on a row that Reprise owns by now": {
			`update efeito_aplicado set conteudo = '{}'`,
			&effect{State: "reservado", Execution: "replay-1", Owner: &owner, Attempts: 1, MayHaveLeft: true},
		},
		"on a row that is done": {
			`update efeito_aplicado set estado = 'concluido', dono = null, desfecho = 'aplicado'`,
			&effect{State: "concluido", Execution: "replay-1", Attempts: 1, MayHaveLeft: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool := pgtest.New(t)
			reserved(t, pool, owner, seedsql.Release, "1 minute")
			exec(t, pool, test.prepare)
			exec(t, pool, seedsql.Doubt, key)
			wantEffect(t, pool, test.want)
			logged := query[int](t, pool, `select count(*) from efeito_ocorrencia where chave = $1 and tipo = 'resposta-tardia'`, key)
			if logged != 1 {
				t.Errorf("%d occurrences logged, want 1", logged)
			}
		})
	}
}

func TestTheConsumersLateSuccessIsTaken(t *testing.T) {
	for name, prepare := range map[string]string{
		"on a row that Reprise owns by now": `update efeito_aplicado set conteudo = '{}'`,
		"on a row that was swept":           `update efeito_aplicado set estado = 'incerto', dono = null, motivo = 'abandonada'`,
	} {
		t.Run(name, func(t *testing.T) {
			pool := pgtest.New(t)
			reserved(t, pool, "token-a", seedsql.Release, "1 minute")
			exec(t, pool, prepare)
			exec(t, pool, seedsql.Complete, key, `{"id": "m-1"}`)
			if state := readEffect(t, pool, key).State; state != "concluido" {
				t.Errorf("state %s, want concluido", state)
			}
		})
	}
}

func TestRepriseItselfIsNotTakenForTheConsumer(t *testing.T) {
	owner := "token-a"
	pool := pgtest.New(t)
	reserved(t, pool, owner, seedsql.Release, "10 minutes")
	exec(t, pool, `update efeito_aplicado set tentativas = tentativas + 1, atualizado_em = clock_timestamp() where dono = $1`, owner)
	wantEffect(t, pool, &effect{State: "reservado", Execution: "replay-1", Owner: &owner, Attempts: 2, MayHaveLeft: true})
	exec(t, pool, `update efeito_aplicado set atualizado_em = clock_timestamp() where dono = $1`, owner) // renews a young one
	wantEffect(t, pool, &effect{State: "reservado", Execution: "replay-1", Owner: &owner, Attempts: 2, MayHaveLeft: true})
	exec(t, pool, `update efeito_aplicado set estado = 'incerto', motivo = 'sem-resposta', atualizado_em = clock_timestamp() where dono = $1`, owner)
	wantEffect(t, pool, &effect{State: "incerto", Execution: "replay-1", Owner: &owner, Attempts: 2, MayHaveLeft: true})
}

// TestEveryColumnTellsRepriseFromTheConsumer: whatever of these a statement changes, it is no retake by a consumer, which the
// policy would forbid.
func TestEveryColumnTellsRepriseFromTheConsumer(t *testing.T) {
	for name, change := range map[string]struct{ before, set string }{
		"dono":           {"", "dono = 'token-b'"},
		"tentativas":     {"", "tentativas = tentativas + 1"},
		"tentativa_em":   {"", "tentativa_em = clock_timestamp()"},
		"pode_ter_saido": {"", "pode_ter_saido = false"},
		"livre":          {"", "livre = true"},
		"estado":         {"estado = 'incerto', dono = null, motivo = 'abandonada'", "estado = 'reservado'"},
	} {
		pool := pgtest.New(t)
		reserved(t, pool, "token-a", seedsql.Keep, "10 minutes")
		if change.before != "" {
			exec(t, pool, `update efeito_aplicado set `+change.before)
		}
		tag, err := pool.Exec(t.Context(), `update efeito_aplicado set atualizado_em = clock_timestamp(), `+change.set)
		if err != nil {
			t.Fatal(err)
		}
		if tag.RowsAffected() != 1 {
			t.Errorf("%s: the statement was taken for a retake", name)
		}
	}
}

func TestAConsumerWithRightsToTheSharedTablesOnly(t *testing.T) {
	pool := pgtest.New(t)
	reserved(t, pool, "token-a", seedsql.Release, "10 minutes")
	role := "consumidor_" + query[string](t, pool, `select replace(gen_random_uuid()::text, '-', '')`)
	exec(t, pool, `create role `+role)
	t.Cleanup(func() {
		for _, statement := range []string{`drop owned by ` + role, `drop role ` + role} {
			if _, err := pool.Exec(context.Background(), statement); err != nil {
				t.Error(err)
			}
		}
	})
	exec(t, pool, `grant select, insert, update, delete on evento_arquivado, comissao, efeito_aplicado to `+role)

	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	for _, statement := range []struct {
		sql       string
		arguments []any
	}{
		{`set local role ` + role, nil},
		{`insert into evento_arquivado values (1, 'ev-1', 'pedido.pago', 'pedido-7', 1, '{}', now())`, nil},
		{seedsql.SaveCommission, []any{"pedido-7", 503, 1}},
		{seedsql.Reserve, []any{key, "ev-1", seedsql.NotifySeller, seedsql.Live, true}},
		{seedsql.GiveBack, []any{key}},
		{seedsql.Reserve, []any{key, "ev-1", seedsql.NotifySeller, seedsql.Live, true}},
		{seedsql.Complete, []any{key, `null`}},
		{seedsql.Doubt, []any{key}},
	} {
		if _, err := tx.Exec(t.Context(), statement.sql, statement.arguments...); err != nil {
			t.Fatalf("%s: %v", statement.sql, err)
		}
	}
	var state string
	if err := tx.QueryRow(t.Context(), `select estado from efeito_aplicado`).Scan(&state); err != nil || state != "concluido" {
		t.Errorf("state %q (%v), want concluido", state, err)
	}
}
