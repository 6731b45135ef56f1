package ledger_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/pgtest"
)

// size is how much a ledger holds of everything that is not in question.
type size struct{ done, queue, log int }

var (
	young           = size{done: 1_000, queue: 500, log: 500}
	old             = size{done: 200_000, queue: 20_000, log: 20_000}
	mostlyUncertain = size{done: 10_000, queue: 20_000, log: 20_000}
)

var ledgerTables = []string{"efeito_aplicado", "efeito_ocorrencia", "efeito_revisao"}

// growSQL fill a ledger, each in an order that has nothing to do with the one in which it is asked for. Forty effects
// of the review queue are of a rare kind, forty of a rare execution and forty uncertain for a rare reason, all over it.
var growSQL = []struct {
	sql string
	n   func(size) int
}{
	{`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, conteudo, dono, ao_falhar, desfecho)
		select format('ev-%s:notificar-vendedor', i), format('ev-%s', i), 'notificar-vendedor', 'concluido', 'ao-vivo', '{"valorCentavos": 150}', 'token-' || i, 'manter', 'aplicado'
		from generate_series(1, $1) i order by md5(i::text)`, func(s size) int { return s.done }},
	{`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, motivo, ao_falhar, conteudo, atualizado_em, consultar_em)
		select format('doubt-%s:%s', i, k), format('doubt-%s', i), k, 'incerto', case when i % ($1 / 40) = 1 then 'rare' else 'often' end,
			case when i % ($1 / 40) = 2 then 'rare' else 'often' end, 'consultar', '{}', '2026-10-14'::timestamptz + i * interval '1 second',
			clock_timestamp() + i * interval '1 hour'
		from (select i, case when i % ($1 / 40) = 0 then 'rare' else 'often' end as k from generate_series(1, $1) i) x order by md5(i::text)`, func(s size) int { return s.queue }},
	{`insert into efeito_ocorrencia (chave, execucao_id, tipo, dono)
		select format('doubt-%s:often', i), 'often', 'falha-ambigua', 'token-' || i from generate_series(1, $1) i order by md5(i::text)`, func(s size) int { return s.log }},
	{`insert into efeito_revisao (chave, decisao, revisor, nota, estado_antes, versao_vista, criado_em, hash_anterior, hash)
		select format('doubt-%s:often', i), 'confirmar', 'r', 'n', 'incerto', 'epoch', 'epoch', '', sha256(i::text::bytea)
		from generate_series(1, $1) i order by md5(i::text)`, func(s size) int { return s.log }},
}

// growing is a ledger under measurement.
type growing struct {
	t      *testing.T
	l      *ledger.Ledger
	pool   *pgxpool.Pool
	size   size
	round  int
	blocks map[string]int64 // by what was asked
}

func grow(t *testing.T, s size, before, after string) *growing {
	t.Helper()
	l, pool := open(t, ledger.Options{})
	for _, table := range ledgerTables {
		execSQL(t, pool, `alter table `+table+` set (autovacuum_enabled = off)`)
	}
	execSQL(t, pool, before)
	for _, g := range growSQL {
		execSQL(t, pool, g.sql, g.n(s))
	}
	execSQL(t, pool, after)
	return &growing{t: t, l: l, pool: pool, size: s}
}

// cost measures one kind of statement.
func (g *growing) cost(what string, f func() error) {
	g.t.Helper()
	var err error
	n := pgtest.Blocks(g.t, g.pool, "", func() { err = f() })
	if err != nil {
		g.t.Fatalf("%s: %v", what, err)
	}
	g.blocks[what] = n
}

// measure asks the ledger everything that grows with the number of effects, the same number of times whatever it holds.
func (g *growing) measure() map[string]int64 {
	g.t.Helper()
	g.round++
	g.blocks = map[string]int64{}
	g.attempts()
	g.queue()
	g.sweeps()
	// As it was before: nothing of this round waits any more.
	execSQL(g.t, g.pool, `update efeito_aplicado set estado = 'concluido', desfecho = 'aplicado', motivo = null, consultar_em = null, dono = null
		where starts_with(chave, 'new-') and estado <> 'concluido'`)
	execSQL(g.t, g.pool, `vacuum efeito_aplicado`)
	return g.blocks
}

const times = 40

// effects of this round, which nobody has seen before.
func (g *growing) effects(what string, onFailure ledger.OnFailure) []ledger.Effect {
	list := make([]ledger.Effect, times)
	for i := range list {
		list[i] = effect(fmt.Sprintf("new-%s-%d-%d", what, g.round, i*7919%times), onFailure)
	}
	return list
}

func (g *growing) reserveAll(list []ledger.Effect) []ledger.Reservation {
	g.t.Helper()
	var taken []ledger.Reservation
	for _, e := range list {
		taken = append(taken, reserve(g.t, g.l, e))
	}
	return taken
}

func each[T any](list []T, f func(T) error) func() error {
	return func() error {
		for _, v := range list {
			if err := f(v); err != nil {
				return err
			}
		}
		return nil
	}
}

// attempts are all ways in which one begins and ends.
func (g *growing) attempts() {
	ctx := g.t.Context()
	known := make([]ledger.Effect, times)
	for i := range known {
		known[i] = effect(fmt.Sprintf("ev-%d", 1+i*g.size.done/times), ledger.Keep)
	}
	g.cost("look", func() error { _, err := g.l.Look(ctx, known); return err })
	g.cost("find", each(known, func(e ledger.Effect) error { _, err := g.l.Do(ctx, e, nil); return err }))

	list := g.effects("done", ledger.Keep)
	var taken []ledger.Reservation
	g.cost("reserve", func() error { taken = g.reserveAll(list); return nil })
	g.cost("complete", each(taken, func(r ledger.Reservation) error { return g.l.Complete(ctx, r, nil) }))
	g.cost("refuse", each(g.reserveAll(g.effects("refused", ledger.Keep)), func(r ledger.Reservation) error {
		return g.l.Refuse(ctx, r, &ledger.RefusedError{Reason: "x"})
	}))
	g.cost("give back", each(g.reserveAll(g.effects("unsent", ledger.Keep)), func(r ledger.Reservation) error { return g.l.GiveBack(ctx, r, errNoRoute) }))
	g.cost("released", each(g.effects("unsent", ledger.Keep), func(e ledger.Effect) error {
		_, ok, err := g.l.Released(ctx, e.Key())
		if !ok {
			return errors.Join(err, errors.New("it is not free"))
		}
		return err
	}))
	doubtful := g.reserveAll(g.effects("doubt", ledger.Keep))
	g.cost("doubt", each(doubtful, func(r ledger.Reservation) error { _, _, err := g.l.Doubt(ctx, r, errTimeout); return err }))
	g.cost("late", each(doubtful, func(r ledger.Reservation) error {
		if err := g.l.Complete(ctx, r, nil); !errors.Is(err, ledger.ErrLostOwnership) {
			return fmt.Errorf("a late answer: %w", err)
		}
		return nil
	}))
	g.cost("decide", each(doubtful[:times/2], func(r ledger.Reservation) error { decide(g.t, g.l, r.Key(), ledger.Confirm); return nil }))
	g.cost("decide again", each(doubtful[:times/2], func(r ledger.Reservation) error {
		_, err := g.l.Decide(ctx, ledger.Decision{Key: r.Key(), Verdict: ledger.Confirm, Note: "n", Seen: time.Unix(0, 0)})
		if !errors.Is(err, ledger.ErrNotUncertain) {
			return err
		}
		return nil
	}))
}

// queue are the pages of the review queue, and what is told of one effect.
func (g *growing) queue() {
	ctx := g.t.Context()
	const page = 20
	deep := &ledger.Cursor{Version: time.Date(2026, 10, 14, 0, 0, g.size.queue/2, 0, time.UTC)}
	for what, q := range map[string]ledger.UncertainQuery{
		"page": {}, "page of a kind": {Kind: "rare"}, "page of an execution": {Execution: "rare"}, "page of a reason": {Reason: "rare"},
	} {
		for _, after := range []*ledger.Cursor{nil, deep} {
			for _, backwards := range []bool{false, true} {
				q.After, q.Backwards, q.Limit = after, backwards, page
				g.cost(fmt.Sprintf("%s, deep %v, backwards %v", what, after != nil, backwards), func() error {
					list, err := g.l.Uncertain(ctx, q)
					if len(list) < page/2 {
						return errors.Join(err, fmt.Errorf("%d rows", len(list)))
					}
					return err
				})
			}
		}
	}
	var keys []string
	for i := range times {
		keys = append(keys, fmt.Sprintf("doubt-%d:often", 3+i*g.size.log/times))
	}
	g.cost("one of the queue", each(keys, func(key string) error { _, _, err := g.l.UncertainByKey(ctx, key); return err }))
	g.cost("its log", each(keys, func(key string) error { _, err := g.l.Occurrences(ctx, key); return err }))
	g.cost("its decisions", each(keys, func(key string) error { _, err := g.l.Decisions(ctx, key); return err }))
}

// sweeps are those of abandoned reservations, of some keys, and the look-ups that are due.
func (g *growing) sweeps() {
	ctx := g.t.Context()
	leave := func(what string) (keys []string) {
		execSQL(g.t, g.pool, `
			insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, ao_falhar, conteudo, atualizado_em)
			select format('new-%s-%s-%s:%s', $1::text, $2::int, i, $3::text), format('new-%s-%s-%s', $1, $2, i), $3, 'reservado', 'ao-vivo', 'manter', '{}', 'epoch'
			from generate_series(1, $4) i`, what, g.round, kind, times)
		for i := range times {
			keys = append(keys, fmt.Sprintf("new-%s-%d-%d:%s", what, g.round, i+1, kind))
		}
		return keys
	}
	swept := func(keys []string) func() error {
		return func() error {
			r, err := g.l.Sweep(ctx, ledger.SweepScope{Policies: policies(policy(ledger.Keep)), Keys: keys})
			if r.Uncertain[ledger.ReasonAbandoned] != times {
				return errors.Join(err, fmt.Errorf("%+v", r))
			}
			return err
		}
	}
	g.cost("sweep of keys", swept(leave("asked")))
	leave("left")
	g.cost("sweep", swept(nil))
	execSQL(g.t, g.pool, `update efeito_aplicado set consultar_em = 'epoch' where chave in (
		select format('doubt-%s:often', 3 + i * ($1 / 40)) from generate_series(0, $2 - 1) i)`, g.size.queue, times/2)
	var due []ledger.UncertainEffect
	g.cost("due look-ups", func() (err error) { due, err = g.l.DueLookUps(ctx, times/4); return err })
	if len(due) != times/4 {
		g.t.Fatalf("%d look-ups are due", len(due))
	}
	g.cost("look-up", each(due, func(u ledger.UncertainEffect) error {
		return g.l.RecordLookUp(ctx, u.Key, u.Version, ledger.LookUpAnswer{Verdict: ledger.Unreachable})
	}))
}

// TestCostDoesNotGrowWithTheLedger: whatever is asked of an old ledger makes the server look at no more than one and a
// half times as many blocks as of a young one, whatever the planner knows of either.
func TestCostDoesNotGrowWithTheLedger(t *testing.T) {
	t.Parallel()
	base := grow(t, young, ``, `analyze`).measure()
	for name, tc := range map[string]struct {
		size          size
		before, after string
	}{
		"never analyzed":                     {old, ``, ``},
		"analyzed":                           {old, ``, `analyze`},
		"analyzed when empty":                {old, `analyze`, ``},
		"never analyzed, mostly uncertain":   {mostlyUncertain, ``, ``},
		"analyzed, mostly uncertain":         {mostlyUncertain, ``, `analyze`},
		"empty when analyzed, and uncertain": {mostlyUncertain, `analyze`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, n := range grow(t, tc.size, tc.before, tc.after).measure() {
				if grown(base[what], n) {
					t.Errorf("%s: %d blocks of a ledger with %+v, %d of one with %+v", what, n, tc.size, base[what], young)
				}
			}
		})
	}
}

// grown reports whether a cost is more than one and a half times another; of few blocks some more are not.
func grown(from, to int64) bool { return 2*to > 3*from+8 }

// TestEveryIndexEarnsItsKeep: without any one of the ledger's indexes something costs more, so that none is missed
// and none is written in vain.
func TestEveryIndexEarnsItsKeep(t *testing.T) {
	t.Parallel()
	g := grow(t, old, ``, `analyze`)
	base := g.measure()
	for _, table := range ledgerTables {
		pgtest.WithoutEachIndex(t, g.pool, table, func(index string) {
			dearer := ""
			for what, n := range g.measure() {
				if grown(base[what], n) {
					dearer += fmt.Sprintf("\n\t%s: %d blocks, %d with it", what, n, base[what])
				}
			}
			t.Logf("without %s:%s", index, dearer)
			if dearer == "" {
				t.Errorf("nothing costs more without %s", index)
			}
		})
	}
}
