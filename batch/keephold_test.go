package batch_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestP8_AHoldThatCannotBeKeptNow is not lost by that: only who knows that somebody else has it gives the replay up.
func TestP8_AHoldThatCannotBeKeptNow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fault, logged, mend string }{
		"it cannot be written": {
			`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
			create trigger refuse before update on reprocessamento for each row
			when (new.condutor = old.condutor and new.condutor_ate > old.condutor_ate) execute function refuse()`,
			"keep the hold on the replay", `drop function refuse cascade`,
		},
		"who has it cannot be read": {
			`update reprocessamento set condutor = 'elsewhere:1:1'; alter table reprocessamento rename versao_codigo to unreadable`,
			"who holds the replay", `alter table reprocessamento rename unreadable to versao_codigo`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBenchWith(t, faultprovider.Options{}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Minute})
			b.ledger = ledger.Options{} // the first call takes until the hold was to be kept
			b.archive(upTo(20)...)
			id := b.queue(batch.Apply, 20)
			logged := make(chan struct{})
			host := b.hostLogging(slog.New(&noting{text: c.logged, seen: sync.OnceFunc(func() { close(logged) })}))
			var once sync.Once
			b.provider.OnRequest(func(string) {
				once.Do(func() {
					b.exec(c.fault)
					select {
					case <-logged:
					case <-time.After(time.Minute):
						t.Error("it went unnoticed")
					}
					b.exec(c.mend)
					b.exec(`update reprocessamento set condutor = $1`, host.Host())
				})
			})
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			r, err := host.RunReplay(ctx, id, nil)
			if err != nil {
				t.Fatal(err)
			}
			b.wantState(r, batch.Done)
			b.wantDelivered(1, upTo(20)...)
		})
	}
}

// TestP8_AHoldThatSomebodyElseHas is given up, with their name.
func TestP8_AHoldThatSomebodyElseHas(t *testing.T) {
	t.Parallel()
	b := newBenchWith(t, faultprovider.Options{Delay: 200 * time.Millisecond}, ledger.Policy{OnFailure: ledger.Keep, CallTimeout: time.Second})
	b.config.Concurrency = 1
	b.archive(upTo(100)...)
	id := b.queue(batch.Apply, 100)
	var once sync.Once
	b.provider.OnRequest(func(string) {
		once.Do(func() { b.exec(`update reprocessamento set condutor = 'elsewhere:1:1'`) })
	})
	if r, err := b.host().RunReplay(context.Background(), id, nil); !errors.Is(err, batch.ErrHeld) || !strings.Contains(err.Error(), "taken over by elsewhere:1:1") {
		t.Errorf("%+v %v", r, err)
	}
	if got := scan[string](b, `select condutor from reprocessamento`); got != "elsewhere:1:1" {
		t.Errorf("the replay is held by %q", got)
	}
	if n := b.provider.Totals().Keys; n == 100 {
		t.Error("all of it was worked")
	}
}

// noting tells when a message was logged.
type noting struct {
	slog.Handler
	text string
	seen func()
}

func (h *noting) Enabled(context.Context, slog.Level) bool { return true }

func (h *noting) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.text {
		h.seen()
	}
	return nil
}

func (h *noting) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h *noting) WithGroup(string) slog.Handler { return h }
