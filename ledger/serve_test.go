package ledger_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

// Whatever is asked of a database that another version migrated, or none, ends with what to do, and nothing is sent.
func TestADatabaseOfAnotherVersionSaysWhatToDo(t *testing.T) {
	t.Parallel()
	const consumersTable = `create table efeito_aplicado (chave text primary key, evento_id text not null, tipo_efeito text not null,
		estado text not null, execucao_id text not null, resultado jsonb, criado_em timestamptz not null default now(), atualizado_em timestamptz not null default now())`
	migrated, empty := pgtest.NewURL, pgtest.NewEmptyURL
	for name, c := range map[string]struct {
		url     func(testing.TB) string
		prepare string
		want    error
		do      string
	}{
		"empty":                     {empty, `select 1`, schema.ErrNotMigrated, `run "reprise migrate"`},
		"of the live consumer only": {empty, consumersTable, schema.ErrNotMigrated, `run "reprise migrate"`},
		"older":                     {migrated, `delete from reprise_migracao where version_id > 2; alter table efeito_aplicado drop column dono cascade`, schema.ErrNotMigrated, `run "reprise migrate"`},
		"newer":                     {migrated, `insert into reprise_migracao (version_id, is_applied) values (999, true); alter table efeito_aplicado rename dono to titular`, schema.ErrNewer, "upgrade this one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, err := schema.Open(t.Context(), c.url(t), schema.Options{MaxConns: 4})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			for sql := range strings.SplitSeq(c.prepare, ";") {
				execSQL(t, pool, sql)
			}
			l := with(t, pool, ledger.Options{})
			e, p := effect("ev-1", ledger.Keep), newProvider(always(nil))
			for what, ask := range map[string]func(context.Context) error{
				"check": l.Check,
				"do":    func(ctx context.Context) error { _, err := l.Do(ctx, e, p.call); return err },
				"look":  func(ctx context.Context) error { _, err := l.Look(ctx, []ledger.Effect{e}); return err },
			} {
				if err := ask(t.Context()); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.do) {
					t.Errorf("%s: %v", what, err)
				}
			}
			if n := p.deliveries(e.Key()); n != 0 {
				t.Errorf("%d deliveries", n)
			}
		})
	}
	l, _ := open(t, ledger.Options{})
	if err := l.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A server that takes no writes, or no connections: nothing is sent meanwhile, what was sent is recorded afterwards, and
// people are told what to do.
func TestNothingIsSentWhileTheServerRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ on, off, advice string }{
		"no writes":      {`alter role %s set default_transaction_read_only = on`, `alter role %s reset default_transaction_read_only`, "name the primary"},
		"no connections": {`alter role %s connection limit 0`, `alter role %s connection limit -1`, "role's connection limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := pgtest.New(t)
			pool, role := asRole(t, direct)
			set := func(sql string) {
				execSQL(t, direct, fmt.Sprintf(sql, role))
				execSQL(t, direct, `select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`, role)
			}
			told := &told{advice: c.advice, yes: make(chan struct{})}
			l := with(t, pool, ledger.Options{Logger: slog.New(told)})
			set(c.on)
			e, p := effect("ev-1", ledger.Keep), newProvider(always(nil))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := l.Do(ctx, e, p.call); err == nil || !strings.Contains(err.Error(), c.advice) {
				t.Errorf("reserved: %v", err)
			}
			if n := p.deliveries(e.Key()); n != 0 {
				t.Errorf("%d deliveries", n)
			}
			set(c.off)
			do(t, l, e, p.call, ledger.DidApply)

			e, told.yes = effect("ev-2", ledger.Keep), make(chan struct{})
			told.once = sync.Once{}
			var ended sync.WaitGroup
			ended.Go(func() {
				do(t, l, e, func(ctx context.Context, a ledger.Attempt) (json.RawMessage, error) {
					set(c.on)
					return p.call(ctx, a)
				}, ledger.DidApply)
			})
			select {
			case <-told.yes:
			case <-time.After(time.Minute):
				t.Error("nobody was told what to do")
			}
			set(c.off)
			ended.Wait()
			if s := read(t, direct, e.Key()); s.State != ledger.Done || p.deliveries(e.Key()) != 1 {
				t.Errorf("row %+v, %d deliveries", s, p.deliveries(e.Key()))
			}
		})
	}
}

// asRole returns a pool of a role of its own, which is no superuser.
func asRole(t *testing.T, direct *pgxpool.Pool) (pool *pgxpool.Pool, role string) {
	t.Helper()
	role = "papel_" + strings.ToLower(rand.Text())
	var owner string
	if err := direct.QueryRow(t.Context(), `select quote_ident(current_user)`).Scan(&owner); err != nil {
		t.Fatal(err)
	}
	execSQL(t, direct, `create role `+role+` login password 'p' in role `+owner)
	t.Cleanup(func() {
		if _, err := direct.Exec(context.Background(), `drop role `+role); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(direct.Config().ConnString())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "p")
	pool, err = schema.Open(t.Context(), u.String(), schema.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool, role
}

// told notes that a piece of advice was logged.
type told struct {
	slog.Handler
	advice string
	once   sync.Once
	yes    chan struct{}
}

func (h *told) Enabled(context.Context, slog.Level) bool { return true }

func (h *told) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if strings.Contains(a.Value.String(), h.advice) {
			h.once.Do(func() { close(h.yes) })
		}
		return true
	})
	return nil
}
