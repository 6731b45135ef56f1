package pgtest_test

import (
	"testing"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

func TestDatabasesAreMigratedAndSeparate(t *testing.T) {
	one, two := pgtest.New(t), pgtest.New(t)
	if err := schema.Check(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	_, err := one.Exec(t.Context(), `insert into comissao (pedido_id, valor_centavos, versao_evento) values ('p1', 1, 1)`)
	if err != nil {
		t.Fatal(err)
	}
	var orders int
	if err := two.QueryRow(t.Context(), `select count(*) from comissao`).Scan(&orders); err != nil || orders != 0 {
		t.Errorf("the other database has %d orders (%v), want none", orders, err)
	}
}
