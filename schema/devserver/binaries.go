package devserver

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// packageDirs is where packages put the server's binaries without putting them on the PATH.
var packageDirs = []string{
	"/usr/lib/postgresql/*/bin",          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                   // RPMs of the PostgreSQL project
	"/usr/libexec/postgresql*",           // Alpine
	"/opt/homebrew/opt/postgresql@*/bin", // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",    // Homebrew on Intel
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findBinaries returns the directory of postgres and initdb: what REPRISE_PG_BIN names, else the PATH, else
// pg_config's, else a package's, newest first. A major version other than "" must match: a data directory
// can be opened by its own major version only.
func findBinaries(major string) (string, error) {
	if dir := os.Getenv("REPRISE_PG_BIN"); dir != "" {
		if !holdsServer(dir) {
			return "", fmt.Errorf("REPRISE_PG_BIN=%s holds no postgres and initdb: %w", dir, ErrNoBinaries)
		}
		return dir, checkMajor([]string{dir}, major)
	}
	var found []string
	for _, dir := range candidates() {
		if !holdsServer(dir) {
			continue
		}
		if major == "" || majorVersion(dir) == major {
			return dir, nil
		}
		found = append(found, dir)
	}
	return "", checkMajor(found, major)
}

func checkMajor(found []string, major string) error {
	if len(found) == 0 {
		return ErrNoBinaries
	}
	if major == "" || majorVersion(found[0]) == major {
		return nil
	}
	return fmt.Errorf("the data was made by PostgreSQL %s, and only %s is installed (in %s): install %s, or choose another REPRISE_HOME",
		major, majorVersion(found[0]), strings.Join(found, ", "), major)
}

func candidates() []string {
	var dirs []string
	if postgres, err := exec.LookPath("postgres"); err == nil {
		// A link on the PATH leads to the directory that holds the server's other files.
		if real, err := filepath.EvalSymlinks(postgres); err == nil {
			postgres = real
		}
		dirs = append(dirs, filepath.Dir(postgres))
	}
	if pgConfig, err := exec.LookPath("pg_config"); err == nil {
		if out, err := exec.Command(pgConfig, "--bindir").Output(); err == nil {
			dirs = append(dirs, strings.TrimSpace(string(out)))
		}
	}
	for _, pattern := range packageDirs {
		matches, _ := filepath.Glob(pattern) // the patterns are well-formed
		slices.SortFunc(matches, newestFirst)
		dirs = append(dirs, matches...)
	}
	return dirs
}

// newestFirst orders paths by the version number in them: 17 before 9.6.
func newestFirst(a, b string) int {
	return cmp.Or(cmp.Compare(versionIn(b), versionIn(a)), strings.Compare(b, a))
}

func versionIn(path string) float64 {
	number := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return ' '
	}, path)
	var version float64
	for _, field := range strings.Fields(number) {
		if v, err := strconv.ParseFloat(field, 64); err == nil {
			version = v
		}
	}
	return version
}

func holdsServer(dir string) bool {
	for _, name := range []string{"postgres", "initdb"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

// majorVersion asks the binary: "postgres (PostgreSQL) 15.18 (Debian …)" is "15".
func majorVersion(dir string) string {
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
	fields := strings.Fields(string(out))
	if err != nil || len(fields) < 3 {
		return "unknown"
	}
	end := strings.IndexFunc(fields[2], func(r rune) bool { return r < '0' || r > '9' }) // 15.18, 18beta1
	if end < 0 {
		end = len(fields[2])
	}
	return fields[2][:end]
}
