package importer

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"reprise.dev/reprise/batch"
)

// Options say what to import. Only Files is needed.
type Options struct {
	Files  []string // "-" is standard input; .gz and .zst are recognized by their content
	Format string   // one of [Formats]; "" is auto
	DryRun bool     // writes nothing, neither to the database nor to a file
	// Rejects is the file for what is rejected. "" means FILE.rejects.ndjson for each file, stdin.rejects.ndjson
	// for standard input. It is made, readable by its owner only, when there are rejects.
	Rejects string
	// IgnoreExtras passes over keys and columns that the native formats do not know.
	IgnoreExtras bool
	Types        map[string]string // translates types of event; others are kept
	Mapping      string            // TOML file that says where each column is, instead of a format; see [Mapping]
	// Zone is where times without a zone were written. Nil rejects them, except in formats that define it.
	Zone *time.Location
	// Tenant chooses among several in one Marten table.
	Tenant   string
	Progress func(Progress) // called from time to time, never concurrently
	Operator string         // who imports, for the record. "" is the database role
	Stdin    io.Reader      // what "-" reads. Nil is os.Stdin
}

// check fills in defaults and refuses what makes no sense.
func (o *Options) check() error {
	if len(o.Files) == 0 {
		return fmt.Errorf("%w: no file to import", batch.ErrUsage)
	}
	for i, name := range o.Files {
		if slices.Contains(o.Files[:i], name) {
			return fmt.Errorf("%w: %s is named twice", batch.ErrUsage, name)
		}
	}
	if o.Rejects != "" && slices.Contains(o.Files, o.Rejects) {
		return fmt.Errorf("%w: %s is a file to import; rejects need another", batch.ErrUsage, o.Rejects)
	}
	if o.Format != "" && o.Format != formatAuto {
		if o.Mapping != "" {
			return fmt.Errorf("%w: a format and a mapping exclude each other", batch.ErrUsage)
		}
		if _, err := formatNamed(o.Format); err != nil {
			return err
		}
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	return nil
}

// Import imports the files one after the other. With an error, the report tells what was done before it: whole
// batches are in the archive, and importing the same files again completes them.
func Import(ctx context.Context, pool *pgxpool.Pool, o Options) (Report, error) {
	if err := o.check(); err != nil {
		return Report{}, err
	}
	r := newRun(pool, o)
	if o.Mapping != "" {
		var err error
		if r.mapped, err = readMapping(o.Mapping); err != nil {
			return r.report, err
		}
	}
	if o.DryRun {
		rehearsal, end, err := rehearse(ctx, pool)
		if err != nil {
			return r.report, err
		}
		defer end()
		r.loader = rehearsal
	}
	err := r.files(ctx)
	if closing := r.closeRejects(); err == nil {
		err = closing
	}
	return r.report, err
}
