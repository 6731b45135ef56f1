package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/tui/text"
)

// printable makes text from data safe to print: no byte of an event drives the terminal, and a line stays one line.
func printable(s string) string { return text.CleanLine(s) }

// onTerminal reports whether a file is a terminal that understands cursor movement.
func onTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb" && os.Getenv("TERM") != ""
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printMore says how many rows a list has of which as many were printed as asked for.
func printMore(cmd *cobra.Command, printed, limit int, count func(ctxType) (batch.Count, error)) error {
	if printed < limit {
		return nil
	}
	all, err := count(cmd.Context())
	if err != nil || all.Rows <= int64(printed) {
		return err
	}
	more := ""
	if all.More {
		more = " or more"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s of %s%s\n", humanize.Comma(int64(printed)), humanize.Comma(all.Rows), more)
	return nil
}

// printTable aligns columns; cells are made printable.
func printTable(w io.Writer, header []string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(header, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, c := range row {
			cells[i] = printable(c)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// instant prints a time with its zone.
func instant(t *time.Time, zone *time.Location) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return t.In(zone).Format("2006-01-02 15:04:05 MST")
}

// statusLine rewrites one line on a terminal and prints a plain line now and then elsewhere.
type statusLine struct {
	f        *os.File
	terminal bool
	last     time.Time
	text     string
	shown    bool
}

func newStatusLine() *statusLine { return &statusLine{f: os.Stderr, terminal: onTerminal(os.Stderr)} }

func (s *statusLine) show(line string) {
	switch {
	case s.terminal && time.Since(s.last) > 100*time.Millisecond:
		fmt.Fprintf(s.f, "\r\x1b[2K%s", printable(line))
		s.shown = true
	case !s.terminal && line != s.text && time.Since(s.last) > 10*time.Second:
		fmt.Fprintln(s.f, printable(line))
	default:
		return
	}
	s.last, s.text = time.Now(), line
}

func (s *statusLine) done() {
	if s.shown {
		fmt.Fprint(s.f, "\r\x1b[2K")
	}
}
