// Command full measures what effects cost on an empty ledger, and on one that holds the effects of years. Half of its
// events have ids that follow each other, as numbers do, and half have ids at random, as UUIDs do: the latter fall all
// over the ledger's index.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/schema/seedsql"
	"reprise.dev/reprise/scripts/bench/rig"
)

const concurrency = 256

// result is one line of the table.
type result struct {
	Ledger  int64   `json:"ledger_rows"` // before
	IDs     string  `json:"ids"`
	State   string  `json:"statistics"`
	Effects int64   `json:"effects"`
	Rate    float64 `json:"per_second"`
	Blocks  float64 `json:"blocks_per_effect"` // of the ledger and its indexes that the server looked at
	Cost    float64 `json:"cost"`              // time per effect, as a multiple of that on the empty ledger
	Work    float64 `json:"work"`              // blocks per effect, likewise
	Twice   int64   `json:"keys_delivered_twice"`
}

func main() {
	rows := flag.Int64("ledger", 1_000_000, "effects that the full ledger holds")
	effects := flag.Int64("effects", 40_000, "effects of each replay")
	asJSON := flag.Bool("json", false, "print the table as JSON")
	binary := flag.String("reprise", "bin/reprise", "the program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results, err := measure(ctx, *binary, *rows, *effects)
	rig.Report("full", *asJSON, results, func(w io.Writer) error { return print(w, results) }, err)
}

// bench measures one replay after the other, each over positions of its own.
type bench struct {
	*rig.Rig
	provider *faultprovider.Server
	effects  int64
	first    int64
	results  []result
}

const (
	inOrder  = "in order"
	atRandom = "at random"
)

func measure(ctx context.Context, binary string, rows, effects int64) ([]result, error) {
	r, err := rig.Start(ctx, binary)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	provider, err := faultprovider.Start(faultprovider.Options{})
	if err != nil {
		return nil, err
	}
	defer provider.Close()
	if err := r.Configure(rig.Effects(provider.URL, concurrency, "[run]\ngap_wait = \"1s\"\n")); err != nil {
		return nil, err
	}
	b := &bench{Rig: r, provider: provider, effects: effects, first: 1}
	if err := b.both(ctx, "none"); err != nil {
		return nil, err
	}
	fmt.Fprintf(os.Stderr, "making a ledger of %d effects\n", rows)
	for _, sql := range []string{fmt.Sprintf(fillSQL, rows), `checkpoint`} {
		if _, err := r.Pool.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	if err := b.both(ctx, "of the empty ledger"); err != nil {
		return nil, err
	}
	for _, sql := range []string{`vacuum analyze efeito_aplicado`, `checkpoint`} {
		if _, err := r.Pool.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	return b.results, b.both(ctx, "present")
}

// fillSQL leaves rows as the ledger does, each under a reservation of its own. The index is made at the end, and the
// table is not vacuumed or analyzed meanwhile.
const fillSQL = `
	alter table efeito_aplicado set (autovacuum_enabled = off);
	alter table efeito_aplicado drop constraint efeito_aplicado_pkey;
	insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, dono, tentativas, primeira_tentativa_em, tentativa_em,
		ao_falhar, conteudo, conteudo_hash, desfecho, resultado)
	select id || ':` + seedsql.NotifySeller + `', id, '` + seedsql.NotifySeller + `', 'concluido', 'ao-vivo', md5(i::text), 1, '2026-10-14', '2026-10-14',
		'manter', jsonb_build_object('pedidoId', 'P-' || i, 'valorCentavos', i %% 9973), sha256(i::text::bytea), 'aplicado', '{"recibo": 1}'
	from (select i, case when i %% 2 = 0 then 'ev-' || lpad(i::text, 12, '0') else 'ev-' || md5(i::text) end as id from generate_series(1, %d) i) x;
	alter table efeito_aplicado add primary key (chave)`

func (b *bench) both(ctx context.Context, statistics string) error {
	for _, ids := range []string{inOrder, atRandom} {
		if err := b.replay(ctx, ids, statistics); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) replay(ctx context.Context, ids, statistics string) error {
	got := result{IDs: ids, State: statistics}
	last := b.first + b.effects - 1
	_, err := b.Pool.Exec(ctx, `
		insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select i, case when $3 then 'ev-' || lpad((500000000000 + i)::text, 12, '0') else 'ev-' || md5((500000000000 + i)::text) end, 'pedido.pago', 'P-' || i, 1,
			'{"valorCentavos": 15990, "percentual": 5}', '2026-10-14'
		from generate_series($1::bigint, $2::bigint) i`, b.first, last, ids == inOrder)
	if err != nil {
		return err
	}
	if err := b.Pool.QueryRow(ctx, `select count(*) from efeito_aplicado`).Scan(&got.Ledger); err != nil {
		return err
	}
	id := fmt.Sprintf("full-%d", b.first)
	b.provider.Reset()
	before, err := b.blocks(ctx)
	if err != nil {
		return err
	}
	if _, err := b.Run(ctx, "replay", "queue", "--id", id, "--positions", fmt.Sprintf("%d:%d", b.first, last), "--apply"); err != nil {
		return err
	}
	out, err := b.Run(ctx, "replay", "run", id)
	if err != nil {
		return err
	}
	after, err := b.blocks(ctx)
	if err != nil {
		return err
	}
	var r batch.Replay
	if err := json.Unmarshal(out, &r); err != nil {
		return err
	}
	if r.Summary == nil || r.Summary.Effects[seedsql.NotifySeller].Applied != b.effects {
		return fmt.Errorf("%s is %s: %+v", id, r.State, r.Summary)
	}
	got.Effects, got.Twice = b.effects, b.provider.Totals().Twice
	got.Rate = float64(b.effects) / r.Summary.Elapsed.Seconds()
	got.Blocks = float64(after-before) / float64(b.effects)
	for _, other := range append(b.results, got) {
		if other.IDs == ids {
			got.Cost, got.Work = other.Rate/got.Rate, got.Blocks/other.Blocks
			break
		}
	}
	b.results = append(b.results, got)
	b.first = last + 1
	fmt.Fprintf(os.Stderr, "ledger of %d, ids %s: %.0f/s\n", got.Ledger, ids, got.Rate)
	return nil
}

// blocks is how many blocks of the ledger were looked at so far. The program has ended, and with it its connections,
// which report at their end.
func (b *bench) blocks(ctx context.Context) (n int64, err error) {
	for last := int64(-1); n != last; time.Sleep(500 * time.Millisecond) {
		last = n
		err := b.Pool.QueryRow(ctx, `
			select heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit from pg_statio_user_tables where relname = 'efeito_aplicado'`).Scan(&n)
		if err != nil {
			return 0, err
		}
	}
	return n, nil
}

func print(w io.Writer, results []result) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "ledger\tids\tstatistics\teffects\tper second\tcost\tblocks per effect\twork\ttwice\t")
	for _, r := range results {
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%.0f\t%.2f\t%.1f\t%.2f\t%d\t\n", r.Ledger, r.IDs, r.State, r.Effects, r.Rate, r.Cost, r.Blocks, r.Work, r.Twice)
	}
	return t.Flush()
}
