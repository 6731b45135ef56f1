package pgtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/devserver"
	"reprise.dev/reprise/schema/pgtest"
)

func TestDatabasesAreMigratedAndSeparate(t *testing.T) {
	one, two := pgtest.New(t), pgtest.New(t)
	if err := schema.Check(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	_, err := one.Exec(t.Context(), `insert into comissao (pedido_id, valor_centavos, versao_evento) values ('p1', 1, 1)`)
	if err != nil {
		t.Fatal(err)
	}
	var orders int
	if err := two.QueryRow(t.Context(), `select count(*) from comissao`).Scan(&orders); err != nil || orders != 0 {
		t.Errorf("the other database has %d orders (%v), want none", orders, err)
	}
}

// TestEveryModeIsTaken, and through the pooler the server is not the one that the test connects to.
func TestEveryModeIsTaken(t *testing.T) {
	for mode, want := range map[string]pgx.QueryExecMode{
		"": pgx.QueryExecModeCacheStatement, "simple_protocol": pgx.QueryExecModeSimpleProtocol, "pooler": pgx.QueryExecModeExec,
	} {
		t.Run(mode, func(t *testing.T) {
			if _, err := exec.LookPath("pgbouncer"); mode == "pooler" && err != nil {
				t.Skip(err)
			}
			t.Setenv("REPRISE_PGTEST_MODE", mode)
			pool := pgtest.New(t)
			if got := pool.Config().ConnConfig.DefaultQueryExecMode; got != want {
				t.Errorf("mode %s, want %s", got, want)
			}
			var port int
			if err := pool.QueryRow(t.Context(), `select inet_server_port()`).Scan(&port); err != nil {
				t.Fatal(err)
			}
			if direct := port == int(pool.Config().ConnConfig.Port); direct == (mode == "pooler") {
				t.Errorf("the server's port is %d, the tests' %d", port, pool.Config().ConnConfig.Port)
			}
		})
	}
}

func TestADatabaseIsDroppedWithItsTest(t *testing.T) {
	var name string
	t.Run("test", func(t *testing.T) {
		if err := pgtest.New(t).QueryRow(t.Context(), `select current_database()`).Scan(&name); err != nil {
			t.Fatal(err)
		}
	})
	var left int
	err := pgtest.New(t).QueryRow(t.Context(), `select count(*) from pg_database where datname = $1`, name).Scan(&left)
	if err != nil || left != 0 {
		t.Errorf("%q is still there (%v)", name, err)
	}
}

func TestAServerOfOnesOwnSurvivesItsCrash(t *testing.T) {
	server := pgtest.Server(t)
	url := server.URL(pgtest.Database)
	insert := func(order string) {
		t.Helper()
		pool, err := schema.Open(t.Context(), url, schema.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		if err := schema.Check(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		if _, err := pool.Exec(t.Context(), `insert into comissao (pedido_id, valor_centavos, versao_evento) values ($1, 1, 1)`, order); err != nil {
			t.Fatal(err)
		}
	}
	insert("p1")
	pid, _ := server.Running(t.Context())
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	insert("p2") // through the same URL
}

// waitVariable makes the child of the test below tell that it is ready, and wait to be killed.
const waitVariable = "REPRISE_PGTEST_WAIT"

func TestTheSharedServerEndsWithItsLastUser(t *testing.T) {
	if dir := os.Getenv(waitVariable); dir != "" {
		pgtest.New(t)
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		return
	}
	// Not t.TempDir: as root, the server's user could not enter it.
	temp, err := os.MkdirTemp("", "reprise-pgtest-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	if err := os.Chmod(temp, 0o711); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp) // a shared server apart from the one that this test runs on
	t.Setenv(waitVariable, temp)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var users []*exec.Cmd
	for range 2 {
		user := exec.Command(program, "-test.run=^"+t.Name()+"$")
		if err := user.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = user.Process.Kill() }()
		users = append(users, user)
		await(t, "a user of the shared server", func() bool {
			_, err := os.Stat(filepath.Join(temp, strconv.Itoa(user.Process.Pid)))
			return err == nil
		})
	}
	server, err := devserver.New(devserver.Options{Dir: filepath.Join(temp, "reprise-test-"+strconv.Itoa(os.Geteuid()))})
	if err != nil {
		t.Fatal(err)
	}
	running := func() bool {
		_, ok := server.Running(t.Context())
		return ok
	}
	kill := func(user *exec.Cmd) {
		if err := user.Process.Kill(); err != nil { // no clean-up of any kind
			t.Fatal(err)
		}
		_ = user.Wait() // killed, as it says
	}
	kill(users[0]) // the one that started it
	time.Sleep(300 * time.Millisecond)
	if !running() {
		t.Fatal("the server ended although a test process uses it")
	}
	kill(users[1])
	await(t, "the end of the shared server", func() bool { return !running() })
}

func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no sign of %s", what)
		}
	}
}
