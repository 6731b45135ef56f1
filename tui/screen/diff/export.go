package diff

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/tui/component/form"
	"reprise.dev/reprise/tui/component/toast"
	"reprise.dev/reprise/tui/layout"
	"reprise.dev/reprise/tui/screen"
	"reprise.dev/reprise/tui/text"
)

// export asks for a format and a file.
func (m *Model) export() tea.Cmd {
	e := m.env
	return e.Form(form.Spec{
		Title: e.S(text.ExportTitle, text.Clean(m.id)),
		Body:  func(_ form.Values, w int) layout.Block { return e.Paragraph(e.S(text.ExportWhat), e.Theme.Muted, w) },
		Fields: []form.Field{
			{Name: "format", Label: e.S(text.ExportFormat), Value: "csv", Options: []form.Option{{Value: "csv", Label: "CSV"}, {Value: "json", Label: "JSON"}}},
			{Name: "file", Label: e.S(text.ExportFile), Hint: m.fileName("csv")},
		},
		Submit: e.S(text.ExportButton),
		Do: func(v form.Values) (func() (tea.Msg, error), string) {
			file := v["file"]
			if file == "" {
				file = m.fileName(v["format"])
			}
			return func() (tea.Msg, error) { return m.writeFile(v["format"], file) }, ""
		},
	})
}

func (m *Model) fileName(format string) string { return "diff-" + m.id + "." + format }

func (m *Model) write(format, file string) tea.Cmd {
	if format != "csv" && format != "json" {
		return m.env.Tell(toast.Warn, text.ExportBadFormat)
	}
	return m.env.Call(screen.Long, func(context.Context) (tea.Msg, error) { return m.writeFile(format, file) })
}

// writeFile writes to a new file that only its owner can read, and leaves nothing half written behind.
func (m *Model) writeFile(format, file string) (tea.Msg, error) {
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			file = filepath.Join(home, rest)
		}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, errors.New(m.env.S(text.ExportExists, text.Clean(file)))
	}
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	ctx, cancel := context.WithTimeout(m.env.Ctx, 10*screen.Long) // millions of rows take their time
	defer cancel()
	buffered := bufio.NewWriterSize(f, 1<<18)
	err = m.source.ExportDiff(ctx, m.id, format, buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(file)
		return nil, fmt.Errorf("export: %w", err)
	}
	size := 0
	if info, err := os.Stat(file); err == nil {
		size = int(info.Size())
	}
	return screen.Toast{Kind: toast.Good, Text: m.env.S(text.ExportDone, text.Clean(file), m.env.Bytes(size))}, nil
}
