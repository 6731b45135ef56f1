package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/scripts/bench/rig"
)

// fleet is some runners that share a replay of its own positions.
type fleet struct {
	rig         *rig.Rig
	provider    *faultprovider.Server
	hosts       int
	signal      syscall.Signal // to the first, when a third of the effects came; 0: none
	joins       bool           // one more starts when a third of the effects came
	first, last int

	mu         sync.Mutex
	began, end time.Time
	thirds     [2]time.Time // when the first and the second third of the requests had come
	requests   int
	third      chan struct{}
	processes  []*exec.Cmd
	ended      []chan time.Time
}

func (f *fleet) run(ctx context.Context) (got result, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	got = result{Hosts: f.hosts}
	if err := f.rig.Archive(ctx, f.first, f.last); err != nil {
		return got, err
	}
	f.third = make(chan struct{})
	f.provider.Reset()
	f.provider.OnRequest(f.count)
	defer f.provider.OnRequest(nil)
	defer f.stop()
	for range f.hosts {
		if err := f.start(ctx); err != nil {
			return got, err
		}
	}
	if err := f.until(ctx, `select count(*) = $1 from executor where papel = 'run' and pid = any($2)`, f.hosts, f.pids()); err != nil {
		return got, err
	}
	id := fmt.Sprintf("hosts-%d", f.first)
	_, err = f.rig.Run(ctx, "replay", "queue", "--id", id, "--positions", fmt.Sprintf("%d:%d", f.first, f.last), "--apply", "--partitions", fmt.Sprint(partitions))
	if err != nil {
		return got, err
	}
	if f.signal != 0 {
		if err := f.loseOne(ctx, id, &got); err != nil {
			return got, err
		}
	}
	if f.joins {
		if err := f.reinforce(ctx); err != nil {
			return got, err
		}
	}
	if err := f.until(ctx, `select estado in ('concluido', 'parcial') from reprocessamento where id = $1`, id); err != nil {
		return got, err
	}
	totals := f.provider.Totals()
	got.Keys, got.Deliveries, got.Twice = totals.Keys, totals.Deliveries, totals.Twice
	err = f.rig.Pool.QueryRow(ctx, `select count(*), count(*) filter (where estado = 'incerto') from efeito_aplicado where execucao_id = $1`, id).
		Scan(&got.Effects, &got.Doubt)
	f.mu.Lock()
	defer f.mu.Unlock()
	got.Took = f.end.Sub(f.began)
	got.Rate = float64(got.Keys) / got.Took.Seconds()
	if f.joins {
		got.Joined = float64(f.thirds[0].Sub(f.began)) / float64(f.end.Sub(f.thirds[1]))
	}
	return got, err
}

// count notes when requests came.
func (f *fleet) count(string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end = time.Now()
	if f.requests++; f.requests == 1 {
		f.began = f.end
	}
	switch third := (f.last - f.first + 1) / 3; f.requests {
	case third:
		f.thirds[0] = f.end
		close(f.third)
	case 2 * third:
		f.thirds[1] = f.end
	}
}

func (f *fleet) start(ctx context.Context) error {
	cmd := f.rig.Command(ctx, "run")
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan time.Time, 1)
	go func() {
		_ = cmd.Wait() // how it ended is its own affair: the provider counts
		ended <- time.Now()
	}()
	f.processes, f.ended = append(f.processes, cmd), append(f.ended, ended)
	return nil
}

func (f *fleet) pids() []int {
	pids := make([]int, len(f.processes))
	for i, p := range f.processes {
		pids[i] = p.Process.Pid
	}
	return pids
}

// stop ends what still runs.
func (f *fleet) stop() {
	for i, p := range f.processes {
		_ = p.Process.Signal(syscall.SIGTERM)
		select {
		case <-f.ended[i]:
		case <-time.After(time.Minute):
			_ = p.Process.Kill()
		}
	}
}

// until waits until a query answers true.
func (f *fleet) until(ctx context.Context, sql string, args ...any) error {
	for {
		var ok bool
		if err := f.rig.Pool.QueryRow(ctx, sql, args...).Scan(&ok); err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not come about: %s", sql)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

const heldSQL = `
	select particao, epoca from reprocessamento_checkpoint
	where execucao_id = $1 and not concluida and ocupada_ate > clock_timestamp() and dono like '%:' || $2::int || ':%'`

// takenSQL: every partition of the list was claimed again, or is done.
const takenSQL = `
	select bool_and(c.concluida or c.epoca > h.epoca and coalesce(c.dono, '') not like '%:' || $4::int || ':%')
	from reprocessamento_checkpoint c join unnest($2::int[], $3::bigint[]) h (particao, epoca) using (particao)
	where c.execucao_id = $1`

// reinforce starts one more host in the middle.
func (f *fleet) reinforce(ctx context.Context) error {
	select {
	case <-f.third:
		return f.start(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// loseOne sends the signal and waits until others have what that host had.
func (f *fleet) loseOne(ctx context.Context, id string, got *result) error {
	select {
	case <-f.third:
	case <-ctx.Done():
		return ctx.Err()
	}
	victim := f.processes[0]
	got.Signal = map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", syscall.SIGTERM: "SIGTERM"}[f.signal]
	// Frozen first, so that what it holds is what it loses.
	if f.signal == syscall.SIGKILL {
		if err := victim.Process.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	rows, err := f.rig.Pool.Query(ctx, heldSQL, id, victim.Process.Pid)
	if err != nil {
		return err
	}
	var held, epochs []int64
	var partition, epoch int64
	_, err = pgx.ForEachRow(rows, []any{&partition, &epoch}, func() error {
		held, epochs = append(held, partition), append(epochs, epoch)
		return nil
	})
	if err != nil {
		return err
	}
	if got.Partitions = len(held); got.Partitions == 0 {
		return errors.New("the host that gets the signal has no partition; take more -events")
	}
	sent := time.Now()
	if err := victim.Process.Signal(f.signal); err != nil {
		return err
	}
	ended := <-f.ended[0]
	f.ended[0] <- ended
	got.Exit = ended.Sub(sent)
	if err := f.until(ctx, takenSQL, id, held, epochs, victim.Process.Pid); err != nil {
		return err
	}
	got.Idle = time.Since(sent)
	return nil
}
