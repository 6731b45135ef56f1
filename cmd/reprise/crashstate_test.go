package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/failpoint"
)

// An archive whose state is written in four parts, and whose orders are few, so that few have an effect. Of each four
// orders one is new, one holds an older version, one a newer one, and one is right already.
const (
	partEvents = 33_000
	partOrders = 101
)

// TestP1_P7_P8_KilledBetweenPartsOfTheState: whichever parts were written, marked or neither when the program was killed,
// each order's value, its image from before and the account are those of a run that was never killed, and each effect is
// delivered once.
func TestP1_P7_P8_KilledBetweenPartsOfTheState(t *testing.T) {
	t.Parallel()
	undisturbed := newPartsSite(t, ledger.Keep)
	undisturbed.want(exitDone, "replay", "run", "a")
	want := undisturbed.outcome()
	if n := undisturbed.provider.Totals(); n.Deliveries != partOrders-25 || n.Twice != 0 {
		t.Errorf("%+v; of the orders, 25 hold a newer version", n)
	}
	for _, kill := range []struct {
		step         string
		hit, written int
		policy       ledger.OnFailure
	}{
		{failpoint.BeforeState, 1, 0, ledger.Release}, {failpoint.AfterState, 1, 1, ledger.Keep},
		{failpoint.BeforeState, 3, 2, ledger.Keep}, {failpoint.AfterState, 3, 3, ledger.Release},
	} {
		t.Run(fmt.Sprintf("%s/%s/%d", kill.step, kill.policy, kill.hit), func(t *testing.T) {
			t.Parallel()
			s := newPartsSite(t, kill.policy)
			s.env = append(s.env, fmt.Sprintf("REPRISE_FAILPOINT=%s:%d", kill.step, kill.hit))
			if r := s.run("replay", "run", "a"); r.code != -1 {
				t.Fatalf("not killed: exit %d\n%s%s", r.code, r.out, r.errout)
			}
			s.env = nil
			if n := s.int(`select count(*) from reprocessamento_parte where concluida`); n != kill.written {
				t.Fatalf("%d parts were written when it was killed, want %d", n, kill.written)
			}
			if n := s.provider.Totals().Requests; n != 0 {
				t.Errorf("%d requests before the state was written", n)
			}
			s.quiet("a")
			if diff := cmp.Diff(want, s.outcome()); diff != "" {
				t.Errorf("not as if never killed (-want +got):\n%s", diff)
			}
		})
	}
}

// newPartsSite is a site with an apply that waits to be run, with one writer of the state at a time.
func newPartsSite(t *testing.T, policy ledger.OnFailure) *site {
	t.Helper()
	s := newSite(t, policy, "")
	s.configure(`mode = "aplicar"`, "mode = \"aplicar\"\nwhen = \"se-gravado\"")
	s.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select g, 'ev-' || g, 'pedido.pago', 'P-' || g % $2, g / $2 + 1, jsonb_build_object('valorCentavos', g * 20, 'percentual', 5), '2026-10-14'
		from generate_series(1, $1::int) g`, partEvents, partOrders)
	s.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento)
		select 'P-' || n, case n % 4 when 3 then g else 7 end, case n % 4 when 1 then 1 when 2 then 1000000 else g / $2 + 1 end
		from (select max(g) as g, g % $2 as n from generate_series(1, $1::int) g group by 2) o where n % 4 <> 0`, partEvents, partOrders)
	s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", partEvents), "--apply")
	s.env = []string{"REPRISE_RUN_WORKERS=1"}
	return s
}

// outcome is what a finished run left behind, as text that can be compared.
func (s *site) outcome() map[string]string {
	s.t.Helper()
	all := map[string]string{"deliveries": fmt.Sprintf("%+v", s.provider.Totals())}
	for what, sql := range map[string]string{
		"state":   `select string_agg(concat_ws(' ', pedido_id, valor_centavos, versao_evento), E'\n' order by pedido_id) from comissao`,
		"images":  `select string_agg(d::text, E'\n' order by pedido_id) from reprocessamento_diff d`,
		"parts":   `select string_agg(p::text, E'\n' order by parte) from reprocessamento_parte p`,
		"account": `select estado || ' ' || jsonb_pretty(resumo - 'Elapsed') from reprocessamento`,
		"effects": `select string_agg(concat_ws(' ', chave, estado, conteudo), E'\n' order by chave) from efeito_aplicado`,
	} {
		var text string
		if err := s.pool.QueryRow(context.Background(), sql).Scan(&text); err != nil {
			s.t.Fatalf("%s: %v", what, err)
		}
		all[what] = text
	}
	return all
}
