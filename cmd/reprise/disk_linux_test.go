package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/devserver"
)

// fullDisks are ways in which what the ledger is stored on takes no more. Each says what the server says then.
var fullDisks = []struct {
	name, said string
	prepare    func(*site) (fill, free func())
}{
	{"no space", "No space left on device", (*site).onSmallDisk},
	{"no larger files", "File too large", (*site).inFilesOfTheirSize}, // needs no privilege
}

// TestP1_AFullDisk under the ledger, in the middle of an apply: the cause is named, nothing is sent without a
// reservation, and once there is room again the run goes on to its end.
func TestP1_AFullDisk(t *testing.T) {
	t.Parallel()
	const events = 600
	for _, disk := range fullDisks {
		t.Run(disk.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, ledger.Keep, "")
			s.configure(`sweep_age = "3s"`, `sweep_age = "5m"`) // an answer waits as long to be recorded
			fill, free := disk.prepare(s)
			s.exec(`insert into evento_arquivado (posicao, id, tipo, pedido_id, versao, payload, ocorrido_em)
				select g, 'ev-' || g, 'pedido.pago', 'P-' || (g % 20), g / 20 + 1, jsonb_build_object('valorCentavos', 1000 + g, 'percentual', 5), now()
				from generate_series(1, $1) g`, events)
			s.want(exitDone, "replay", "queue", "--id", "a", "--positions", fmt.Sprintf("1:%d", events), "--apply", "--partitions", "4")

			filled := s.atRequest(100, fill, func() {})
			cmd, _, errout := s.start("replay", "run", "a")
			<-filled
			s.waitUntil("the cause is named", func() bool { return strings.Contains(errout.String(), disk.said) })
			s.provider.OnRequest(func(key string) {
				if s.int(`select count(*) from efeito_aplicado where chave = $1 and estado = 'reservado'`, key) != 1 {
					t.Errorf("%s was sent without a reservation", key)
				}
			})
			if n := s.provider.Totals().Keys; n >= events {
				t.Errorf("all %d effects went out before the disk was full", n)
			}
			free()
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, errout)
			}
			s.wantPromises(ledger.Keep, events)
			if n := s.int(`select count(*) from efeito_aplicado where estado = 'concluido'`); n != events {
				t.Errorf("%d effects are done", n)
			}
		})
	}
}

// onSmallDisk puts the ledger's rows on a file system of their own, which is mounted where that is permitted.
func (s *site) onSmallDisk() (fill, free func()) {
	disk := smallDisk(s.t)
	s.ledgerOn(s.ownServer(), disk)
	ballast := filepath.Join(disk, "ballast")
	return func() { fillUp(s.t, ballast) }, func() {
		if err := os.Remove(ballast); err != nil {
			s.t.Fatal(err)
		}
	}
}

// inFilesOfTheirSize forbids the server's processes to write beyond the end of the ledger's file. It is larger than any
// other file of theirs: what it held before was deleted, and its room is not taken again while somebody may see that.
func (s *site) inFilesOfTheirSize() (fill, free func()) {
	server := s.ownServer()
	s.exec(`alter table efeito_aplicado set (autovacuum_enabled = off)`)
	s.exec(`insert into efeito_aplicado (chave, evento_id, tipo_efeito, estado, execucao_id)
		select g || ':x', g, 'x', 'concluido', 'ao-vivo' from generate_series(1, 200000) g`) // small rows, which leave no gaps
	s.stillSeen()
	s.exec(`delete from efeito_aplicado`)
	limit := func(soft string) {
		postmaster, ok := server.Running(context.Background())
		if !ok {
			s.t.Error("the server does not run")
			return
		}
		// A process may do so to others of its own user.
		cmd := exec.Command("sh", "-c", `for pid in "$@"; do prlimit --fsize=`+soft+`: --pid "$pid" || test ! -d "/proc/$pid" || exit 1; done`, "sh", strconv.Itoa(postmaster))
		cmd.Args = append(cmd.Args, strings.Fields(s.text(`select string_agg(pid::text, ' ') from pg_stat_activity`))...)
		if owner := s.ownerOf(server); int(owner.Uid) != os.Getuid() {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Errorf("limit to %s: %v\n%s", soft, err, out)
		}
	}
	return func() {
		size := s.int(`select pg_relation_size('efeito_aplicado')`)
		if largest := 16 << 20; size < largest { // of the others: a segment of the log
			s.t.Errorf("the ledger's file has %d bytes, less than %d", size, largest)
		}
		limit(strconv.Itoa(size))
	}, func() { limit("unlimited") }
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

// fillUp writes until nothing more fits.
func fillUp(t *testing.T, path string) {
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
	owner := s.ownerOf(server)
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

// ownerOf is the user that the server runs as.
func (s *site) ownerOf(server *devserver.Server) *syscall.Stat_t {
	s.t.Helper()
	info, err := os.Stat(filepath.Join(server.Dir(), "data"))
	if err != nil {
		s.t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t)
}

// stillSeen keeps a snapshot of the database to the end of the test: what is deleted from now on keeps its room.
func (s *site) stillSeen() {
	s.t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close(ctx) })
	for _, sql := range []string{`begin isolation level repeatable read`, `select count(*) from efeito_aplicado`} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			s.t.Fatal(err)
		}
	}
}
