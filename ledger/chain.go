package ledger

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const decisionColumns = `
    id, chave, decisao, revisor, origem, nota, forcada, estado_antes, motivo_antes, versao_vista, criado_em, hash_anterior, hash`

const decisionsSQL = `
select ` + decisionColumns + `
from (select * from efeito_revisao where chave = $1 order by id desc limit $2) r order by id`

const chainSQL = `
select ` + decisionColumns + ` from efeito_revisao where id > $1 order by id limit $2`

// storedDecision is a decision with what else its hash covers.
type storedDecision struct {
	DecisionRecord
	chainFacts
}

func scanDecision(rows pgx.CollectableRow) (storedDecision, error) {
	var d storedDecision
	err := rows.Scan(&d.ID, &d.Key, &d.Verdict, &d.Reviewer, &d.Origin, &d.Note, &d.Forced, &d.stateBefore, &d.reasonBefore,
		&d.seen, &d.At, &d.PrevHash, &d.Hash)
	d.Reason = value(d.reasonBefore)
	return d, err
}

// Decisions are those about an effect, oldest first; the newest thousand.
func (l *Ledger) Decisions(ctx context.Context, key string) ([]DecisionRecord, error) {
	stored, err := collect(ctx, l, decisionsSQL, scanDecision, key, historyLimit)
	if err != nil {
		return nil, fmt.Errorf("read the decisions about %s: %w", key, err)
	}
	records := make([]DecisionRecord, len(stored))
	for i := range stored {
		records[i] = stored[i].DecisionRecord
	}
	return records, nil
}

// ChainReport is what [Ledger.VerifyChain] found.
type ChainReport struct {
	Decisions int64     // that are in order
	Head      string    // hash of the last of them; compare it with one that was noted down outside the database
	HeadAt    time.Time // when that was recorded
	BadID     int64     // first record that is not in order; 0: none
	BadKey    string
	Problem   string // what is wrong with it
}

// OK reports whether every record is as it was written. It cannot see that the newest are missing: for that,
// note down Head and Decisions outside the database.
func (r ChainReport) OK() bool { return r.BadID == 0 }

func (r ChainReport) String() string {
	switch {
	case !r.OK():
		return fmt.Sprintf("decision %d (%q) is not as it was recorded: %s; the %d before it are in order", r.BadID, r.BadKey, r.Problem, r.Decisions)
	case r.Decisions == 0:
		return "none recorded"
	default:
		return fmt.Sprintf("%d in order, head %s of %s", r.Decisions, r.Head, r.HeadAt.UTC().Format(time.RFC3339))
	}
}

// VerifyChain reads all decisions, in constant memory, and names the first that was changed, removed or put in.
func (l *Ledger) VerifyChain(ctx context.Context) (ChainReport, error) {
	const pageSize = 1000
	report := ChainReport{}
	previous := []byte{}
	var after int64
	for {
		page, err := collect(ctx, l, chainSQL, scanDecision, after, pageSize)
		if err != nil {
			return report, fmt.Errorf("verify the chain of decisions after %d: %w", after, err)
		}
		for _, d := range page {
			if problem := d.problem(previous); problem != "" {
				report.BadID, report.BadKey, report.Problem = d.ID, d.Key, problem
				return report, nil
			}
			report.Decisions++
			report.Head, report.HeadAt = hex.EncodeToString(d.Hash), d.At
			previous, after = d.Hash, d.ID
		}
		if len(page) < pageSize {
			return report, nil
		}
	}
}

func (d *storedDecision) problem(previous []byte) string {
	switch {
	case !bytes.Equal(d.Hash, d.hash(d.chainFacts)):
		return "its content does not match its hash"
	case !bytes.Equal(d.PrevHash, previous):
		return "it does not follow the record before it: one was removed, put in or moved"
	default:
		return ""
	}
}
