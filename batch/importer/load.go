package importer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"reprise.dev/reprise/schema/failpoint"
)

// loader puts rows into the archive, a batch a transaction. Rows that are new go in by a plain COPY, at its speed.
// Where that meets a row that is there already, or one that the server refuses, the batch is staged in a temporary
// table and settled row by row, by one set-based statement.
type loader struct {
	begin beginner // the pool; in a dry run, the transaction that it happens in and that is rolled back
	dry   bool
	// repeats is set while batches hold rows that are there already: trying the plain COPY would be in vain.
	repeats bool
	buf     []byte
}

type beginner interface {
	Begin(context.Context) (pgx.Tx, error)
}

// conflict is a row that was not put into the archive.
type conflict struct {
	index       int // of the row in its batch
	code        string
	reason      string
	sameVersion string // id of the archived event that is the same version of the order
}

const (
	// A batch takes a second or so; a statement that takes this long is stalled.
	patienceSQL = "set local statement_timeout = '10min'"

	copySQL = `copy evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em) from stdin with (format binary)`

	// In a dry run the table outlives its batch, hence "if not exists" and "truncate".
	stageSQL = `
		create temporary table if not exists importacao_lote (
			linha int not null, posicao bigint not null, id text not null, tipo text not null, pedido_id text not null,
			versao bigint not null, payload jsonb not null, ocorrido_em timestamptz not null
		) on commit drop;
		truncate importacao_lote`

	copyStageSQL = `copy importacao_lote from stdin with (format binary)`

	// In the order of the file, so that of two events which exclude each other the first one stays.
	insertSQL = `
		insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select posicao, id, tipo, pedido_id, versao, payload, ocorrido_em
		from importacao_lote
		order by linha
		on conflict do nothing`

	// What is in the archive now is new or a repetition; the rest is in conflict. Each subquery is a look-up by a
	// unique key, whatever the planner thinks of the temporary table.
	conflictSQL = `
		select l.linha, l.id,
			(select concat_ws(', ',
				case when a.posicao <> l.posicao then 'posicao' end,
				case when a.tipo <> l.tipo then 'tipo' end,
				case when a.pedido_id <> l.pedido_id then 'pedido_id' end,
				case when a.versao <> l.versao then 'versao' end,
				case when a.payload <> l.payload then 'payload' end,
				case when a.ocorrido_em <> l.ocorrido_em then 'ocorrido_em' end)
			from evento_arquivado a where a.id = l.id),
			(select a.id from evento_arquivado a where a.posicao = l.posicao),
			(select a.id from evento_arquivado a where a.pedido_id = l.pedido_id and a.versao = l.versao)
		from importacao_lote l
		where (
			select (a.id, a.tipo, a.pedido_id, a.versao, a.payload, a.ocorrido_em)
				= (l.id, l.tipo, l.pedido_id, l.versao, l.payload, l.ocorrido_em)
			from evento_arquivado a where a.posicao = l.posicao) is not true
		order by l.linha`
)

// load puts rows into the archive. It returns how many were new, and those that it could not put there; the others
// were there already.
func (l *loader) load(ctx context.Context, rows []row) (imported int64, conflicts []conflict, err error) {
	if len(rows) == 0 {
		return 0, nil, nil
	}
	if !l.dry && !l.repeats {
		err := l.transact(ctx, func(tx pgx.Tx) error { return l.copy(ctx, tx, copySQL, rows, false) })
		switch {
		case err == nil:
			return int64(len(rows)), nil, nil
		case !concernsData(err):
			return 0, nil, err
		}
		l.repeats = hasCode(err, pgerrcode.UniqueViolation)
	}
	imported, conflicts, err = l.settle(ctx, rows, 0)
	if err == nil && imported == int64(len(rows)) {
		l.repeats = false
	}
	return imported, conflicts, err
}

// settle stages rows and settles each. A row that the server refuses fails the statement; halving finds it.
func (l *loader) settle(ctx context.Context, rows []row, first int) (imported int64, conflicts []conflict, err error) {
	err = l.transact(ctx, func(tx pgx.Tx) (err error) {
		imported, conflicts, err = l.stage(ctx, tx, rows, first)
		return err
	})
	switch {
	case err == nil || !concernsData(err):
		return imported, conflicts, err
	case len(rows) == 1:
		return 0, []conflict{{index: first, code: CodeRefused, reason: refusal(err)}}, nil
	}
	half := len(rows) / 2
	imported, conflicts, err = l.settle(ctx, rows[:half], first)
	if err != nil {
		return imported, conflicts, err
	}
	more, others, err := l.settle(ctx, rows[half:], first+half)
	return imported + more, append(conflicts, others...), err
}

func (l *loader) stage(ctx context.Context, tx pgx.Tx, rows []row, first int) (imported int64, conflicts []conflict, err error) {
	if _, err := tx.Exec(ctx, stageSQL); err != nil {
		return 0, nil, err
	}
	if err := l.copy(ctx, tx, copyStageSQL, rows, true); err != nil {
		return 0, nil, err
	}
	if l.dry {
		if _, err := tx.Exec(ctx, collidingSQL); err != nil {
			return 0, nil, err
		}
	}
	tag, err := tx.Exec(ctx, insertSQL)
	if err != nil || tag.RowsAffected() == int64(len(rows)) {
		return tag.RowsAffected(), nil, err
	}
	found, err := tx.Query(ctx, conflictSQL)
	if err != nil {
		return 0, nil, err
	}
	conflicts, err = pgx.CollectRows(found, func(at pgx.CollectableRow) (conflict, error) {
		var index int
		var id string
		var differs, position, version *string
		err := at.Scan(&index, &id, &differs, &position, &version)
		return explain(rows, index, first, differs, position, version), err
	})
	return tag.RowsAffected(), conflicts, err
}

// explain says what a row is in conflict with: the columns in which the event of its id differs, the event at its
// position, the event that is its version of the order.
func explain(rows []row, index, first int, differs, position, version *string) conflict {
	r, c := &rows[index], conflict{index: first + index}
	var reasons []string
	because := func(code, format string, args ...any) {
		if c.code == "" {
			c.code = code
		}
		reasons = append(reasons, fmt.Sprintf(format, args...))
	}
	if differs != nil {
		because(CodeOtherContent, "event %s is archived with another %s", r.id, *differs)
	}
	if version != nil && *version != string(r.id) {
		because(CodeSameVersion, "version %d of order %s is event %s", r.version, r.order, *version)
		c.sameVersion = *version
	}
	if position != nil && *position != string(r.id) {
		because(CodePositionTaken, "posicao %d is event %s", r.position, *position)
	}
	if len(reasons) == 0 {
		because(CodeRefused, "another event was in its place for a moment; import the file again")
	}
	c.reason = strings.Join(reasons, "; ")
	return c
}

func (l *loader) copy(ctx context.Context, tx pgx.Tx, sql string, rows []row, numbered bool) error {
	l.buf = appendCopy(l.buf[:0], rows, numbered)
	_, err := tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(l.buf), sql)
	if cap(l.buf) > 2*batchBytes {
		l.buf = nil // a huge line need not be kept
	}
	return err
}

const (
	attempts  = 5
	pauseUnit = 100 * time.Millisecond
)

// transact runs f in a transaction, again if another import was in the way.
func (l *loader) transact(ctx context.Context, f func(pgx.Tx) error) (err error) {
	for attempt := 1; ; attempt++ {
		err = pgx.BeginFunc(ctx, l.begin, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, patienceSQL); err != nil {
				return err
			}
			return f(tx)
		})
		if err == nil {
			failpoint.Hit(failpoint.MidImport)
			return nil
		}
		if attempt == attempts || !hasCode(err, pgerrcode.DeadlockDetected, pgerrcode.SerializationFailure) {
			return err
		}
		select {
		case <-time.After(time.Duration(attempt) * pauseUnit):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func hasCode(err error, codes ...string) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	for _, c := range codes {
		if pg.Code == c {
			return true
		}
	}
	return false
}

// concernsData reports whether a server's error is about a row, in contrast to about the database or the
// connection: bad data, a constraint, a limit of an index or a type, a trigger's objection, an allocation that is
// too large.
func concernsData(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pgerrcode.IsDataException(pg.Code) || pgerrcode.IsIntegrityConstraintViolation(pg.Code) ||
		pgerrcode.IsProgramLimitExceeded(pg.Code) || pgerrcode.IsPLpgSQLError(pg.Code) || pg.Code == pgerrcode.InternalError)
}

func refusal(err error) string {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err.Error()
	}
	if pg.Detail == "" {
		return fmt.Sprintf("%s (%s)", pg.Message, pg.Code)
	}
	return fmt.Sprintf("%s: %s (%s)", pg.Message, excerpt(pg.Detail), pg.Code)
}
