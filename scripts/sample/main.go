// Sample writes an archive of made-up order events, for demonstrations and benchmarks. The same flags give the
// same file.
//
//	go run ./scripts/sample --events 100000 --day 2026-10-14 --zone America/Sao_Paulo --out day.ndjson.gz
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"reprise.dev/reprise/batch/sample"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var o sample.Options
	var zone, out string
	flag.Uint64Var(&o.Seed, "seed", 14, "what the values depend on")
	flag.IntVar(&o.Events, "events", 1000, "number of events")
	flag.Int64Var(&o.StartPosition, "start-position", 1, "posicao of the first event")
	flag.StringVar(&o.Day, "day", sample.DefaultDay, "first day")
	flag.IntVar(&o.Days, "days", 1, "days that the events are spread over")
	flag.StringVar(&zone, "zone", "UTC", "time zone whose midnight begins the day")
	flag.IntVar(&o.Orders, "orders", 0, "number of orders (default: six for ten events)")
	flag.Float64Var(&o.PaidShare, "paid", sample.DefaultPaidShare, "share of pedido.pago, 0 to 1; negative: none")
	flag.Float64Var(&o.PoisonShare, "poison", 0, "share of the pedido.pago that no handler can use, 0 to 1")
	flag.Float64Var(&o.GapShare, "gaps", 0, "missing positions as a share of the events, 0 to 1")
	flag.StringVar(&out, "out", "-", "file to write; - is standard output; .gz and .zst are compressed")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: the file is named by --out", flag.Arg(0))
	}
	var err error
	if o.Location, err = time.LoadLocation(zone); err != nil {
		return err
	}
	if out == "-" {
		_, err := sample.Write(os.Stdout, o)
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer file.Close()
	w, err := compress(file, out)
	if err != nil {
		return err
	}
	s, err := sample.Write(w, o)
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d events (%d pedido.pago, %d of them poison) of %d orders, positions %d to %d with %d missing\n",
		out, s.Events, s.Paid, s.Poison, s.Orders, s.First, s.Last, s.Gaps)
	return file.Close()
}

func compress(w io.Writer, name string) (io.WriteCloser, error) {
	switch {
	case strings.HasSuffix(name, ".gz"):
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	case strings.HasSuffix(name, ".zst"):
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	default:
		return plain{w}, nil
	}
}

type plain struct{ io.Writer }

func (plain) Close() error { return nil }
