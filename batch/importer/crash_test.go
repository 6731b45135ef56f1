package importer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"reprise.dev/reprise/batch/importer"
	"reprise.dev/reprise/batch/sample"
	"reprise.dev/reprise/schema"
	"reprise.dev/reprise/schema/pgtest"
)

func sha256Of(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func sampleFile(t testing.TB, name string, o sample.Options) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var w io.WriteCloser = file
	switch filepath.Ext(name) {
	case ".gz":
		w = gzip.NewWriter(file)
	case ".zst":
		if w, err = zstd.NewWriter(file); err != nil {
			t.Fatal(err)
		}
	}
	_, err = sample.Write(w, o)
	if closing := w.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
	_ = file.Close()
	return path
}

// TestImportingAgainAfterACrashCompletes: a file whose import ended in the middle is imported again, and the archive
// is what one whole import makes it.
func TestImportingAgainAfterACrashCompletes(t *testing.T) {
	path := sampleFile(t, "day.ndjson", sample.Options{Events: 70_000, GapShare: 0.001, PoisonShare: 0.01})
	whole, broken := pgtest.New(t), pgtest.New(t)
	do(t, whole, importer.Options{Files: []string{path}})

	ctx, cancel := context.WithCancel(t.Context())
	o := importer.Options{Files: []string{path}, Progress: func(importer.Progress) { cancel() }}
	r, err := importer.Import(ctx, broken, o)
	if !errors.Is(err, context.Canceled) || r.Imported < 50_000 || r.Imported >= 70_000 {
		t.Fatalf("%d imported, %v", r.Imported, err)
	}
	again := do(t, broken, importer.Options{Files: []string{path}})
	if again.Repeated != r.Imported || again.Imported != 70_000-r.Imported || again.Partial() || again.Gaps != 70 {
		t.Errorf("%d before, then %+v", r.Imported, again)
	}
	if a, b := digest(t, whole), digest(t, broken); a != b {
		t.Error("the archives differ")
	}
}

// TestOnePoisonLineAmongMany: the server alone refuses one line; the others are imported, and the file of rejects
// names it.
func TestOnePoisonLineAmongMany(t *testing.T) {
	pool := pgtest.New(t)
	var text bytes.Buffer
	if _, err := sample.Write(&text, sample.Options{Events: 100_000}); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(text.String(), "\n")
	lines[61_234] = strings.Replace(lines[61_234], `"id":"`, `"id":"`+incompressible(8000), 1)
	path := write(t, "day.ndjson", strings.TrimSuffix(strings.Join(lines, ""), "\n"))
	r := do(t, pool, importer.Options{Files: []string{path}})
	if r.Imported != 99_999 || r.Rejected[importer.CodeRefused] != 1 || r.Rejects[0].Line != 61_235 || r.Gaps != 1 {
		t.Errorf("%+v", r)
	}
	r = do(t, pool, importer.Options{Files: []string{path}})
	if r.Imported != 0 || r.Repeated != 99_999 || r.Rejected[importer.CodeRefused] != 1 {
		t.Errorf("%+v", r)
	}
}

func TestLongLines(t *testing.T) {
	pool := pgtest.New(t)
	long := func(position, size int) string { return event(position, `{"a":"`+strings.Repeat("x", size)+`"}`) }
	path := write(t, "day.ndjson", event(1, paid), long(2, 20<<20), event(3, paid), long(4, 33<<20), event(5, paid))
	r := do(t, pool, importer.Options{Files: []string{path}})
	if r.Imported != 4 || r.Rejected[importer.CodeTooLong] != 1 || r.Rejects[0].Line != 4 || !r.Rejects[0].Cut {
		t.Errorf("%+v", r.Rejected)
	}
	var size int
	if err := pool.QueryRow(t.Context(), "select length(payload->>'a') from evento_arquivado where posicao = 2").Scan(&size); err != nil || size != 20<<20 {
		t.Errorf("%d bytes are stored, %v", size, err)
	}
}

func TestCompressedFiles(t *testing.T) {
	o := sample.Options{Events: 2000}
	for _, name := range []string{"day.gz", "day.zst", "day"} {
		pool := pgtest.New(t)
		path := sampleFile(t, name, o)
		var last importer.Progress
		r := do(t, pool, importer.Options{Files: []string{path}, Progress: func(p importer.Progress) { last = p }})
		info, err := os.Stat(path)
		if err != nil || r.Imported != 2000 || last.BytesRead != info.Size() || last.BytesTotal != info.Size() || r.Files[0].SHA256 != sha256Of(t, path) {
			t.Errorf("%s: %+v %+v %v", name, r, last, err)
		}
	}
}

func TestACompressedFileThatEndsInTheMiddle(t *testing.T) {
	pool := pgtest.New(t)
	path := sampleFile(t, "day.gz", sample.Options{Events: 2000})
	if err := os.Truncate(path, 10_000); err != nil {
		t.Fatal(err)
	}
	if _, err := importer.Import(t.Context(), pool, importer.Options{Files: []string{path}}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}

func TestExpansionIsBounded(t *testing.T) {
	pool := pgtest.New(t)
	path := filepath.Join(t.TempDir(), "bomb.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := gzip.NewWriter(file)
	zeros := make([]byte, 1<<20)
	for range 512 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = importer.Import(t.Context(), pool, importer.Options{Files: []string{path}, Format: "ndjson"})
	if !errors.Is(err, importer.ErrExpansion) {
		t.Errorf("%v", err)
	}
}

func TestStandardInputCanBeInterrupted(t *testing.T) {
	pool := pgtest.New(t)
	stdin, feed := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = io.WriteString(feed, v1+"\n")
		cancel()
	}()
	ended := make(chan error)
	go func() {
		_, err := importer.Import(ctx, pool, importer.Options{Files: []string{"-"}, Stdin: stdin})
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for input that does not come")
	}
	_ = feed.Close()

	t.Chdir(t.TempDir())
	r := do(t, pool, importer.Options{Files: []string{"-"}, Stdin: strings.NewReader(v1 + "\n" + same + "\n")})
	if r.Imported != 1 || len(rejectsIn(t, "stdin.rejects.ndjson")) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestTwoImportsAtOnce of one file import it once.
func TestTwoImportsAtOnce(t *testing.T) {
	pool := pgtest.New(t)
	path := sampleFile(t, "day.ndjson", sample.Options{Events: 20_000})
	var reports [2]importer.Report
	var g errgroup.Group
	for i := range reports {
		g.Go(func() (err error) {
			reports[i], err = importer.Import(t.Context(), pool, importer.Options{Files: []string{path}})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	a, b := reports[0], reports[1]
	if a.Imported+b.Imported != 20_000 || a.Repeated+b.Repeated != 20_000 || a.Partial() || b.Partial() {
		t.Errorf("%d and %d imported, %d and %d repeated, rejected %v and %v", a.Imported, b.Imported, a.Repeated, b.Repeated, a.Rejected, b.Rejected)
	}
}

// TestBehindAPooler no statement is prepared.
func TestBehindAPooler(t *testing.T) {
	for _, mode := range []string{"simple_protocol", "exec"} {
		url := pgtest.NewURL(t)
		pool, err := schema.Open(t.Context(), url+separator(url)+"default_query_exec_mode="+mode, schema.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		native := write(t, "day.ndjson", v1, v1again, v1other, v2)
		if r := do(t, pool, importer.Options{Files: []string{native}, DryRun: true}); r.Imported != 2 || r.Repeated != 1 || r.Rejected[importer.CodeOtherContent] != 1 {
			t.Errorf("%s: %+v", mode, r)
		}
		if r := do(t, pool, importer.Options{Files: []string{native}}); r.Imported != 2 || r.Repeated != 1 || r.Rejected[importer.CodeOtherContent] != 1 {
			t.Errorf("%s: %+v", mode, r)
		}
		derived := write(t, "day", stripe("s1", "S", second), stripe("s2", "S", second))
		for range 2 {
			if r := do(t, pool, importer.Options{Files: []string{derived}}); r.Imported+r.Repeated != 2 || r.Derived.Versions != 2 {
				t.Errorf("%s: %+v", mode, r)
			}
		}
	}
}

func separator(url string) string {
	if strings.Contains(url, "?") {
		return "&"
	}
	return "?"
}
