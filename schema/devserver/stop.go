package devserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// fastStop is how long a server may take to end its sessions and to write its checkpoint.
	fastStop = 20 * time.Second
	// immediateStop is how long it may then take to drop everything, to recover at its next start.
	immediateStop = 10 * time.Second
)

// Stop ends the server and keeps its data. It does nothing if it does not run. It never kills: a killed
// postmaster leaves processes behind.
func (s *Server) Stop(ctx context.Context) error {
	unlock, err := lockFile(ctx, filepath.Join(s.dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Lock()
	defer s.mu.Unlock()

	running, ok := s.running()
	if !ok {
		return nil
	}
	for _, step := range []struct {
		signal syscall.Signal
		limit  time.Duration
	}{{syscall.SIGINT, fastStop}, {syscall.SIGQUIT, immediateStop}} {
		if err := syscall.Kill(running.pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop the development server (process %d): %w", running.pid, err)
		}
		ended, err := s.awaitEnd(ctx, running.pid, step.limit)
		if err != nil {
			return err
		}
		if ended {
			return s.removeSocketDir(running)
		}
	}
	return fmt.Errorf("the development server (process %d) does not stop; see %s", running.pid, s.LogFile())
}

func (s *Server) awaitEnd(ctx context.Context, pid int, limit time.Duration) (ended bool, err error) {
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		if !serves(pid, s.data()) {
			return true, nil
		}
		if err := pause(ctx); err != nil {
			return false, fmt.Errorf("wait for the end of the development server (process %d): %w", pid, err)
		}
	}
	return false, nil
}

// removeSocketDir removes a socket directory that had to be outside of the state directory.
func (s *Server) removeSocketDir(p postmaster) error {
	if p.socket == "" || filepath.Dir(p.socket) == s.dir {
		return nil
	}
	if err := os.Remove(p.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove socket directory: %w", err)
	}
	return nil
}
