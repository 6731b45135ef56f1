package devserver

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWithoutBinariesItSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("REPRISE_PG_BIN", "")
	former := packageDirs
	packageDirs = nil
	t.Cleanup(func() { packageDirs = former })

	_, err := findBinaries("")
	if !errors.Is(err, ErrNoBinaries) {
		t.Fatalf("got %v, want ErrNoBinaries", err)
	}
	for _, want := range []string{"apt-get install postgresql", "brew install postgresql@17", "REPRISE_PG_BIN", "REPRISE_DATABASE_URL"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
}

// fakeServer makes a directory with programs that tell this version.
func fakeServer(t *testing.T, version string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"postgres", "initdb"} {
		script := "#!/bin/sh\necho '" + name + " (PostgreSQL) " + version + "'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBinariesAreTakenFromTheVariableThenThePathThenPackages(t *testing.T) {
	named, onPath, packaged := fakeServer(t, "16.1"), fakeServer(t, "17.2 (Debian 17.2-1)"), fakeServer(t, "18beta1")
	former := packageDirs
	packageDirs = []string{packaged}
	t.Cleanup(func() { packageDirs = former })

	for _, test := range []struct{ variable, path, major, want string }{
		{named, onPath, "", named},
		{"", onPath, "", onPath},
		{"", t.TempDir(), "", packaged},
		{"", onPath, "18", packaged}, // of the data's version
	} {
		t.Setenv("REPRISE_PG_BIN", test.variable)
		t.Setenv("PATH", test.path)
		if got, err := findBinaries(test.major); err != nil || got != test.want {
			t.Errorf("%+v: got %q (%v)", test, got, err)
		}
	}
	t.Setenv("REPRISE_PG_BIN", named)
	if _, err := findBinaries("18"); err == nil || !strings.Contains(err.Error(), "made by PostgreSQL 18, and only 16 is installed") {
		t.Errorf("wrong version in REPRISE_PG_BIN: %v", err)
	}
	t.Setenv("REPRISE_PG_BIN", t.TempDir())
	if _, err := findBinaries(""); !errors.Is(err, ErrNoBinaries) {
		t.Errorf("nothing in REPRISE_PG_BIN: %v, want ErrNoBinaries", err)
	}
}

func TestNewestPackageFirst(t *testing.T) {
	dirs := []string{"/usr/lib/postgresql/9.6/bin", "/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/15/bin"}
	slices.SortFunc(dirs, newestFirst)
	if want := []string{"/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/9.6/bin"}; !slices.Equal(dirs, want) {
		t.Errorf("got %q, want %q", dirs, want)
	}
}

func TestTheDefaultDirectory(t *testing.T) {
	t.Run("is the one that REPRISE_HOME names", func(t *testing.T) {
		home := t.TempDir()
		t.Setenv("REPRISE_HOME", home)
		if got, err := DefaultDir(); err != nil || got != home {
			t.Errorf("got %q (%v), want %q", got, err, home)
		}
	})
	t.Run("follows XDG_STATE_HOME, then the home directory", func(t *testing.T) {
		t.Setenv("REPRISE_HOME", "")
		state, home := enterable(t), enterable(t)
		t.Setenv("HOME", home)
		t.Setenv("XDG_STATE_HOME", state)
		if got, err := DefaultDir(); err != nil || got != filepath.Join(state, "reprise") {
			t.Errorf("got %q (%v), want it in %s", got, err, state)
		}
		t.Setenv("XDG_STATE_HOME", "")
		if got, err := DefaultDir(); err != nil || got != filepath.Join(home, ".local/state/reprise") {
			t.Errorf("got %q (%v), want it in %s", got, err, home)
		}
	})
	t.Run("is the first that the server's user can use", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		usable := filepath.Join(enterable(t), "reprise")
		if got, err := firstUsable([]string{file, file + "/below", usable}); err != nil || got != usable {
			t.Errorf("got %q (%v), want %q", got, err, usable)
		}
		if _, err := firstUsable([]string{file}); !errors.Is(err, ErrDirectory) || !strings.Contains(err.Error(), "REPRISE_HOME") {
			t.Errorf("got %v, want ErrDirectory that tells of REPRISE_HOME", err)
		}
	})
	t.Run("is not in a home that the server's user cannot enter", func(t *testing.T) {
		other := account{name: "somebody", uid: 12345, switched: true}
		closed := t.TempDir() // 0700 somewhere on the way
		if err := os.Chmod(closed, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := other.canReach(filepath.Join(closed, "reprise")); !errors.Is(err, ErrDirectory) {
			t.Errorf("got %v, want ErrDirectory", err)
		}
	})
}

// enterable is a directory that every user can enter.
func enterable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reprise-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
