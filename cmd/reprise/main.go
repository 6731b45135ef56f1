// Command reprise replays archived events without repeating what they already did to the outside world.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// The second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	err := newRoot().ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	code := exitCode(err)
	var quiet silent
	if !errors.As(err, &quiet) {
		fmt.Fprintln(os.Stderr, "reprise: "+printable(err.Error()))
	}
	return code
}
