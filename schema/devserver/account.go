package devserver

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is who the server runs as. PostgreSQL refuses root.
type account struct {
	name     string
	uid, gid int
	switched bool // another one than the caller
}

func serverAccount() (account, error) {
	if os.Geteuid() != 0 {
		return account{name: "uid " + strconv.Itoa(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		if uidErr == nil && gidErr == nil {
			return account{name: name, uid: uid, gid: gid, switched: true}, nil
		}
	}
	return account{}, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as: create one, or run as another user")
}

func (a account) credential() *syscall.Credential {
	if !a.switched {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// mkdir makes a directory of the server's own.
func (a account) mkdir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if owner := ownerOf(info); !info.IsDir() || owner != os.Geteuid() && owner != a.uid {
		return fmt.Errorf("%w: %s is not a directory of %s", ErrDirectory, path, a.name)
	}
	if a.switched {
		return os.Lchown(path, a.uid, a.gid)
	}
	return nil
}

// canReach reports whether the server's user can enter every directory that leads to path. Directories that
// do not exist yet are made enterable by the caller.
func (a account) canReach(path string) error {
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return fmt.Errorf("%w: %w", ErrDirectory, err)
		case !info.IsDir():
			return fmt.Errorf("%w: %s is not a directory", ErrDirectory, dir)
		case !a.mayEnter(info):
			return fmt.Errorf("%w: user %s cannot enter %s", ErrDirectory, a.name, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func (a account) mayEnter(info os.FileInfo) bool {
	mode := info.Mode().Perm()
	switch {
	case ownerOf(info) == a.uid:
		return mode&0o100 != 0
	case !a.switched: // the caller's own rights, groups included
		return true
	default:
		return mode&0o001 != 0
	}
}

func ownerOf(info os.FileInfo) int {
	return int(info.Sys().(*syscall.Stat_t).Uid)
}
