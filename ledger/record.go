package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Kinds of occurrence, the log of what was not plain success.
const (
	LogNotSent         = "nao-enviado"      // an attempt of which nothing left; the reservation was given back
	LogDoubt           = "falha-ambigua"    // an attempt that may have left
	LogRefused         = "recusado"         // a definite refusal
	LogLate            = "resposta-tardia"  // an answer from somebody who owned the reservation no more; it changed nothing
	LogSwept           = "varredura"        // a sweep moved it to incerto
	LogLookUp          = "consulta"         // an answer to a look-up
	LogRefusedDecision = "decisao-recusada" // a person's decision that was refused
	logDone            = "conclusao"        // plain success; only a late one is logged
)

// recordGrace is how long an answer may still be recorded after its caller was told to stop.
const recordGrace = 15 * time.Second

// recording is one effect's part in a group of write-backs.
type recording struct {
	ctx       context.Context
	l         *Ledger
	r         Reservation
	log       string  // kind of occurrence
	result    Result  // of a conclusion
	answer    *string // the provider's, as stored
	reason    string
	detail    string
	cancelled time.Time // when ctx was first seen to be done

	state State // what became of the row
	lost  bool
	err   error
	done  chan struct{}
}

func (q *recording) effectKey() string { return q.r.Key() }
func (q *recording) finish(err error)  { q.err = err; close(q.done) }

// patient: a known answer is worth repeating the write-back until somebody else may deal with the row.
func (q *recording) patient(now time.Time) bool {
	if q.ctx.Err() != nil && q.cancelled.IsZero() {
		q.cancelled = now
	}
	if !q.cancelled.IsZero() && now.Sub(q.cancelled) > recordGrace {
		return false
	}
	return now.Sub(q.r.since) < q.l.SweepAge
}

// Complete records that the provider acted. It repeats the write-back until the database takes it, never the
// call. [ErrLostOwnership] if it came too late.
func (l *Ledger) Complete(ctx context.Context, r Reservation, answer json.RawMessage) error {
	return l.record(ctx, &recording{r: r, log: logDone, result: Applied, answer: answerText(answer)})
}

// Refuse records that the provider definitely did not act, and never will.
func (l *Ledger) Refuse(ctx context.Context, r Reservation, refused *RefusedError) error {
	stored := map[string]any{"motivo": plainText(refused.Reason)}
	if answer := answerText(refused.Answer); answer != nil {
		stored["resposta"] = json.RawMessage(*answer)
	}
	result, err := json.Marshal(stored)
	if err != nil {
		return fmt.Errorf("record refusal of %s: %w", r.Key(), err)
	}
	return l.record(ctx, &recording{r: r, log: LogRefused, result: Refused, answer: answerText(result), detail: plainText(refused.Reason)})
}

// GiveBack records that nothing of the attempt left: anybody may reserve the effect anew. why is for the log.
func (l *Ledger) GiveBack(ctx context.Context, r Reservation, why error) error {
	return l.record(ctx, &recording{r: r, log: LogNotSent, detail: plainText(why.Error())})
}

// Doubt records that the attempt may have left. What follows depends on the policy under which it was made: an
// automatic retry (Reserved is returned, and anybody may retake it), or Uncertain with a reason.
func (l *Ledger) Doubt(ctx context.Context, r Reservation, failure error) (State, string, error) {
	q := &recording{r: r, log: LogDoubt, reason: ReasonUnknown}
	cause := failure.Error()
	var ambiguous *AmbiguousError
	if errors.As(failure, &ambiguous) {
		q.reason, q.answer = plainText(ambiguous.Reason), answerText(ambiguous.Answer)
		cause = strings.TrimPrefix(cause, "ambiguous: "+ambiguous.Reason)
		cause = strings.TrimPrefix(cause, ": ")
	}
	q.detail = q.reason
	if cause != "" {
		q.detail += ": " + plainText(cause)
	}
	err := l.record(ctx, q)
	return q.state, q.reason, err
}

func (l *Ledger) record(ctx context.Context, q *recording) error {
	q.ctx, q.l, q.done = ctx, l, make(chan struct{})
	if err := l.records.add(q); err != nil {
		q.err = err
	} else {
		<-q.done
	}
	switch {
	case q.err != nil:
		// The provider's answer is known here and nowhere else: the row will look abandoned.
		l.Logger.Error("answer could not be recorded", "effect", q.r.Key(), "what", q.log, "detail", q.detail, "answer", value(q.answer), "error", q.err)
		return fmt.Errorf("record %s of %s: %w", q.log, q.r.Key(), l.explained(q.err))
	case q.lost:
		l.Logger.Warn("answer came too late", "effect", q.r.Key(), "what", q.log, "detail", q.detail, "state", q.state)
		return fmt.Errorf("record %s of %s: %w", q.log, q.r.Key(), ErrLostOwnership)
	}
	return nil
}

// recordGroup writes back for everybody in the group, one statement for each way in which attempts end.
func (l *Ledger) recordGroup(group []*recording) {
	type way struct {
		log    string
		policy Policy // only Doubt depends on it
	}
	byWay := make(map[way][]*recording, 1)
	for _, q := range group {
		w := way{log: q.log}
		if q.log == LogDoubt {
			w.policy = q.r.Policy
		}
		byWay[w] = append(byWay[w], q)
	}
	for w, part := range byWay {
		persist(l.Logger, part, func(part []*recording) error {
			switch w.log {
			case logDone:
				return l.recordOnce(part, concludeSQL)
			case LogRefused:
				return l.recordOnce(part, refuseSQL)
			case LogNotSent:
				return l.recordOnce(part, giveBackSQL)
			default:
				return l.recordOnce(part, doubtSQL, w.policy.maxAttempts(), microseconds(w.policy.CallTimeout+l.Margin), microseconds(l.quarantine(w.policy)))
			}
		})
	}
}

// recordOnce may be repeated: what it did before is recognised by the owner's token.
func (l *Ledger) recordOnce(part []*recording, sql string, args ...any) error {
	byKey := make(map[string]*recording, len(part))
	n := len(part)
	var (
		keys, events, kinds, executions = make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		tokens, policies, logs, results = make([]string, n), make([]string, n), make([]string, n), make([]string, n)
		reasons, details, answers       = make([]string, n), make([]string, n), make([]*string, n)
	)
	for i, q := range part {
		keys[i], events[i], kinds[i], executions[i] = q.r.Key(), q.r.EventID, q.r.Kind, q.r.Execution
		tokens[i], policies[i], logs[i], results[i] = q.r.token, string(q.r.OnFailure), q.log, string(q.result)
		reasons[i], details[i], answers[i] = q.reason, q.detail, q.answer
		byKey[keys[i]] = q
	}
	columns := []any{keys, events, kinds, executions, tokens, policies, logs, results, reasons, details, answers}
	var written []written
	err := l.upsert(sql, append(columns, args...), func(rows pgx.Rows) (err error) {
		written, err = pgx.CollectRows(rows, scanWritten)
		return err
	})
	if err != nil {
		return err
	}
	for _, w := range written {
		q := byKey[w.key]
		q.state = w.state
		if w.reason != "" {
			q.reason = w.reason
		}
		delete(byKey, w.key)
	}
	return l.late(byKey)
}

// late logs the answers of those who own their reservation no more, and tells them apart from those whose
// earlier write-back was taken although its reply was lost.
func (l *Ledger) late(refused map[string]*recording) error {
	if len(refused) == 0 {
		return nil
	}
	var keys, executions, tokens, logs, details []string
	var answers []*string
	for key, q := range refused {
		keys, executions, tokens = append(keys, key), append(executions, q.r.Execution), append(tokens, q.r.token)
		logs, details, answers = append(logs, q.log), append(details, q.detail), append(answers, q.answer)
	}
	found, err := collect(context.Background(), l, lateSQL, scanWritten, keys, executions, tokens, logs, details, answers)
	if err != nil {
		return err
	}
	for _, w := range found {
		q := refused[w.key]
		q.state, q.lost = w.state, w.lost
		if w.reason != "" {
			q.reason = w.reason
		}
	}
	return nil
}
