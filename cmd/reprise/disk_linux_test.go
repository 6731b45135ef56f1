package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/devserver"
)

// TestP1_AFullDisk under the ledger, in the middle of an apply: the cause is named, nothing is sent without a
// reservation, and once there is room again the run goes on to its end.
func TestP1_AFullDisk(t *testing.T) {
	t.Parallel()
	const events = 600
	disk := smallDisk(t)
	s := newSite(t, ledger.Keep, "")
	s.configure(`sweep_age = "3s"`, `sweep_age = "5m"`) // an answer waits as long to be recorded
	server := s.ownServer()
	s.ledgerOn(server, disk)
	s.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
		select g, 'ev-' || g, 'pedido.pago', 'P-' || (g % 20), g / 20 + 1, jsonb_build_object('valorCentavos', 1000 + g, 'percentual', 5), now()
		from generate_series(1, $1) g`, events)
	s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "4")

	ballast := filepath.Join(disk, "ballast")
	filled := s.atRequest(100, func() { fill(t, ballast) }, func() {})
	cmd, _, errout := s.start("replay", "run", "a")
	<-filled
	s.waitUntil("the cause is named", func() bool { return strings.Contains(errout.String(), "No space left on device") })
	s.provider.OnRequest(func(key string) {
		if s.int(`select count(*) from efeito_aplicado where chave = $1 and estado = 'reservado'`, key) != 1 {
			t.Errorf("%s was sent without a reservation", key)
		}
	})
	if n := s.provider.Totals().Keys; n >= events {
		t.Errorf("all %d effects went out before the disk was full", n)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, errout)
	}
	s.wantPromises(ledger.Keep, events)
	if n := s.int(`select count(*) from efeito_aplicado where estado = 'concluido'`); n != events {
		t.Errorf("%d effects are done", n)
	}
}

// smallDisk mounts a file system of its own.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reprise-disk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m,mode=755"); err != nil {
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
			t.Skipf("mounting a disk that can be filled: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes until nothing more fits.
func fill(t *testing.T, path string) {
	f, err := os.Create(path)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
}

// ledgerOn puts the ledger's rows on a disk that the server's user may write to.
func (s *site) ledgerOn(server *devserver.Server, disk string) {
	s.t.Helper()
	info, err := os.Stat(filepath.Join(server.Dir(), "data"))
	if err != nil {
		s.t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	space := filepath.Join(disk, "space")
	if err := os.Mkdir(space, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Chown(space, int(owner.Uid), int(owner.Gid)); err != nil {
		s.t.Fatal(err)
	}
	s.exec(`create tablespace small location '` + space + `'`)
	s.exec(`alter table efeito_aplicado set tablespace small`)
}
