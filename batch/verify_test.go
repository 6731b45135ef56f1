package batch_test

import (
	"context"
	"testing"

	"reprise.dev/reprise/batch"
)

// TestVerifyIsNoRun: what a run of any name keeps is not taken for what the archive leads to, and stays.
func TestVerifyIsNoRun(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.archive(upTo(3)...)
	b.wantState(b.replay(batch.Apply, 3), batch.Done)
	b.exec(`insert into reprocessamento_projetado (execucao_id, particao, parte, pedidos, versoes, depois) values ('verify', 0, 0, '{P-1}', '{9}', '{1}')`)
	b.exec(`insert into reprocessamento_diff (execucao_id, pedido_id, depois) values ('verify', 'P-2', 1)`)
	report, err := b.host().Verify(context.Background(), b.handlers["comissao"], positions(1, 3), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK() || report.Events != 3 {
		t.Errorf("%+v", report)
	}
	if n := scan[int64](b, `select (select count(*) from reprocessamento_projetado) + (select count(*) from reprocessamento_diff where execucao_id = 'verify')`); n != 2 {
		t.Errorf("%d of the run's 2 rows are left", n)
	}
	b.exec(`update comissao set valor_centavos = 1 where pedido_id = 'P-3'`)
	if report, err := b.host().Verify(context.Background(), b.handlers["comissao"], positions(1, 3), nil); err != nil || report.WrongN != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}
