package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"reprise.dev/reprise/ledger"
)

// mostResident is what the program may keep in memory, whatever it works on.
const mostResident = 200 << 20

// residentAtMost runs the program to its end and asserts how much it kept in memory at most.
func (s *site) residentAtMost(most int64, args ...string) {
	s.t.Helper()
	cmd, out, errout := s.start(args...)
	defer endBy(cmd, 5*time.Minute).Stop()
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the exit code tells
		close(ended)
	}()
	var peak int64
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-time.After(10 * time.Millisecond):
			peak = max(peak, highWater(cmd))
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != exitDone {
		s.t.Errorf("exit %d\n%s%s", code, out, errout)
	}
	s.t.Logf("%v: %d MB at most", args, peak>>20)
	if peak == 0 || peak > most {
		s.t.Errorf("%v: %d MB resident, want at most %d", args, peak>>20, most>>20)
	}
}

// highWater is the most that a process ever had resident, in bytes; 0 if it has ended.
func highWater(cmd *exec.Cmd) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes int64
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kilobytes); err == nil {
			return kilobytes << 10
		}
	}
	return 0
}

// TestMemoryDoesNotGrowWithPayloads: of 20 MB each, in more partitions than are worked at once.
func TestMemoryDoesNotGrowWithPayloads(t *testing.T) {
	t.Parallel()
	const events = 12
	s := newSite(t, ledger.Keep, "")
	s.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select g, 'ev-' || g, 'pedido.pago', 'P-' || g, 1, jsonb_build_object('valorCentavos', 1000, 'percentual', 5, 'nota', repeat('ã', 10485760)), '2026-10-14'
		from generate_series(1, $1::int) g`, events)
	for _, mode := range []string{"--simulate", "--apply"} {
		s.want(exitDone, "replay", "queue", "--id", "r"+mode, "--positions", fmt.Sprintf("1:%d", events), "--partitions", "8", mode)
		s.residentAtMost(mostResident, "replay", "run", "r"+mode)
	}
	for i := 1; i <= events; i++ {
		if n := s.provider.Delivered(effectKey(i)); n != 1 {
			t.Errorf("%s was delivered %d times", effectKey(i), n)
		}
	}
}

// TestAMillionEventsInOneSecond: one window, one instant, a million orders. They fall into even partitions, all are
// simulated, and memory stays what it is.
func TestAMillionEventsInOneSecond(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a million events")
	}
	const events = 1_000_000
	s := newSite(t, ledger.Keep, "")
	s.configure(`mode = "aplicar"`, `mode = "suprimir"`)
	s.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select g, 'ev-' || g, 'pedido.pago', 'P-' || g, 1, '{"valorCentavos":10000,"percentual":5}', '2026-10-14T12:00:00Z'
		from generate_series(1, $1::int) g`, events)
	s.want(exitDone, "replay", "queue", "--id", "r", "--from", "2026-10-14T12:00:00Z", "--to", "2026-10-14T12:00:01Z")
	s.residentAtMost(mostResident, "replay", "run", "r")
	if n := s.int(`select max(eventos) - min(eventos) from reprocessamento_checkpoint`); n > 1 {
		t.Errorf("partitions differ by %d events", n)
	}
	if n := s.int(`select sum(eventos)::int from reprocessamento_checkpoint`); n != events {
		t.Errorf("%d events planned, want %d", n, events)
	}
	if n := s.int(`select count(*) from reprocessamento_diff where execucao_id = 'r'`); n != events {
		t.Errorf("%d orders in the diff, want %d", n, events)
	}
}
