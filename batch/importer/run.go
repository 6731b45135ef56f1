package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

const (
	batchRows  = 50_000
	batchBytes = 16 << 20
)

// run is one import.
type run struct {
	o      Options
	pool   *pgxpool.Pool
	loader *loader
	inputs []*fileRun
	all    *rejectFile // of all files, if it was named
	read   int64       // bytes of the files that are done
	total  int64
	report Report
}

// fileRun is one file of an import.
type fileRun struct {
	FileReport
	source  *source
	rejects *rejectFile
}

// parcel is what goes from the reader of a file to the loader at once.
type parcel struct {
	file    *fileRun
	rows    []row
	rejects []Reject
	bytes   int
}

func newRun(pool *pgxpool.Pool, o Options) *run {
	r := &run{o: o, pool: pool, loader: &loader{begin: pool}}
	r.report = Report{DryRun: o.DryRun, Rejected: map[string]int64{}, Types: map[string]int64{}}
	if o.Rejects != "" {
		r.all = &rejectFile{path: o.Rejects}
	}
	return r
}

func (r *run) files(ctx context.Context) error {
	r.total = totalSize(r.o.Files)
	for _, name := range r.o.Files {
		if err := r.file(ctx, name); err != nil {
			return err
		}
	}
	if err := account(ctx, r.loader.begin, &r.report); err != nil {
		return err
	}
	if r.o.DryRun {
		return nil
	}
	return analyze(ctx, r.pool, r.report.Imported)
}

// file imports one file: one goroutine reads and decodes, this one loads.
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
	d, err := r.decoder(s)
	if err != nil {
		return err
	}
	f.Format = d.format.name

	g, working := errgroup.WithContext(ctx)
	parcels := make(chan parcel, 1)
	g.Go(func() error {
		defer close(parcels)
		return read(f, d, func(p parcel) error {
			select {
			case parcels <- p:
				return nil
			case <-working.Done():
				return context.Cause(working)
			}
		})
	})
	g.Go(func() error {
		for p := range parcels {
			if err := r.load(working, p); err != nil {
				return fmt.Errorf("import %s: %w", name, err)
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if f.SHA256, err = s.sum(); err != nil {
		return err
	}
	r.read += s.stored.n.Load()
	if r.o.DryRun {
		return nil
	}
	return record(ctx, r.pool, f.FileReport, r.o.Operator)
}

// decoder finds the format of a file.
func (r *run) decoder(s *source) (d *decoder, err error) {
	d = &decoder{zone: r.o.Zone, types: r.o.Types, ignoreExtras: r.o.IgnoreExtras}
	if r.o.Format == "" || r.o.Format == formatAuto {
		d.format, err = recognize(s)
	} else {
		d.format, err = formatNamed(r.o.Format)
	}
	if err == nil && d.format.zone != nil {
		d.zone = d.format.zone
	}
	return d, err
}

// read decodes a file and gives it to send in parcels.
func read(f *fileRun, d *decoder, send func(parcel) error) error {
	next, err := d.events(f.source)
	if err != nil {
		return err
	}
	p := parcel{file: f}
	for {
		err := next(func(r row, f *fault) { p.add(r, f) })
		if errors.Is(err, io.EOF) {
			return send(p)
		}
		if err != nil {
			return err
		}
		if len(p.rows) >= batchRows || p.bytes >= batchBytes {
			if err := send(p); err != nil {
				return err
			}
			p = parcel{file: f, rows: make([]row, 0, len(p.rows))}
		}
	}
}

func (p *parcel) add(r row, f *fault) {
	p.bytes += r.size()
	if f == nil {
		p.rows = append(p.rows, r)
		return
	}
	p.rejects = append(p.rejects, rejectOf(p.file, r.line, f.column, f.code, f.reason))
}

func rejectOf(f *fileRun, l line, column int, code, reason string) Reject {
	reject := Reject{File: f.Name, Line: l.number, Offset: l.offset, Column: column, Code: code, Reason: reason}
	reject.setRaw(l.text)
	return reject
}

// load puts a parcel into the archive and keeps the accounts.
func (r *run) load(ctx context.Context, p parcel) error {
	imported, conflicts, err := r.loader.load(ctx, p.rows)
	p.file.Imported += imported
	r.report.Imported += imported
	if err != nil {
		return err
	}
	repeated := int64(len(p.rows)) - imported - int64(len(conflicts))
	p.file.Repeated += repeated
	r.report.Repeated += repeated
	read := int64(len(p.rows) + len(p.rejects))
	p.file.Read += read
	r.report.Read += read

	rejects := p.rejects
	at := 0
	for i := range p.rows {
		row := &p.rows[i]
		if at == len(conflicts) || conflicts[at].index != i {
			r.report.accept(row)
			continue
		}
		c := conflicts[at]
		at++
		rejects = append(rejects, rejectOf(p.file, row.line, 0, c.code, c.reason))
		if c.sameVersion != "" && len(r.report.SameVersions) < maxSameVersions {
			r.report.SameVersions = append(r.report.SameVersions,
				SameVersion{OrderID: string(row.order), Version: row.version, Archived: c.sameVersion, Refused: string(row.id)})
		}
	}
	slices.SortStableFunc(rejects, func(a, b Reject) int { return int(a.Line - b.Line) })
	for _, reject := range rejects {
		if err := r.reject(p.file, reject); err != nil {
			return err
		}
	}
	r.progress(p.file)
	return nil
}

func (r *run) reject(f *fileRun, reject Reject) error {
	f.Rejected++
	r.report.Rejected[reject.Code]++
	if len(r.report.Rejects) < maxRejects {
		r.report.Rejects = append(r.report.Rejects, reject)
	}
	if r.o.DryRun {
		return nil
	}
	f.FileReport.Rejects = f.rejects.path
	return f.rejects.write(reject)
}

// rejectsOf is the file for the rejects of a file.
func (r *run) rejectsOf(name string) *rejectFile {
	switch {
	case r.all != nil:
		return r.all
	case name == "-":
		name = "stdin"
	}
	return &rejectFile{path: name + ".rejects.ndjson"}
}

// closeRejects makes the files of rejects appear, and completes the report.
func (r *run) closeRejects() error {
	var errs []error
	for _, f := range r.inputs {
		r.report.Files = append(r.report.Files, f.FileReport)
		errs = append(errs, f.rejects.close())
	}
	return errors.Join(errs...)
}

// totalSize is 0 if one of the sizes is not known.
func totalSize(names []string) (total int64) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		total += info.Size()
	}
	return total
}

func (r *run) progress(f *fileRun) {
	if r.o.Progress == nil {
		return
	}
	r.o.Progress(Progress{
		File: f.Name, BytesRead: r.read + f.source.stored.n.Load(), BytesTotal: r.total,
		Rows: r.report.Read, Rejected: r.report.RejectedTotal(),
	})
}
