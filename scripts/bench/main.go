// Command bench measures Reprise against the database's own set-based statements and against an applier that takes
// one event after the other, on the same data, server and provider, in one run. Only the ratios travel between
// machines.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/batch/sample"
	"reprise.dev/reprise/schema/seedsql"
	"reprise.dev/reprise/scripts/bench/rig"
)

// row is one line of the table.
type row struct {
	Work   string        `json:"work"`
	Events int64         `json:"events"` // or effects
	Took   time.Duration `json:"took_ns"`
	Rate   float64       `json:"per_second"`
	Ratio  float64       `json:"ratio,omitempty"`
	To     string        `json:"ratio_to,omitempty"`
	CPU    time.Duration `json:"server_cpu_ns,omitempty"`
	Own    time.Duration `json:"program_cpu_ns,omitempty"`
	RSS    int64         `json:"peak_rss_bytes,omitempty"` // of the program
}

type bench struct {
	*rig.Rig
	events   int
	effects  int
	slow     int // row-at-a-time events
	workers  int
	only     string
	log      io.Writer
	rows     []row
	sequence int
	cpu      time.Duration // of the server, at the last measurement
}

func main() {
	events := flag.Int("events", 1_000_000, "events of the archive, 10,000 to 10,000,000")
	effects := flag.Int("effects", 100_000, "events whose effects are brought about, at most")
	slow := flag.Int("rows", 3_000, "events of the row-at-a-time applier")
	asJSON := flag.Bool("json", false, "print the table as JSON")
	workers := flag.Int("workers", runtime.NumCPU(), "run.workers of the program, which shares its processors with the server")
	binary := flag.String("reprise", "bin/reprise", "the program")
	only := flag.String("only", "simulate,state,effects,slow", "what to measure")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b := &bench{events: *events, effects: min(*effects, *events), slow: min(*slow, *events), workers: *workers, only: *only, log: os.Stderr}
	err := b.run(ctx, *binary)
	rig.Report("bench", *asJSON, b.rows, b.print, err)
}

func (b *bench) run(ctx context.Context, binary string) (err error) {
	if b.Rig, err = rig.Start(ctx, binary); err != nil {
		return err
	}
	defer b.Close()
	fmt.Fprintf(b.log, "making %d events\n", b.events)
	if _, err := sample.Insert(ctx, b.Pool, sample.Options{Events: b.events, Orders: b.events / 2, Seed: 1}); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{{"simulate", b.simulate}, {"state", b.applyState}, {"effects", b.effectsInstant}, {"slow", b.effectsSlow}} {
		if !strings.Contains(b.only, step.name) {
			continue
		}
		if err := step.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// add notes a measurement; to names the earlier one that it is compared with.
func (b *bench) add(work string, n int64, took time.Duration, to string, program *os.ProcessState) {
	cpu := serverCPU(b.DataDir())
	r := row{Work: work, Events: n, Took: took, Rate: float64(n) / took.Seconds(), To: to, CPU: cpu - b.cpu}
	b.cpu = cpu
	if program != nil {
		r.Own = program.UserTime() + program.SystemTime()
		if usage, ok := program.SysUsage().(*syscall.Rusage); ok {
			r.RSS = usage.Maxrss * 1024
		}
	}
	for _, other := range b.rows {
		if other.Work == to {
			r.Ratio = r.Rate / other.Rate
		}
	}
	b.rows = append(b.rows, r)
	fmt.Fprintf(b.log, "%-44s %12.0f/s  %-9s server CPU %s own %s\n", work, r.Rate, took.Round(time.Millisecond), r.CPU, r.Own)
}

// clear empties what runs write, and lets the server settle, so that each measurement begins alike.
func (b *bench) clear(ctx context.Context) error {
	for _, sql := range []string{
		`truncate comissao, efeito_aplicado, reprocessamento_diff, reprocessamento_checkpoint, reprocessamento_falha, reprocessamento_divergencia`,
		`delete from reprocessamento`, `checkpoint`,
	} {
		if _, err := b.Pool.Exec(ctx, sql); err != nil {
			return err
		}
	}
	b.cpu = serverCPU(b.DataDir())
	return nil
}

const computed = `
	select distinct on (pedido_id) pedido_id, versao,
		floor((payload->>'valorCentavos')::float8 * (payload->>'percentual')::float8 / 100 + 0.5)::bigint as valor
	from evento_arquivado where tipo = 'pedido.pago' order by pedido_id, versao desc`

func (b *bench) simulate(ctx context.Context) error {
	if err := b.clear(ctx); err != nil {
		return err
	}
	began := time.Now()
	err := b.Exec(ctx, `
		insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois)
		select 'set', e.pedido_id, c.valor_centavos, e.valor from (`+computed+`) e left join comissao c using (pedido_id)
		where c.versao_evento is null or c.versao_evento <= e.versao`)
	if err != nil {
		return err
	}
	const set = "simulate: one set-based statement"
	b.add(set, int64(b.events), time.Since(began), "", nil)
	if err := b.rowAtATime(ctx, "simulate: a row at a time, 1 in flight", set, seedsql.Consumer{Pool: b.Pool, Execution: "row", Simulate: true}, 1); err != nil {
		return err
	}
	if err := b.clear(ctx); err != nil {
		return err
	}
	return b.product(ctx, "simulate: reprise", set, b.events, "", "simulate")
}

const upsert = `
	insert into comissao (pedido_id, valor_centavos, versao_evento) select pedido_id, valor, versao from e
	on conflict (pedido_id) do update set valor_centavos = excluded.valor_centavos, versao_evento = excluded.versao_evento, atualizado_em = now()
	where comissao.versao_evento <= excluded.versao_evento`

// applyState compares with an upsert that keeps nothing, and with one that keeps what a revert needs, as the program does.
func (b *bench) applyState(ctx context.Context) error {
	const bare, images = "state: one set-based upsert", "state: one set-based upsert, with images from before"
	for _, set := range []struct{ work, sql string }{
		{bare, `with e as (` + computed + `)` + upsert},
		{images, `with e as materialized (` + computed + `), d as (
			insert into reprocessamento_diff (execucao_id, pedido_id, antes, depois, antes_versao, depois_versao)
			select 'set', e.pedido_id, c.valor_centavos, e.valor, c.versao_evento, e.versao from e left join comissao c using (pedido_id)
			where c.versao_evento is null or c.versao_evento <= e.versao)` + upsert},
	} {
		if err := b.clear(ctx); err != nil {
			return err
		}
		began := time.Now()
		if err := b.Exec(ctx, set.sql); err != nil {
			return err
		}
		b.add(set.work, int64(b.events), time.Since(began), "", nil)
	}
	if err := b.clear(ctx); err != nil {
		return err
	}
	if err := b.rowAtATime(ctx, "state: a row at a time, 1 in flight", bare, seedsql.Consumer{Pool: b.Pool, Execution: "row"}, 1); err != nil {
		return err
	}
	for _, run := range []struct{ work, to string }{
		{"state: reprise, with images from before", bare},
		{"state: reprise, again (against the upsert with images)", images},
	} {
		if err := b.clear(ctx); err != nil {
			return err
		}
		if err := b.product(ctx, run.work, run.to, b.events, "", "apply"); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) effectsInstant(ctx context.Context) error {
	provider, err := faultprovider.Start(faultprovider.Options{})
	if err != nil {
		return err
	}
	defer provider.Close()
	const one, sixteen = "effects: a row at a time, 1 in flight", "effects: a row at a time, 16 in flight"
	consumer := seedsql.Consumer{
		Pool: b.Pool, Execution: "row", Gateway: gateway(provider.URL + "/notify"),
		Policy: seedsql.Policy{seedsql.NotifySeller: {Mode: seedsql.Apply, OnFailure: seedsql.Keep}},
	}
	for _, step := range []struct {
		work     string
		inFlight int
	}{{one, 1}, {sixteen, 16}} {
		if err := b.clear(ctx); err != nil {
			return err
		}
		if err := b.rowAtATime(ctx, step.work, one, consumer, step.inFlight); err != nil {
			return err
		}
	}
	for _, to := range []string{one, sixteen} {
		if err := b.clear(ctx); err != nil {
			return err
		}
		provider.Reset()
		work := "effects: reprise, 256 in flight (against " + to[len("effects: a row at a time, "):] + ")"
		if err := b.product(ctx, work, to, b.effects, rig.Effects(provider.URL, 256, ""), "apply"); err != nil {
			return err
		}
		if t := provider.Totals(); t.Twice > 0 {
			return fmt.Errorf("%d keys were delivered more than once", t.Twice)
		}
	}
	return nil
}

// effectsSlow compares with what a provider that takes 50 ms allows: concurrency divided by latency. The runs last about a
// minute, as the state is written before the first effect.
func (b *bench) effectsSlow(ctx context.Context) error {
	const latency = 50 * time.Millisecond
	provider, err := faultprovider.Start(faultprovider.Options{Delay: latency})
	if err != nil {
		return err
	}
	defer provider.Close()
	for _, load := range []struct{ concurrency, events int }{{16, 20_000}, {64, 80_000}} {
		if err := b.clear(ctx); err != nil {
			return err
		}
		provider.Reset()
		work := fmt.Sprintf("%d in flight at 50 ms", load.concurrency)
		ideal := "effects: " + work + ", by arithmetic"
		n := min(b.effects, load.events)
		b.add(ideal, int64(n), time.Duration(n)*latency/time.Duration(load.concurrency), "", nil)
		if err := b.product(ctx, "effects: reprise, "+work, ideal, n, rig.Effects(provider.URL, load.concurrency, ""), "apply"); err != nil {
			return err
		}
	}
	return nil
}

// product runs the real program on positions 1 to n. The rate counts events if no effects are configured, else
// effects.
func (b *bench) product(ctx context.Context, work, to string, n int, config, mode string) error {
	b.sequence++
	id := fmt.Sprintf("bench-%d", b.sequence)
	if err := b.Configure(fmt.Sprintf("[run]\nworkers = %d\n%s", b.workers, config)); err != nil {
		return err
	}
	if _, err := b.Run(ctx, "replay", "queue", "--id", id, "--positions", fmt.Sprintf("1:%d", n), "--"+mode); err != nil {
		return fmt.Errorf("%s: %w", work, err)
	}
	cmd := b.Command(ctx, "replay", "run", id)
	out, err := rig.Output(cmd)
	if err != nil {
		return fmt.Errorf("%s: %w", work, err)
	}
	var r batch.Replay
	if err := json.Unmarshal(out, &r); err != nil {
		return fmt.Errorf("%s: %w", work, err)
	}
	if r.Summary == nil || r.Summary.Read != int64(n) {
		return fmt.Errorf("%s: %s is %s: %+v", work, id, r.State, r.Summary)
	}
	count := r.Summary.Read
	if config != "" {
		count = r.Summary.Effects[seedsql.NotifySeller].Applied
	}
	b.add(work, count, r.Summary.Elapsed, to, cmd.ProcessState)
	return nil
}

// rowAtATime runs the consumer that takes one event after the other, some of them at the same time.
func (b *bench) rowAtATime(ctx context.Context, work, to string, c seedsql.Consumer, inFlight int) error {
	rows, err := b.Pool.Query(ctx, `select id, tipo, pedido_id, versao, payload from evento_arquivado where posicao <= $1 and tipo = 'pedido.pago' order by posicao`, b.slow)
	if err != nil {
		return err
	}
	var events []seedsql.Event
	for rows.Next() {
		var e seedsql.Event
		if err := rows.Scan(&e.ID, &e.Type, &e.Order, &e.Version, &e.Payload); err != nil {
			return err
		}
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if c.Gateway == nil {
		c.Policy = seedsql.Policy{}
	}
	var next atomic.Int64
	var group sync.WaitGroup
	var failed atomic.Value
	began := time.Now()
	for range inFlight {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(events)); i = next.Add(1) - 1 {
				if err := c.Apply(ctx, events[i]); err != nil {
					failed.Store(err)
					return
				}
			}
		})
	}
	group.Wait()
	if err, ok := failed.Load().(error); ok {
		return fmt.Errorf("%s: %w", work, err)
	}
	b.add(work, int64(len(events)), time.Since(began), to, nil)
	return nil
}

func gateway(url string) func(context.Context, string, []byte) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	return func(ctx context.Context, key string, body []byte) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(string(body)))
		if err != nil {
			return err
		}
		r.Header.Set("Idempotency-Key", key)
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		_, err = io.Copy(io.Discard, answer.Body)
		return err
	}
}

func (b *bench) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "work\tevents\tseconds\tper second\tratio\tserver CPU\town CPU\tpeak MB\t")
	for _, r := range b.rows {
		ratio, own, rss := "", "", ""
		if r.Ratio > 0 {
			ratio = fmt.Sprintf("%.2f", r.Ratio)
		}
		if r.Own > 0 {
			own = fmt.Sprintf("%.1f s", r.Own.Seconds())
		}
		if r.RSS > 0 {
			rss = fmt.Sprintf("%d", r.RSS>>20)
		}
		fmt.Fprintf(t, "%s\t%d\t%.2f\t%.0f\t%s\t%.1f s\t%s\t%s\t\n", r.Work, r.Events, r.Took.Seconds(), r.Rate, ratio, r.CPU.Seconds(), own, rss)
	}
	return t.Flush()
}
