// Command reprise replays archived events without repeating what they already did to the outside world.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"reprise.dev/reprise/schema"
)

func main() {
	tuneMemory()
	os.Exit(run())
}

// tuneMemory lets the heap grow to some times what is alive before it is collected, as long as all of it stays small:
// collecting a heap of a few megabytes took a sixth of the time of an effect. GOGC and GOMEMLIMIT prevail.
func tuneMemory() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(128 << 20)
	}
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
		fmt.Fprintln(os.Stderr, "reprise: "+printable(schema.Explain(err).Error()))
	}
	return code
}
