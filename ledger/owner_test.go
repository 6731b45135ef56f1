package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/ledger"
)

// endings are the ways in which an attempt reports back.
var endings = map[string]struct {
	report func(context.Context, *ledger.Ledger, ledger.Reservation) error
	want   func(stored) bool // what it leaves behind
	log    []string
}{
	"complete": {
		func(ctx context.Context, l *ledger.Ledger, r ledger.Reservation) error {
			return l.Complete(ctx, r, json.RawMessage(`{"recibo":1}`))
		},
		func(s stored) bool { return s.State == ledger.Done && s.Result == "aplicado" }, nil,
	},
	"refuse": {
		func(ctx context.Context, l *ledger.Ledger, r ledger.Reservation) error {
			return l.Refuse(ctx, r, &ledger.RefusedError{Reason: "nao"})
		},
		func(s stored) bool { return s.State == ledger.Done && s.Result == "recusado" }, []string{ledger.LogRefused},
	},
	"give back": {
		func(ctx context.Context, l *ledger.Ledger, r ledger.Reservation) error {
			return l.GiveBack(ctx, r, errNoRoute)
		},
		func(s stored) bool { return s.State == ledger.Reserved && s.Free && !s.MayHaveRun && s.Attempts == 0 }, []string{ledger.LogNotSent},
	},
	"doubt": {
		func(ctx context.Context, l *ledger.Ledger, r ledger.Reservation) error {
			_, _, err := l.Doubt(ctx, r, errTimeout)
			return err
		},
		func(s stored) bool {
			return s.Attempts == 1 && (s.State == ledger.Uncertain && s.Reason == "sem-resposta" && s.OnFailure == "manter" ||
				s.State == ledger.Reserved && s.Free && s.OnFailure == "liberar")
		}, []string{ledger.LogDoubt},
	},
}

// takeovers are the ways in which an owner loses its reservation.
var takeovers = map[string]func(testing.TB, *ledger.Ledger, *pgxpool.Pool, ledger.Effect){
	"swept": func(t testing.TB, l *ledger.Ledger, _ *pgxpool.Pool, e ledger.Effect) {
		p := e.Policy
		p.OnFailure = ledger.Keep
		sweep(t, l, p)
	},
	"retaken": func(t testing.TB, l *ledger.Ledger, _ *pgxpool.Pool, e ledger.Effect) {
		if e.Policy.OnFailure == ledger.Release {
			reserve(t, l, e)
		} else {
			sweep(t, l, e.Policy)
			decide(t, l, e.Key(), ledger.Resend)
			reserve(t, l, e)
		}
	},
	"retaken and done": func(t testing.TB, l *ledger.Ledger, _ *pgxpool.Pool, e ledger.Effect) {
		if e.Policy.OnFailure != ledger.Release {
			sweep(t, l, e.Policy)
			decide(t, l, e.Key(), ledger.Resend)
		}
		do(t, l, e, newProvider(always(nil)).call, ledger.DidApply)
	},
	"decided": func(t testing.TB, l *ledger.Ledger, pool *pgxpool.Pool, e ledger.Effect) {
		execSQL(t, pool, `update efeito_aplicado set estado = 'incerto', dono = null, motivo = 'abandonada' where chave = $1`, e.Key())
		decide(t, l, e.Key(), ledger.Discard)
	},
	"taken by a consumer without tokens": func(t testing.TB, _ *ledger.Ledger, pool *pgxpool.Pool, e ledger.Effect) {
		if e.Policy.OnFailure == ledger.Release {
			execSQL(t, pool, `update efeito_aplicado set atualizado_em = now() where chave = $1`, e.Key())
		} else {
			execSQL(t, pool, `update efeito_aplicado set estado = 'incerto', dono = null, motivo = 'x' where chave = $1`, e.Key())
		}
	},
}

func TestP5_ALateAnswerChangesNothingAndIsLogged(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for taken, takeOver := range takeovers {
		for ending, end := range endings {
			for _, onFailure := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
				id := strings.ReplaceAll(taken+"/"+ending+"/"+string(onFailure), " ", "-")
				t.Run(id, func(t *testing.T) {
					e := effect(id, onFailure)
					r := reserve(t, l, e)
					age(t, pool, time.Hour)
					takeOver(t, l, pool, e)
					before, history := read(t, pool, e.Key()), logged(t, l, e.Key())
					if before.State == ledger.Reserved && before.Attempts == 1 {
						return // a sweep leaves what may be retaken
					}
					if err := end.report(t.Context(), l, r); !errors.Is(err, ledger.ErrLostOwnership) {
						t.Errorf("late answer: %v", err)
					}
					if after := read(t, pool, e.Key()); after != before {
						t.Errorf("changed %+v\nto %+v", before, after)
					}
					if got := logged(t, l, e.Key()); !slices.Equal(got, append(history, ledger.LogLate)) {
						t.Errorf("log %v, before %v", got, history)
					}
				})
			}
		}
	}
}

func TestP5_ALateAnswerIsEvidence(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Keep)
	_, err := l.Do(t.Context(), e, func(context.Context, ledger.Attempt) (json.RawMessage, error) {
		age(t, pool, time.Hour)
		sweep(t, l, e.Policy)
		return json.RawMessage(`{"recibo":7}`), nil
	})
	if !errors.Is(err, ledger.ErrLostOwnership) {
		t.Fatal(err)
	}
	list, err := l.Occurrences(t.Context(), e.Key())
	if err != nil || len(list) != 2 || list[1].Kind != ledger.LogLate || string(list[1].Answer) != `{"recibo": 7}` {
		t.Errorf("%+v %v", list, err)
	}
}

// That an attempt ended in doubt says nothing of another one's report.
func TestP5_ALateAnswerBesideOneThatCounted(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Release)
	do(t, l, e, newProvider(always(errTimeout)).call, ledger.DidWait)
	abandoned := reserve(t, l, e)
	age(t, pool, time.Hour)
	reserve(t, l, e)
	if _, _, err := l.Doubt(t.Context(), abandoned, errTimeout); !errors.Is(err, ledger.ErrLostOwnership) {
		t.Error(err)
	}
	if got := logged(t, l, e.Key()); !slices.Equal(got, []string{ledger.LogDoubt, ledger.LogLate}) {
		t.Errorf("log %v", got)
	}
}

// A reply that is lost is asked for again with the same token.
func TestP1_ALostReplyToAReservation(t *testing.T) {
	t.Parallel()
	l, link, pool := openLinked(t, ledger.Options{})
	e, p := effect("ev-1", ledger.Keep), newProvider(always(nil))
	heal := link.loseReplies()
	var group sync.WaitGroup
	group.Go(func() { do(t, l, e, p.call, ledger.DidApply) })
	waitUntil(t, func() bool { return count(t, pool, `select count(*) from efeito_aplicado`) == 1 })
	heal()
	group.Wait()
	if s := read(t, pool, e.Key()); s.State != ledger.Done || s.Attempts != 1 {
		t.Errorf("row %+v", s)
	}
	if n := p.deliveries(e.Key()); n != 1 {
		t.Errorf("%d deliveries", n)
	}
}

func TestP1_ALostReplyToAWriteBack(t *testing.T) {
	t.Parallel()
	l, link, pool := openLinked(t, ledger.Options{})
	for name, end := range endings {
		for _, onFailure := range []ledger.OnFailure{ledger.Keep, ledger.Release} {
			t.Run(name+"/"+string(onFailure), func(t *testing.T) {
				e := effect(name+"/"+string(onFailure), onFailure)
				r := reserve(t, l, e)
				heal := link.loseReplies()
				var group sync.WaitGroup
				group.Go(func() {
					if err := end.report(t.Context(), l, r); err != nil {
						t.Error(err)
					}
				})
				waitUntil(t, func() bool { return end.want(read(t, pool, e.Key())) })
				heal()
				group.Wait()
				if s := read(t, pool, e.Key()); !end.want(s) {
					t.Errorf("row %+v", s)
				}
				if got := logged(t, l, e.Key()); !slices.Equal(got, end.log) && len(got)+len(end.log) > 0 {
					t.Errorf("log %v", got)
				}
			})
		}
	}
}

// What was given back, with the reply lost, and retaken by somebody else meanwhile, is not claimed again.
func TestP5_ALostReplyAndThenANewOwner(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"give back", "doubt"} {
		t.Run(name, func(t *testing.T) {
			l, link, pool := openLinked(t, ledger.Options{})
			other := with(t, pool, ledger.Options{})
			e := effect("ev-1", ledger.Release)
			r := reserve(t, l, e)
			heal := link.loseReplies()
			var group sync.WaitGroup
			group.Go(func() {
				if err := endings[name].report(t.Context(), l, r); err != nil {
					t.Error(err)
				}
			})
			waitUntil(t, func() bool { return endings[name].want(read(t, pool, e.Key())) })
			taken := reserve(t, other, e)
			heal()
			group.Wait()
			if err := other.Complete(t.Context(), taken, nil); err != nil {
				t.Error(err)
			}
			if got := logged(t, l, e.Key()); !slices.Equal(got, endings[name].log) {
				t.Errorf("log %v", got)
			}
		})
	}
}

func TestP1_AnAnswerIsRecordedAfterTheDatabaseComesBack(t *testing.T) {
	t.Parallel()
	l, link, pool := openLinked(t, ledger.Options{})
	e := effect("ev-1", ledger.Keep)
	var group sync.WaitGroup
	group.Go(func() {
		do(t, l, e, func(context.Context, ledger.Attempt) (json.RawMessage, error) {
			link.Stop()
			return nil, nil
		}, ledger.DidApply)
	})
	waitUntil(t, func() bool { return count(t, pool, `select count(*) from efeito_aplicado`) == 1 })
	time.Sleep(200 * time.Millisecond)
	if err := link.Start(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if s := read(t, pool, e.Key()); s.State != ledger.Done {
		t.Errorf("row %+v", s)
	}
}

// An answer that cannot be recorded in time is not recorded later either, and says so.
func TestP5_AWriteBackEndsAtTheSweepAge(t *testing.T) {
	l, link, _ := openLinked(t, ledger.Options{SweepAge: 400 * time.Millisecond, Margin: 50 * time.Millisecond})
	e := effect("ev-1", ledger.Keep)
	e.Policy.CallTimeout = 100 * time.Millisecond
	r := reserve(t, l, e)
	link.Stop()
	if err := l.Complete(t.Context(), r, nil); err == nil {
		t.Error("recorded without a database")
	}
}

// Whether a statement rejects it or, once all is said, the commit.
func TestP1_OneEffectThatTheDatabaseRejectsDoesNotSpoilTheOthers(t *testing.T) {
	t.Parallel()
	for name, reject := range map[string]string{
		"statement": `alter table efeito_aplicado add constraint proibido check (evento_id <> 'bad')`,
		"commit": `
			create function proibido() returns trigger language plpgsql as $$
			begin
				raise exception 'simulated' using errcode = '23514';
			end $$;
			create constraint trigger proibido after insert on efeito_aplicado deferrable initially deferred
				for each row when (new.evento_id = 'bad') execute function proibido()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, pool := open(t, ledger.Options{Flushers: 1})
			execSQL(t, pool, reject)
			var group sync.WaitGroup
			for _, id := range []string{"a", "b", "bad", "c", "d"} {
				group.Go(func() {
					_, status, err := l.Reserve(t.Context(), effect(id, ledger.Keep))
					if (id == "bad") != (err != nil) || err == nil && status.Standing != ledger.Mine {
						t.Errorf("%s: %+v %v", id, status, err)
					}
				})
			}
			group.Wait()
			if n := count(t, pool, `select count(*) from efeito_aplicado`); n != 4 {
				t.Errorf("%d rows", n)
			}
		})
	}
}

func TestP1_DatabaseErrorsThatPassAreWaitedOut(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	e := effect("ev-1", ledger.Keep)
	// Each error once, by a trigger that remembers in a sequence, which no rollback takes back.
	execSQL(t, pool, `
		create sequence falha;
		create function falha() returns trigger language plpgsql as $$
		declare n int := nextval('falha');
		begin
			if n <= tg_nargs then
				raise exception 'simulated' using errcode = tg_argv[n - 1];
			end if;
			return new;
		end $$;
		create trigger falha before insert on efeito_aplicado for each row execute function falha('40P01', '57P01', '53100', '55P03')`)
	r := reserve(t, l, e)
	execSQL(t, pool, `alter sequence falha restart; drop trigger falha on efeito_aplicado;
		create trigger falha before update on efeito_aplicado for each row execute function falha('40001', '57014', '25006')`)
	if err := l.Complete(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if s := read(t, pool, e.Key()); s.State != ledger.Done {
		t.Errorf("row %+v", s)
	}
}

// After a migration the plan of a cached statement is refused once; nothing ran.
func TestP1_AMigrationDuringWork(t *testing.T) {
	t.Parallel()
	l, pool := open(t, ledger.Options{})
	for i, sql := range []string{"select 1", `alter table efeito_aplicado add column nova int`, `alter table efeito_aplicado alter column ao_falhar type varchar`} {
		execSQL(t, pool, sql)
		for j := range 8 {
			id := strings.Repeat("x", i+1) + strings.Repeat("y", j+1)
			do(t, l, effect(id, ledger.Keep), newProvider(script(errTimeout)).call, ledger.DidDoubt)
			do(t, l, effect(id+"z", ledger.Keep), newProvider(always(nil)).call, ledger.DidApply)
		}
	}
}

func TestP1_WhoStopsWaitingForAReservationHoldsNone(t *testing.T) {
	l, pool := open(t, ledger.Options{Flushers: 1})
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	// Another transaction has inserted the key and not yet committed: the first reservation waits for it.
	if _, err := tx.Exec(t.Context(), `insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id) values ('slow:`+kind+`', 'slow', '`+kind+`', 'reservado', 'x')`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		out, err := l.Do(ctx, effect("slow", ledger.Keep), newProvider(always(nil)).call)
		if err != nil || out.Did != ledger.DidWait || out.Err == nil {
			t.Errorf("under way when stopped: %+v %v", out, err)
		}
	})
	waitUntil(t, func() bool { return count(t, pool, waitingSQL) == 1 })
	queued, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Do(queued, effect("queued", ledger.Keep), newProvider(always(nil)).call); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("queued: %v", err)
	}
	stop()
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if s := read(t, pool, "slow:"+kind); !s.Free || s.MayHaveRun {
		t.Errorf("row %+v", s)
	}
	if n := count(t, pool, `select count(*) from efeito_aplicado`); n != 1 {
		t.Errorf("%d rows", n)
	}
}
