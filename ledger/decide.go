package ledger

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// chainLock serialises decisions, so that the chain of their hashes never forks. It is held to the end of the
// transaction, by whatever backend runs it.
const chainLock = 0x72657072697365 // "reprise"

// A snapshot that is older than the lock would show an old end of the chain.
const lockChainSQL = `select current_setting('transaction_isolation') = 'read committed' from (select pg_advisory_xact_lock($1)) l`

const decidedRowSQL = `
select estado, motivo, atualizado_em, session_user::text, clock_timestamp(),
    greatest(0, extract(epoch from coalesce(quarentena_ate, atualizado_em + $2::bigint * interval '1 microsecond')
        - clock_timestamp()))::float8
from efeito_aplicado where chave = $1 for update`

const chainEndSQL = `select hash from efeito_revisao order by id desc limit 1`

const recordDecisionSQL = `
insert into efeito_revisao (chave, decisao, revisor, origem, nota, forcada, estado_antes, motivo_antes,
    versao_vista, criado_em, hash_anterior, hash)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
returning id`

const settleSQL = `
update efeito_aplicado
set estado = 'concluido', desfecho = $2, motivo = null, quarentena_ate = null, consultar_em = null, atualizado_em = clock_timestamp()
where chave = $1`

// allowResendSQL gives the row back with one more send allowed. It is in the ledger's hands from now on: a
// consumer without tokens that deletes it only gives it back.
const allowResendSQL = `
update efeito_aplicado
set estado = 'reservado', dono = null, livre = true, reenvio = true,
    primeira_tentativa_em = coalesce(primeira_tentativa_em, criado_em),
    motivo = null, quarentena_ate = null, consultar_em = null, atualizado_em = clock_timestamp()
where chave = $1`

// Decide records a person's decision about an uncertain effect, and carries it out as far as the ledger is
// concerned: an effect to be sent again is free to be reserved once more. What is refused is on record as well. See
// [Ledger.DecideTx].
func (l *Ledger) Decide(ctx context.Context, d Decision) (DecisionRecord, error) {
	ctx, cancel := l.bounded(ctx)
	defer cancel()
	var rec DecisionRecord
	err := pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) (err error) {
		rec, err = l.DecideTx(ctx, tx, d)
		return err
	})
	if err != nil {
		return rec, l.RecordRefusal(ctx, d, l.explained(err))
	}
	return rec, nil
}

// DecideTx is [Ledger.Decide] in the caller's transaction, which must be "read committed" and should be short: no
// other decision is made while it lasts.
//
// It refuses with [ErrNoNote], [ErrStale] if the row is not the one that was seen, [ErrQuarantined] if a call
// could still be alive and the decision is not forced, [ErrNotUncertain] if there is nothing to decide. After a
// refusal roll the transaction back, and hand the error to [Ledger.RecordRefusal].
func (l *Ledger) DecideTx(ctx context.Context, tx pgx.Tx, d Decision) (DecisionRecord, error) {
	rec, err := l.decide(ctx, tx, d)
	return rec, wrap(err, "decide %s", d.Key)
}

func (l *Ledger) decide(ctx context.Context, tx pgx.Tx, d Decision) (DecisionRecord, error) {
	d.Note, d.Origin = strings.TrimSpace(plainText(d.Note)), plainText(d.Origin)
	if d.Note == "" {
		return DecisionRecord{}, ErrNoNote
	}
	switch d.Verdict {
	case Confirm, Resend, Discard:
	default:
		return DecisionRecord{}, fmt.Errorf("%w: verdict %q", ErrInvalid, d.Verdict)
	}
	var readCommitted bool
	if err := tx.QueryRow(ctx, lockChainSQL, int64(chainLock)).Scan(&readCommitted); err != nil {
		return DecisionRecord{}, err
	}
	if !readCommitted {
		return DecisionRecord{}, errors.New("the transaction's isolation must be read committed")
	}
	var state State
	var reason *string
	var version, now time.Time
	var reviewer string
	var quarantine float64
	// Planned anew each time: see collect.
	err := tx.QueryRow(ctx, decidedRowSQL, pgx.QueryExecModeExec, d.Key, microseconds(l.SweepAge)).Scan(&state, &reason, &version, &reviewer, &now, &quarantine)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return DecisionRecord{}, ErrNotUncertain
	case err != nil:
		return DecisionRecord{}, err
	case state != Uncertain || !version.Equal(d.Seen):
		return DecisionRecord{}, l.stale(ctx, tx, d, state)
	case quarantine > 0 && !d.Force:
		return DecisionRecord{}, &QuarantineError{Left: time.Duration(quarantine * float64(time.Second))}
	}
	rec := DecisionRecord{
		Key: d.Key, Verdict: d.Verdict, Reviewer: reviewer, Origin: d.Origin, Note: d.Note, Forced: quarantine > 0,
		Reason: value(reason), At: now,
	}
	if err := appendToChain(ctx, tx, &rec, chainFacts{stateBefore: state, reasonBefore: reason, seen: d.Seen}); err != nil {
		return DecisionRecord{}, err
	}
	switch d.Verdict {
	case Confirm:
		_, err = tx.Exec(ctx, settleSQL, pgx.QueryExecModeExec, d.Key, Confirmed)
	case Discard:
		_, err = tx.Exec(ctx, settleSQL, pgx.QueryExecModeExec, d.Key, Discarded)
	default:
		_, err = tx.Exec(ctx, allowResendSQL, pgx.QueryExecModeExec, d.Key)
	}
	return rec, err
}

// stale says what became of the row that the reviewer saw.
func (l *Ledger) stale(ctx context.Context, tx pgx.Tx, d Decision, state State) error {
	rows, err := tx.Query(ctx, decisionsSQL, d.Key, historyLimit)
	if err != nil {
		return err
	}
	decisions, err := pgx.CollectRows(rows, scanDecision)
	if err != nil {
		return err
	}
	for _, rec := range decisions {
		if rec.seen.Equal(d.Seen) {
			return &StaleError{State: state, Decision: &rec.DecisionRecord}
		}
	}
	if state != Uncertain {
		return fmt.Errorf("%w: it is %v", ErrNotUncertain, state)
	}
	return &StaleError{State: state}
}

// chainFacts are what a decision's hash covers beside the record itself.
type chainFacts struct {
	stateBefore  State
	reasonBefore *string
	seen         time.Time
}

func appendToChain(ctx context.Context, tx pgx.Tx, rec *DecisionRecord, f chainFacts) error {
	if err := tx.QueryRow(ctx, chainEndSQL).Scan(&rec.PrevHash); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if rec.PrevHash == nil {
		rec.PrevHash = []byte{} // the first
	}
	rec.Hash = rec.hash(f)
	return tx.QueryRow(ctx, recordDecisionSQL, rec.Key, rec.Verdict, rec.Reviewer, rec.Origin, rec.Note, rec.Forced,
		f.stateBefore, f.reasonBefore, f.seen, rec.At, rec.PrevHash, rec.Hash).Scan(&rec.ID)
}

// hash is SHA-256 over the previous hash and every field, each with its length, instants in microseconds.
func (rec *DecisionRecord) hash(f chainFacts) []byte {
	var b bytes.Buffer
	field := func(s string) {
		_ = binary.Write(&b, binary.BigEndian, uint64(len(s)))
		b.WriteString(s)
	}
	instant := func(t time.Time) { field(fmt.Sprint(t.UnixMicro())) }
	field(string(rec.PrevHash))
	field(rec.Key)
	field(string(rec.Verdict))
	field(rec.Reviewer)
	field(rec.Origin)
	field(rec.Note)
	field(fmt.Sprint(rec.Forced))
	field(string(f.stateBefore))
	if f.reasonBefore == nil {
		field("-")
	} else {
		field("+" + *f.reasonBefore)
	}
	instant(f.seen)
	instant(rec.At)
	sum := sha256.Sum256(b.Bytes())
	return sum[:]
}
