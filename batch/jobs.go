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

// SliceArgs works one partition for some seconds.
type SliceArgs struct {
	Execution  string `json:"execucao" river:"unique"`
	Partition  int    `json:"particao" river:"unique"`
	Generation int    `json:"geracao" river:"unique"`
	Pass       int    `json:"passagem" river:"unique"`
}

// Kind names the job.
func (SliceArgs) Kind() string { return "fatiar" }

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
	return s.insertSlices(ctx, tx, r)
}

// insertSlices inserts a job for each partition that is not done, or the account if all are.
func (s *Store) insertSlices(ctx context.Context, tx pgx.Tx, r Replay) error {
	rows, err := tx.Query(ctx, `
		select particao, passagens from reprocessamento_checkpoint
		where execucao_id = $1 and not concluida order by particao`, r.ID)
	if err != nil {
		return fmt.Errorf("partitions of %s: %w", r.ID, err)
	}
	opts := insertOpts(replayQueue(r.ID), r.Priority)
	var jobs []river.InsertManyParams
	jobs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (river.InsertManyParams, error) {
		a := SliceArgs{Execution: r.ID, Generation: r.Generation}
		err := row.Scan(&a.Partition, &a.Pass)
		return river.InsertManyParams{Args: a, InsertOpts: opts}, err
	})
	if err != nil {
		return fmt.Errorf("partitions of %s: %w", r.ID, err)
	}
	if len(jobs) == 0 {
		return s.insertFinish(ctx, tx, r)
	}
	if _, err := s.jobs.InsertManyTx(ctx, tx, jobs); err != nil {
		return fmt.Errorf("hand out %s: %w", r.ID, err)
	}
	return nil
}

func (s *Store) insertFinish(ctx context.Context, tx pgx.Tx, r Replay) error {
	var pass int
	if err := tx.QueryRow(ctx, `select coalesce(max(passagens), 1) from reprocessamento_checkpoint where execucao_id = $1`, r.ID).Scan(&pass); err != nil {
		return fmt.Errorf("hand out %s: %w", r.ID, err)
	}
	if _, err := s.jobs.InsertTx(ctx, tx, FinishArgs{r.ID, r.Generation, pass}, insertOpts(replayQueue(r.ID), r.Priority)); err != nil {
		return fmt.Errorf("hand out %s: %w", r.ID, err)
	}
	return nil
}
