package devserver

import "errors"

var (
	// ErrNoBinaries means that no PostgreSQL server is installed where [New] looks. Its text says what to
	// install on each system, or what to set instead.
	ErrNoBinaries = errors.New(`no PostgreSQL server found on this machine; install one:
  Debian, Ubuntu:  apt-get install postgresql
  Fedora, RHEL:    dnf install postgresql-server
  Alpine:          apk add postgresql
  Arch:            pacman -S postgresql
  macOS:           brew install postgresql@17
or name the directory that holds postgres and initdb in REPRISE_PG_BIN,
or use a server that runs elsewhere: set REPRISE_DATABASE_URL`)

	// ErrDirectory means that the state directory cannot be used: its path is too long, it belongs to
	// somebody else, or the server's user cannot enter it. The error around it says which; choose another
	// one with REPRISE_HOME.
	ErrDirectory = errors.New("unusable state directory")

	// ErrNotRunning means that there is no server to talk to: start it first.
	ErrNotRunning = errors.New("the development server is not running")
)
