package devserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// superuser is the role that owns everything in the server.
const superuser = "reprise"

// Options say which server. The zero value is the user's own one, reached by socket only.
type Options struct {
	// Dir holds data, socket, log and lock. "" means [DefaultDir].
	Dir string
	// TCP makes the server listen on 127.0.0.1 too, with a password that is kept in Dir.
	TCP bool
	// Port names the socket, and is the TCP port. 0 means 5432, or with TCP a free one.
	Port int
	// NoSync trades durability for speed: a crash of the machine loses the database. For tests.
	NoSync bool
	// Settings are further settings of the server, such as "max_connections".
	Settings map[string]string
}

// Server is one server, running or not. It is safe for concurrent use, by processes too.
type Server struct {
	options Options
	dir     string
	account account

	mu       sync.Mutex
	port     int    // 0: TCP, and not chosen yet
	password string // for TCP
}

// New names a server and prepares its directory. It starts nothing.
func New(options Options) (*Server, error) {
	dir := options.Dir
	if dir == "" {
		var err error
		if dir, err = DefaultDir(); err != nil {
			return nil, err
		}
	}
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	if err := makeStateDir(dir); err != nil {
		return nil, err
	}
	if dir, err = resolve(dir); err != nil {
		return nil, err
	}
	if err := account.canReach(dir); err != nil {
		return nil, fmt.Errorf("%w: choose another directory with REPRISE_HOME", err)
	}
	s := &Server{options: options, dir: dir, account: account, port: options.Port}
	if s.port == 0 && !options.TCP {
		s.port = 5432
	}
	if options.TCP {
		if s.password, err = password(filepath.Join(dir, "password")); err != nil {
			return nil, err
		}
	}
	if running, ok := s.running(); ok && running.port != 0 {
		s.port = running.port
	}
	return s, nil
}

// Dir is the directory that holds the server.
func (s *Server) Dir() string { return s.dir }

// LogFile is the file that the server writes its log to.
func (s *Server) LogFile() string { return filepath.Join(s.dir, "postgres.log") }

// data is the data directory.
func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// URL is how to connect to a database of the server: through the socket, or with [Options.TCP] through
// TCP, and then it holds the password. It is valid once the server was started.
func (s *Server) URL(database string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.options.TCP {
		return s.socketURL(database)
	}
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.password),
		Host:     "127.0.0.1:" + strconv.Itoa(s.port),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// socketURL is for those who hold the lock or the mutex.
func (s *Server) socketURL(database string) string {
	query := url.Values{
		"host":    {socketDir(s.dir, s.port)},
		"port":    {strconv.Itoa(s.port)},
		"sslmode": {"disable"},
	}
	u := url.URL{Scheme: "postgres", User: url.User(superuser), Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

// Running reports the process id of the server, if it runs and accepts connections.
func (s *Server) Running(ctx context.Context) (pid int, ok bool) {
	running, ok := s.running()
	if !ok || !running.ready || ctx.Err() != nil {
		return 0, false
	}
	return running.pid, true
}

// running reports the server's process, ready or not.
func (s *Server) running() (postmaster, bool) {
	p, ok := readPostmaster(s.data())
	return p, ok && serves(p.pid, s.data())
}

// CreateDatabase creates a database unless it is there already.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize())
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && (pgErr.Code == pgerrcode.DuplicateDatabase || pgErr.Code == pgerrcode.UniqueViolation) {
		return nil // the second code: created by somebody else at this very moment
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

// connect opens an administrator's connection, through the socket.
func (s *Server) connect(ctx context.Context) (*pgx.Conn, error) {
	if _, ok := s.Running(ctx); !ok {
		return nil, fmt.Errorf("%w (%s)", ErrNotRunning, s.dir)
	}
	s.mu.Lock()
	target := s.socketURL("postgres")
	s.mu.Unlock()
	conn, err := pgx.Connect(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("connect to the development server in %s: %w", s.dir, err)
	}
	return conn, nil
}

// password returns the one in the file, made on first use. The file is the caller's alone.
func password(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		secret := rand.Text()
		_, err = file.WriteString(secret + "\n")
		if err = errors.Join(err, file.Close()); err != nil {
			return "", fmt.Errorf("write password: %w", err)
		}
		return secret, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read password: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}
