package main

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is one that works all the time: whenever it ends it is started again.
type process struct {
	name    string
	command func() *exec.Cmd
	log     string // file
	tally   *tally

	mu  sync.Mutex
	cmd *exec.Cmd // nil: not running
}

// supervise keeps it running until ctx ends; then it is asked to end, and killed if it does not within limit.
func (p *process) supervise(ctx context.Context, limit time.Duration) (obeyed bool, err error) {
	first := true
	for ctx.Err() == nil {
		ended, err := p.start()
		if err != nil {
			return true, err
		}
		if !first {
			p.tally.add(restarted, 1)
		}
		first = false
		select {
		case <-ended:
			p.gone()
			wait(ctx, 300*time.Millisecond)
		case <-ctx.Done():
			p.signal(syscall.SIGCONT)
			p.signal(syscall.SIGTERM)
			select {
			case <-ended:
			case <-time.After(limit):
				p.signal(syscall.SIGKILL)
				<-ended
				p.gone()
				return false, nil
			}
			p.gone()
		}
	}
	return true, nil
}

func (p *process) start() (ended chan struct{}, err error) {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := p.command()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended = make(chan struct{})
	go func() {
		_ = cmd.Wait() // however it ended, it is started again
		close(ended)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = cmd
	return ended, nil
}

func (p *process) gone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd = nil
}

// signal reports whether there was a process to send it to.
func (p *process) signal(s syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd != nil && p.cmd.Process.Signal(s) == nil
}

// wait sleeps, unless ctx ends.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
