package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"reprise.dev/reprise/batch"
)

const (
	batchRows  = 50_000
	batchBytes = 16 << 20
)

// run is one import.
type run struct {
	o       Options
	pool    *pgxpool.Pool
	loader  *loader
	mapped  *format // what Options.Mapping describes
	shared  *shared
	inputs  []*fileRun
	pending []collected // events whose numbers are derived when all files are read
	all     *rejectFile // of all files, if it was named
	read    int64       // bytes of the files that are done
	total   int64       // bytes of all files; 0 is unknown
	report  Report
}

// fileRun is one file of an import.
type fileRun struct {
	FileReport
	format  *format
	source  *source
	rejects *rejectFile
}

// parcel is what goes from the reader of a file to the loader at once.
type parcel struct {
	file    *fileRun
	rows    []row
	rejects []Reject
	ignored map[string]int64
	bytes   int
}

func newRun(pool *pgxpool.Pool, o Options) *run {
	r := &run{o: o, pool: pool, loader: &loader{begin: pool}, total: totalSize(o.Files)}
	r.shared = &shared{memory: map[string]string{}, notes: map[string]int64{}}
	r.report = Report{
		DryRun: o.DryRun, Rejected: map[string]int64{}, Ignored: map[string]int64{}, Types: map[string]int64{}, Notes: r.shared.notes,
	}
	if o.Rejects != "" {
		r.all = &rejectFile{path: o.Rejects}
	}
	return r
}

func (r *run) files(ctx context.Context) error {
	for _, name := range r.o.Files {
		if err := r.file(ctx, name); err != nil {
			return err
		}
	}
	if err := r.loadPending(ctx); err != nil {
		return err
	}
	if err := account(ctx, r.loader.begin, &r.report); err != nil {
		return err
	}
	if r.o.DryRun {
		return nil
	}
	return analyze(ctx, r.pool, r.report.Imported)
}

// file reads one file and, unless its numbers have to be derived, imports it.
func (r *run) file(ctx context.Context, name string) (err error) {
	s, err := open(ctx, name, r.o.Stdin)
	if err != nil {
		return err
	}
	defer func() {
		if closing := s.close(); err == nil {
			err = closing
		}
	}()
	f := &fileRun{FileReport: FileReport{Name: name}, source: s, rejects: r.rejectsOf(name)}
	r.inputs = append(r.inputs, f)
	d, err := r.decoder(f)
	if err != nil {
		return err
	}
	if f.format.rule != "" {
		err = r.collect(f, d)
	} else {
		err = r.stream(ctx, f, d)
	}
	if err != nil {
		return err
	}
	if f.SHA256, err = s.sum(); err != nil {
		return err
	}
	r.read += s.stored.n.Load()
	if f.format.rule != "" {
		return nil
	}
	return r.record(ctx, f)
}

// decoder finds the format of a file.
func (r *run) decoder(f *fileRun) (d *decoder, err error) {
	switch {
	case r.mapped != nil:
		f.format = r.mapped
	case r.o.Format == "" || r.o.Format == formatAuto:
		f.format, err = recognize(f.source)
	default:
		f.format, err = formatNamed(r.o.Format)
	}
	if err != nil {
		return nil, err
	}
	f.Format = f.format.name
	d = &decoder{format: f.format, zone: r.o.Zone, types: r.o.Types, ignoreExtras: r.o.IgnoreExtras, tenant: r.o.Tenant, shared: r.shared}
	if f.format.zone != nil {
		d.zone = f.format.zone
	}
	return d, nil
}

// stream imports a file as it is read: one goroutine reads and decodes, one loads.
func (r *run) stream(ctx context.Context, f *fileRun, d *decoder) error {
	g, ctx := errgroup.WithContext(ctx)
	parcels := make(chan parcel, 1)
	g.Go(func() error {
		defer close(parcels)
		return read(f, d, func(p parcel) error {
			select {
			case parcels <- p:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	})
	g.Go(func() error {
		for p := range parcels {
			if err := r.load(ctx, p); err != nil {
				return fmt.Errorf("import %s: %w", f.Name, err)
			}
		}
		return nil
	})
	return g.Wait()
}

// read decodes a file and gives it to send in parcels.
func read(f *fileRun, d *decoder, send func(parcel) error) error {
	next, err := d.events(f.source)
	if err != nil {
		return err
	}
	p := parcel{file: f}
	var fatal error
	add := func(r row, f *fault) { fatal = errors.Join(fatal, p.add(r, f)) }
	for {
		err := next(add)
		switch {
		case errors.Is(err, io.EOF):
			return send(p)
		case err != nil:
			return err
		case fatal != nil:
			return fatal
		}
		if len(p.rows) >= batchRows || p.bytes >= batchBytes {
			if err := send(p); err != nil {
				return err
			}
			p = parcel{file: f, rows: make([]row, 0, len(p.rows))}
		}
	}
}

// add puts in one event, or what is wrong with it.
func (p *parcel) add(r row, f *fault) error {
	p.bytes += r.size()
	switch {
	case f == nil:
		p.rows = append(p.rows, r)
	case f.code == codeFatal:
		return fmt.Errorf("%w of %s, line %d: %s", ErrFormat, p.file.Name, r.line.number, f.reason)
	case f.code == codeIgnored:
		if p.ignored == nil {
			p.ignored = map[string]int64{}
		}
		p.ignored[f.reason]++
	default:
		p.rejects = append(p.rejects, rejectOf(p.file, r.line, f.column, f.code, f.reason))
	}
	return nil
}

// collect keeps the events of a file until all files are read.
func (r *run) collect(f *fileRun, d *decoder) error {
	return read(f, d, func(p parcel) error {
		if len(r.pending) > 0 && r.pending[0].file.format != f.format {
			return fmt.Errorf("%w: positions cannot be derived for %s and %s together; import them one after the other", batch.ErrUsage, r.pending[0].file.format.name, f.format.name)
		}
		if len(r.pending)+len(p.rows) > maxCollected {
			return fmt.Errorf("%w: positions are derived in memory, for %d events at most; import fewer files at once", batch.ErrUsage, maxCollected)
		}
		for _, row := range p.rows {
			r.pending = append(r.pending, collected{row, f})
		}
		p.rows = nil
		return r.settle(p, nil, 0)
	})
}

// loadPending derives the numbers of the events that were collected, and imports them.
func (r *run) loadPending(ctx context.Context) error {
	if err := r.derive(ctx); err != nil {
		return err
	}
	for _, f := range r.inputs {
		if f.format.rule == "" {
			continue
		}
		p := parcel{file: f}
		for _, e := range r.pending {
			if e.file == f {
				p.rows = append(p.rows, e.row)
			}
		}
		for rows := range slices.Chunk(p.rows, batchRows) {
			if err := r.load(ctx, parcel{file: f, rows: rows}); err != nil {
				return fmt.Errorf("import %s: %w", f.Name, err)
			}
		}
		if err := r.record(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// record notes that a file is done.
func (r *run) record(ctx context.Context, f *fileRun) error {
	if r.o.DryRun {
		return nil
	}
	return record(ctx, r.pool, f.FileReport, f.format.rule, r.o.Operator)
}
