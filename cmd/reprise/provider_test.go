package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// local runs a command in this process: those of the provider need no database.
func local(ctx context.Context, args ...string) (string, int) {
	root, out := newRoot(), new(bytes.Buffer)
	root.SetOut(out)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return out.String() + err.Error(), exitCode(err)
	}
	return out.String(), exitDone
}

func TestProviderCommand(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	port := filepath.Join(t.TempDir(), "url")
	type end struct {
		out  string
		code int
	}
	ended := make(chan end, 1)
	go func() {
		out, code := local(ctx, "provider", "--port-file", port, "--dedup", "--window", "1h", "--fault", "refuse:1:ev-1")
		ended <- end{out, code}
	}()
	var address string
	for deadline := time.Now().Add(20 * time.Second); address == ""; time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(port)
		if address = strings.TrimSpace(string(text)); err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	send := func(key string, want int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/notify", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Idempotency-Key", key)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", key, answer.StatusCode, want)
		}
	}
	expect := func(code int, text string, args ...string) {
		t.Helper()
		if out, got := local(t.Context(), args...); got != code || !strings.Contains(out, text) {
			t.Errorf("%v: exit %d, want %d\n%s\nwant %s", args, got, code, out, text)
		}
	}
	send("ev-1", 422)
	send("ev-2", 200)
	send("ev-2", 200)
	expect(exitPartial, "ev-1: 1 requests, 0 deliveries", "provider", "delivered", address, "ev-1")
	expect(exitDone, "ev-2: 2 requests, 1 deliveries", "provider", "delivered", address+"/", "ev-2")
	expect(exitPartial, `"delivered": 0`, "provider", "delivered", address, "never", "--json")
	expect(exitDone, "requests 3, keys 2, deliveries 1, keys delivered more than once 0\n  refuse         1\n", "provider", "counts", address)
	expect(exitDone, `"deliveries": 1`, "provider", "counts", address, "--json")
	expect(exitUsage, `fault "nonsense"`, "provider", "faults", address, "nonsense")
	expect(exitDone, "1 faults in force", "provider", "faults", address, "unavailable")
	send("ev-3", 503)
	expect(exitDone, "0 faults in force", "provider", "faults", address)
	send("ev-3", 200)

	stop()
	e := <-ended
	if e.code != exitDone || !strings.HasPrefix(e.out, "provider listening on "+address+"\nrequests 5, keys 3, deliveries 2,") {
		t.Errorf("exit %d\n%s", e.code, e.out)
	}
	expect(exitError, "refused", "provider", "counts", address)
}

func TestProviderUsage(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end() // what is accepted by mistake ends at once
	for _, args := range []string{
		"--listen 0.0.0.0:0", "--listen nowhere", "--fault refuse:0", "--window 1h", "--window -1s --dedup", "--delay -1s", "surplus",
		"counts", "counts 127.0.0.1:80", "counts ftp://127.0.0.1/", "delivered http://127.0.0.1:1", "faults",
	} {
		if out, code := local(ended, append([]string{"provider"}, strings.Fields(args)...)...); code != exitUsage {
			t.Errorf("%s: exit %d\n%s", args, code, out)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing", "url")
	if out, code := local(ended, "provider", "--port-file", missing); code != exitError || !strings.Contains(out, "write the URL") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
