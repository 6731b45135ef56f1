package main

import (
	"strings"
	"testing"

	"reprise.dev/reprise/ledger"
)

// TestTheWindowIsSaidBeforeItIsWorked, in its zone and as UTC instants, whatever zone the program runs in; a simulation
// then shows an order that had no value as such.
func TestTheWindowIsSaidBeforeItIsWorked(t *testing.T) {
	t.Parallel()
	s := newSite(t, ledger.Keep, "")
	s.env = []string{"TZ=Asia/Tokyo"}
	s.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select n, 'ev-' || n, 'pedido.pago', 'P-' || n, 1, '{"valorCentavos":-5000,"percentual":5}', t
		from unnest('{2026-10-14T02:59:59Z,2026-10-14T03:00:00Z,2026-10-15T02:59:59.999999Z,2026-10-15T03:00:00Z}'::timestamptz[]) with ordinality x(t, n)`)
	s.exec(`insert into comissao (pedido_id, valor_centavos, versao_evento) values ('P-3', 0, 1)`)
	day := []string{"replay", "queue", "--id", "day", "--from", "2026-10-14", "--to", "2026-10-15", "--zone", "America/Sao_Paulo"}
	for _, args := range [][]string{append(day, "--dry-run"), day} {
		r := s.want(exitDone, args...)
		for _, line := range []string{
			"window   2026-10-14 00:00:00 -03 to 2026-10-15 00:00:00 -03, end not included\n",
			"as UTC   2026-10-14T03:00:00Z to 2026-10-15T03:00:00Z\n",
			"events   2 of 2 orders, positions 2 to 3\n",
		} {
			if !strings.Contains(r.out, line) {
				t.Errorf("no %q in\n%s", line, r.out)
			}
		}
	}
	s.want(exitDone, "replay", "run", "day")
	var rows []string
	for line := range strings.Lines(s.want(exitDone, "replay", "diff", "day").out) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"ORDER BEFORE AFTER DELTA VERSION NEW VERSION", "P-2 — -250 -250 - 1", "P-3 0 -250 -250 1 1",
		"changed 1 orders, from 0 to -250 cents; new 1 orders, -250 cents; unchanged 0; told otherwise 0",
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}
