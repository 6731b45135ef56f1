package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const recordRefusalSQL = `
insert into efeito_ocorrencia (chave, execucao_id, tipo, detalhe, resposta)
values ($1, coalesce((select execucao_id from efeito_aplicado where chave = $1), ''), $2, session_user::text || ': ' || $3::text,
    jsonb_build_object('revisor', session_user::text, 'decisao', $4::text, 'nota', $5::text, 'origem', $6::text,
        'versao_vista', $7::text, 'forcada', $8::boolean))`

// RecordRefusal puts on record that [Ledger.DecideTx] refused a decision: who tried what, and why not, as an
// occurrence of the effect. It is for after the transaction was rolled back, in which nothing would stay. It returns
// the refusal, joined with what kept it from being recorded. An error that is no refusal it returns as it is.
func (l *Ledger) RecordRefusal(ctx context.Context, d Decision, refusal error) error {
	if !refused(refusal) {
		return refusal
	}
	ctx, cancel := l.bounded(context.WithoutCancel(ctx))
	defer cancel()
	_, err := l.pool.Exec(ctx, recordRefusalSQL, pgx.QueryExecModeExec, plainText(d.Key), LogRefusedDecision, plainText(refusal.Error()),
		plainText(string(d.Verdict)), plainText(d.Note), plainText(d.Origin), d.Seen.UTC().Format(time.RFC3339Nano), d.Force)
	if err != nil {
		return errors.Join(refusal, fmt.Errorf("and this refusal could not be recorded: %w", err))
	}
	return refusal
}

func refused(err error) bool {
	for _, refusal := range []error{ErrStale, ErrQuarantined, ErrNotUncertain, ErrNoNote} {
		if errors.Is(err, refusal) {
			return true
		}
	}
	return false
}
