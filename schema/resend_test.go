package schema_test

import (
	"testing"

	"reprise.dev/reprise/schema/pgtest"
	"reprise.dev/reprise/schema/seedsql"
)

// A consumer without tokens that retakes an effect uses up the permission to send it once more.
func TestP1_RetakeUsesUpThePermissionToResend(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `
		insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id, ao_falhar, livre, reenvio, primeira_tentativa_em, atualizado_em)
		values ('ev-1:x', 'ev-1', 'x', 'reservado', 'ao-vivo', 'liberar', true, true, now() - interval '1 hour', now() - interval '10 minutes')`)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := pool.Exec(t.Context(), seedsql.Reserve, "ev-1:x", "ev-1", "x", seedsql.Live, true)
	if err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("%d rows, %v", tag.RowsAffected(), err)
	}
	var still bool
	if err := pool.QueryRow(t.Context(), `select reenvio from efeito_aplicado`).Scan(&still); err != nil || still {
		t.Errorf("the permission stands: %v, %v", still, err)
	}
}
