package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch/importer"
)

func newImport(a *app) *cobra.Command {
	var (
		o     importer.Options
		zone  string
		types []string
	)
	c := &cobra.Command{
		Use:   "import FILE…",
		Short: "Import events into the archive from files or standard input (-); idempotent",
		Long: "Imports archives: native NDJSON (an event a line) or one of the other formats, plain, .gz or .zst. Importing again changes nothing: what the archive holds already " +
			"is skipped, and nothing in it is overwritten. What cannot be imported goes to a file with line and reason, the rest is imported, and the exit code is 3.\n\nFormats: " +
			strings.Join(importer.Formats(), ", ") + ".",
		Example: "  reprise import day.ndjson.gz --dry-run\n  reprise import day.ndjson.gz\n  zcat *.gz | reprise import - --type-map OrderPaid=pedido.pago",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Files = args
			if zone != "" {
				loc, err := time.LoadLocation(zone)
				if err != nil {
					return usageError{fmt.Errorf("--zone %q is not a time zone of this system", zone)}
				}
				o.Zone = loc
			}
			o.Types = map[string]string{}
			for _, t := range types {
				from, to, ok := strings.Cut(t, "=")
				if !ok || from == "" || to == "" {
					return usageError{fmt.Errorf("--type-map %q: write FROM=TO", t)}
				}
				o.Types[from] = to
			}
			pool, err := a.migrated(cmd.Context())
			if err != nil {
				return err
			}
			line := newStatusLine()
			o.Progress = func(p importer.Progress) { line.show(importLine(p)) }
			began := time.Now()
			report, err := importer.Import(cmd.Context(), pool, o)
			line.done()
			if err != nil {
				if report.Read > 0 && !o.DryRun {
					fmt.Fprintf(cmd.ErrOrStderr(), "before the error %s events were imported; importing the same files again completes them\n", humanize.Comma(report.Imported))
				}
				return err
			}
			if a.json {
				err = printJSON(cmd.OutOrStdout(), report)
			} else {
				printImport(cmd.OutOrStdout(), report, a.zone(), time.Since(began))
			}
			if err == nil && report.Partial() {
				return silent(exitPartial)
			}
			return err
		},
	}
	f := c.Flags()
	f.BoolVar(&o.DryRun, "dry-run", false, "preview: counts, samples, what would be rejected; writes nothing")
	f.StringVar(&o.Format, "format", "", "format of the files (default: recognized)")
	f.StringVar(&o.Rejects, "rejects", "", "file for what is rejected (default: FILE.rejects.ndjson)")
	f.BoolVar(&o.IgnoreExtras, "ignore-extras", false, "pass over keys that the native formats do not know")
	f.StringVar(&o.Mapping, "mapping", "", "TOML file that says where each column is, for other JSON lines")
	f.StringVar(&o.Tenant, "tenant", "", "tenant to import, of a Marten archive with several")
	f.StringVar(&o.Operator, "operator", "", "who imports, for the record (default: the database role)")
	f.StringVar(&zone, "zone", "", "zone of times that name none (default: they are rejected)")
	f.StringSliceVar(&types, "type-map", nil, "translate a type of event: FROM=TO (may be repeated)")
	return c
}

func importLine(p importer.Progress) string {
	line := fmt.Sprintf("import %s: %s events", p.File, humanize.Comma(p.Rows))
	if p.BytesTotal > 0 {
		line += fmt.Sprintf(", %d%% of %s", min(100, 100*p.BytesRead/p.BytesTotal), humanize.Bytes(uint64(p.BytesTotal)))
	}
	if p.Rejected > 0 {
		line += fmt.Sprintf(", %s rejected", humanize.Comma(p.Rejected))
	}
	return line
}

func printImport(w io.Writer, r importer.Report, zone *time.Location, took time.Duration) {
	n := humanize.Comma
	verb := "imported"
	if r.DryRun {
		verb = "would be imported (dry run: nothing was written)"
	}
	fmt.Fprintf(w, "%s events read in %s: %s %s, %s known already, %s rejected\n", n(r.Read), took.Round(10*time.Millisecond), n(r.Imported), verb, n(r.Repeated), n(r.RejectedTotal()))
	if len(r.Types) > 0 {
		fmt.Fprintf(w, "  positions  %d to %d, %s of them missing%s\n", r.First, r.Last, n(r.Gaps), listedGaps(r))
		fmt.Fprintf(w, "  time       %s to %s\n", instant(&r.From, zone), instant(&r.To, zone))
		fmt.Fprintf(w, "  orders     %s, %s versions missing\n", n(r.Orders), n(r.VersionGaps))
		for _, t := range sortedKeys(r.Types) {
			fmt.Fprintf(w, "  type       %s: %s\n", printable(t), n(r.Types[t]))
		}
	}
	if r.Unexamined != "" {
		fmt.Fprintf(w, "  not looked at: %s\n", printable(r.Unexamined))
	}
	for _, what := range sortedKeys(r.Ignored) {
		fmt.Fprintf(w, "  ignored    %s: %s\n", n(r.Ignored[what]), printable(what))
	}
	for _, note := range sortedKeys(r.Notes) {
		fmt.Fprintf(w, "  note       %s: %s\n", n(r.Notes[note]), printable(note))
	}
	if r.CutTimes > 0 {
		fmt.Fprintf(w, "  times      %s had digits below the microsecond, which were cut\n", n(r.CutTimes))
	}
	if r.Derived.Rule != "" {
		fmt.Fprintf(w, "  derived    %s positions, %s versions: %s\n", n(r.Derived.Positions), n(r.Derived.Versions), printable(r.Derived.Rule))
	}
	if r.DryRun {
		for _, e := range r.Samples {
			fmt.Fprintf(w, "  sample     %d %s %s %s version %d %s %s\n", e.Position, printable(e.ID), printable(e.Type), printable(e.OrderID), e.Version, instant(&e.OccurredAt, zone), printable(string(e.Payload)))
		}
	}
	for _, code := range sortedKeys(r.Rejected) {
		fmt.Fprintf(w, "  rejected   %s: %s\n", n(r.Rejected[code]), code)
	}
	for _, j := range r.Rejects {
		fmt.Fprintf(w, "             %s line %d: %s\n", printable(j.File), j.Line, printable(j.Reason))
	}
	for _, v := range r.SameVersions {
		fmt.Fprintf(w, "  twice      order %s version %d: %s is in the archive, %s was refused\n", printable(v.OrderID), v.Version, printable(v.Archived), printable(v.Refused))
	}
	for _, f := range r.Files {
		if f.Rejects != "" {
			fmt.Fprintf(w, "  rejects are in %s\n", printable(f.Rejects))
		}
	}
}

func listedGaps(r importer.Report) string {
	if r.Gaps == 0 {
		return ""
	}
	return ": " + gapText(r.FirstGaps, r.Gaps)
}

func sortedKeys(m map[string]int64) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
