package devserver

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// maxSocketPath is what a unix socket address holds: 107 bytes on Linux, 103 on macOS and the BSDs.
const maxSocketPath = 103

// DefaultDir is where the development server lives if nothing else is said: REPRISE_HOME, else
// XDG_STATE_HOME/reprise, else ~/.local/state/reprise. Where the server's user could not enter that (root's
// home is closed to others) or there is no home, it is /var/lib/reprise for root and /var/tmp/reprise-<uid>
// for others.
func DefaultDir() (string, error) {
	if dir := os.Getenv("REPRISE_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	var choices []string
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		choices = append(choices, filepath.Join(state, "reprise"))
	}
	if home := homeDir(); home != "" {
		choices = append(choices, filepath.Join(home, ".local/state/reprise"))
	}
	if os.Geteuid() == 0 {
		choices = append(choices, "/var/lib/reprise")
	} else {
		choices = append(choices, fmt.Sprintf("/var/tmp/reprise-%d", os.Geteuid()))
	}
	return firstUsable(choices)
}

func firstUsable(choices []string) (string, error) {
	account, err := serverAccount()
	if err != nil {
		return "", err
	}
	var problems []error
	for _, dir := range choices {
		err := account.canReach(dir)
		if err == nil {
			err = makeStateDir(dir)
		}
		if err == nil {
			return dir, nil
		}
		problems = append(problems, err)
	}
	return "", fmt.Errorf("no place for the development server, set REPRISE_HOME: %w", errors.Join(problems...))
}

func homeDir() string {
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		return home
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return ""
}

// makeStateDir makes the directory that holds everything. It stays the caller's own: the log and the lock in
// it are written by the caller, and the server's user, if another one, may only pass through.
func makeStateDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	mode := os.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDirectory, err)
	case !info.IsDir() || ownerOf(info) != os.Geteuid():
		return fmt.Errorf("%w: %s does not belong to the user who runs this (uid %d)", ErrDirectory, dir, os.Geteuid())
	}
	if err := os.Chmod(dir, mode); err != nil {
		return fmt.Errorf("%w: %w", ErrDirectory, err)
	}
	return nil
}

// socketDir is where the socket goes: beside the data, unless that path is too long for a socket address.
func socketDir(dir string, port int) string {
	beside := filepath.Join(dir, "run")
	if len(beside)+len(socketName(port)) <= maxSocketPath {
		return beside
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(dir)) // never fails
	return filepath.Join("/tmp", fmt.Sprintf("reprise-%d-%x", os.Geteuid(), hash.Sum64()))
}

func socketName(port int) string {
	return fmt.Sprintf("/.s.PGSQL.%d", port)
}

// resolve returns dir without symbolic links, so that two spellings of it are one server.
func resolve(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(dir, "\n\x00") {
		return "", fmt.Errorf("%w: line break in %q", ErrDirectory, dir)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real, nil
	}
	return dir, nil
}
