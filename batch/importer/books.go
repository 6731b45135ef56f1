package importer

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
)

// load puts a parcel into the archive and keeps the books.
func (r *run) load(ctx context.Context, p parcel) error {
	imported, conflicts, err := r.loader.load(ctx, p.rows)
	if err != nil {
		r.count(p.file, imported, imported, 0) // of the part that was loaded
		return err
	}
	return r.settle(p, conflicts, imported)
}

// settle enters a parcel of which so many events were new, and some in conflict.
func (r *run) settle(p parcel, conflicts []conflict, imported int64) error {
	r.count(p.file, int64(len(p.rows)+len(p.rejects)), imported, int64(len(p.rows)-len(conflicts))-imported)
	for what, n := range p.ignored {
		r.count(p.file, n, 0, 0)
		r.report.Ignored[what] += n
	}
	rejects := p.rejects
	for i := range p.rows {
		row := &p.rows[i]
		if len(conflicts) == 0 || conflicts[0].index != i {
			r.report.accept(row)
			continue
		}
		c := conflicts[0]
		conflicts = conflicts[1:]
		rejects = append(rejects, rejectOf(p.file, row.line, 0, c.code, c.reason))
		if c.sameVersion != "" && len(r.report.SameVersions) < maxSameVersions {
			r.report.SameVersions = append(r.report.SameVersions,
				SameVersion{OrderID: string(row.order), Version: row.version, Archived: c.sameVersion, Refused: string(row.id)})
		}
	}
	slices.SortStableFunc(rejects, func(a, b Reject) int { return cmp.Compare(a.Line, b.Line) })
	for _, reject := range rejects {
		if err := r.reject(p.file, reject); err != nil {
			return err
		}
	}
	r.progress(p.file)
	return nil
}

func (r *run) count(f *fileRun, read, imported, repeated int64) {
	f.Read, f.Imported, f.Repeated = f.Read+read, f.Imported+imported, f.Repeated+repeated
	r.report.Read, r.report.Imported, r.report.Repeated = r.report.Read+read, r.report.Imported+imported, r.report.Repeated+repeated
}

func rejectOf(f *fileRun, l line, column int, code, reason string) Reject {
	reject := Reject{File: f.Name, Line: l.number, Offset: l.offset, Column: column, Code: code, Reason: reason}
	reject.setRaw(l.text)
	return reject
}

// reject enters one reject; it was counted as read before.
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

func (r *run) progress(f *fileRun) {
	if r.o.Progress == nil {
		return
	}
	read := r.read
	if f == r.inputs[len(r.inputs)-1] && f.SHA256 == "" { // it is being read
		read += f.source.stored.n.Load()
	}
	r.o.Progress(Progress{File: f.Name, BytesRead: read, BytesTotal: r.total, Rows: r.report.Read, Rejected: r.report.RejectedTotal()})
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
