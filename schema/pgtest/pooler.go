package pgtest

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"reprise.dev/reprise/schema/devserver"
)

// pgbouncerConfig shares few connections of the server among many clients, a transaction at a time.
const pgbouncerConfig = `
[databases]
* = host=%s port=%s user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 8
max_client_conn = 1000
`

// pooler starts PgBouncer before the server of a URL, and returns its address. It runs as the one who owns the path,
// since it refuses root, and ends with the test.
func pooler(t testing.TB, server *url.URL, path string) (address string) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Fatalf("pgtest: %s=%s needs PgBouncer: %v", modeVariable, pooled, err)
	}
	port, err := devserver.FreePort(t.Context())
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	address = fmt.Sprintf("127.0.0.1:%d", port)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	owner := info.Sys().(*syscall.Stat_t)

	// Not t.TempDir: as root, its user could not enter it.
	dir, err := os.MkdirTemp("", "reprise-pooler-")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := filepath.Join(dir, "pgbouncer.ini")
	password, _ := server.User.Password()
	text := fmt.Sprintf(pgbouncerConfig, server.Hostname(), server.Port(), server.User.Username(), password, port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	cmd := exec.Command(program, config)
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &said, &said
	if os.Geteuid() == 0 {
		for _, p := range []string{dir, config} {
			if err := os.Chown(p, int(owner.Uid), int(owner.Gid)); err != nil {
				t.Fatalf("pgtest: %v", err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("pgtest: start PgBouncer: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended //nolint:errcheck // that it ended is what counts
	})
	for deadline := time.Now().Add(setUpLimit); ; {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
			return address
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("pgtest: PgBouncer: %v\n%s", err, said.String())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("pgtest: PgBouncer does not answer at %s", address)
		}
	}
}
