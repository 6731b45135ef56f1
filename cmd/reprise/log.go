package main

import (
	"context"
	"io"
	"log/slog"

	"reprise.dev/reprise/schema"
)

// newLogger writes one line per record, with every value made printable: text in it may come from events.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(printableHandler{slog.NewTextHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch v := a.Value.Any().(type) {
			case error:
				a.Value = slog.StringValue(printable(schema.Explain(v).Error()))
			case string:
				a.Value = slog.StringValue(printable(v))
			}
			return a
		},
	})})
}

type printableHandler struct{ slog.Handler }

func (h printableHandler) Handle(ctx context.Context, r slog.Record) error {
	r.Message = printable(r.Message)
	return h.Handler.Handle(ctx, r)
}

func (h printableHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return printableHandler{h.Handler.WithAttrs(attrs)}
}

func (h printableHandler) WithGroup(name string) slog.Handler {
	return printableHandler{h.Handler.WithGroup(name)}
}
