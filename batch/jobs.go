package batch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// Work is distributed by River. Everything of a replay goes through a queue of its own, so that a slow provider
// of one replay never holds a worker of another, and a foreground run can work its replay and nothing else.
// What belongs to no replay (sweeps, re-sends) goes through the control queue.
const controlQueue = "control"

func replayQueue(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "replay-" + hex.EncodeToString(sum[:8])
}

// PlanArgs freezes a replay's scope and cuts it into partitions.
type PlanArgs struct {
	Execution  string `json:"execucao" river:"unique"`
	Generation int    `json:"geracao" river:"unique"`
}

// Kind names the job.
func (PlanArgs) Kind() string { return "planejar" }

// SliceArgs works one partition, in one stage, for some seconds.
type SliceArgs struct {
	Execution  string `json:"execucao" river:"unique"`
	Stage      Stage  `json:"etapa" river:"unique"`
	Partition  int    `json:"particao" river:"unique"`
	Generation int    `json:"geracao" river:"unique"`
	Pass       int    `json:"passagem" river:"unique"`
}

// Kind names the job.
func (SliceArgs) Kind() string { return "fatiar" }

// StateArgs writes the state of an apply, part by part, beside others that do.
type StateArgs struct {
	Execution  string `json:"execucao" river:"unique"`
	Generation int    `json:"geracao" river:"unique"`
	Pass       int    `json:"passagem" river:"unique"`
	Writer     int    `json:"escritor" river:"unique"`
}

// Kind names the job.
func (StateArgs) Kind() string { return "gravar" }

// FinishArgs accounts for a replay whose partitions are all done.
type FinishArgs struct {
	Execution  string `json:"execucao" river:"unique"`
	Generation int    `json:"geracao" river:"unique"`
	Pass       int    `json:"passagem" river:"unique"`
}

// Kind names the job.
func (FinishArgs) Kind() string { return "concluir" }

// SweepArgs runs one sweep for a schedule slot.
type SweepArgs struct {
	Task string `json:"tarefa" river:"unique"`
	Slot string `json:"previsto_para" river:"unique"`
}

// Kind names the job.
func (SweepArgs) Kind() string { return "varrer" }

// ResendArgs makes the one send that a reviewer allowed.
type ResendArgs struct {
	Key      string `json:"chave" river:"unique"`
	Decision int64  `json:"decisao" river:"unique"`
}

// Kind names the job.
func (ResendArgs) Kind() string { return "reenviar" }

// unfinished are the states in which a second job of the same arguments would be one too many.
var unfinished = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
	rivertype.JobStateRetryable, rivertype.JobStateScheduled,
}

func insertOpts(queue string, priority int) *river.InsertOpts {
	return &river.InsertOpts{
		Queue: queue, Priority: priority, MaxAttempts: 1000,
		UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: unfinished},
	}
}

// handOut raises the replay's generation and inserts the jobs that carry on from where it is: the plan, the
// partitions that are not done, or the account. Jobs of older generations do nothing any more. The caller
// holds the replay's row.
func (s *Store) handOut(ctx context.Context, tx pgx.Tx, r Replay) error {
	var planned bool
	err := tx.QueryRow(ctx, `
		update reprocessamento set geracao = geracao + 1, espera = null, atualizado_em = clock_timestamp()
		where id = $1 returning geracao, planejado_em is not null`, r.ID).Scan(&r.Generation, &planned)
	if err != nil {
		return fmt.Errorf("replay %s: %w", r.ID, err)
	}
	if !planned {
		_, err := s.jobs.InsertTx(ctx, tx, PlanArgs{r.ID, r.Generation}, insertOpts(replayQueue(r.ID), r.Priority))
		return err
	}
	return s.insertWork(ctx, tx, r)
}

func (s *Store) insertFinish(ctx context.Context, tx pgx.Tx, r Replay) error {
	pass, err := passOf(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	if _, err := s.jobs.InsertTx(ctx, tx, FinishArgs{r.ID, r.Generation, pass}, insertOpts(replayQueue(r.ID), r.Priority)); err != nil {
		return fmt.Errorf("hand out %s: %w", r.ID, err)
	}
	return nil
}
