package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"reprise.dev/reprise/batch/faultprovider"
	"reprise.dev/reprise/ledger"
)

// TestEveryCommandBehindAPooler: a day from its import to its correction in the modes that a pooler needs, in which
// nothing is prepared.
func TestEveryCommandBehindAPooler(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, ledger.Keep, "[[schedule]]\nname = \"sweep\"\nspec = \"@hourly\"\ntask = \"sweep\"\n")
			s.url += "&default_query_exec_mode=" + mode
			const events = 30
			s.want(exitDone, "migrate")
			s.want(exitDone, "import", s.day(events))
			s.want(exitDone, "replay", "queue", "--id", "sim", "--from", "2026-10-14", "--to", "2026-10-15")
			s.want(exitDone, "replay", "run", "sim")
			s.want(exitDone, "replay", "diff", "sim", "--sort", "delta", "--desc", "--totals")
			s.want(exitDone, "replay", "approve", "sim", "--id", "a")
			s.want(exitDone, "replay", "queue", "--id", "other", "--positions", "28:30", "--apply", "--limit-effects", "1")
			s.want(exitDone, "replay", "pause", "other")
			s.want(exitDone, "replay", "resume", "other")
			s.want(exitPartial, "replay", "run", "other")
			s.want(exitDone, "replay", "resume", "other", "--limit-effects", "2")
			s.want(exitDone, "replay", "cancel", "other")
			s.provider.Script(effectKey(1), faultprovider.Hang)
			s.provider.Script(effectKey(2), faultprovider.ActThenHang)
			s.want(exitPartial, "replay", "run", "a")
			s.want(exitDone, "replay", "show", "a")
			if out := s.want(exitDone, "review", "list").out; strings.Count(out, notify) != 2 {
				t.Error(out)
			}
			s.want(exitDone, "review", "show", effectKey(1))
			s.want(exitDone, "review", "decide", effectKey(1), "resend", "--note", "never arrived", "--force")
			s.want(exitDone, "review", "decide", effectKey(2), "confirm", "--note", "arrived", "--force")
			s.want(exitDone, "run", "--once")
			s.want(exitDone, "sweep")
			s.want(exitDone, "replay", "run", "a")
			s.want(exitDone, "verify")
			s.want(exitDone, "replay", "list")
			s.want(exitDone, "history", "P-1")
			s.want(exitDone, "schedule", "list")
			s.want(exitDone, "schedule", "run", "sweep")
			s.wantPromises(ledger.Keep, events)
			s.want(exitDone, "replay", "revert", "a", "--confirm", "a")
			s.want(exitDone, "replay", "revert", "other", "--confirm", "other")
			if n := s.int(`select count(*) from comissao`); n != 0 {
				t.Errorf("%d orders hold a commission", n)
			}
		})
	}
}

// day writes an archive of one day to a file.
func (s *site) day(events int) string {
	s.t.Helper()
	var text strings.Builder
	for i := 1; i <= events; i++ {
		fmt.Fprintf(&text, `{"posicao":%d,"id":"ev-%d","tipo":"pedido.pago","pedido_id":"P-%d","versao":1,"payload":{"valorCentavos":%d,"percentual":5},"ocorrido_em":"2026-10-14T12:30:05Z"}`+"\n", i, i, i, 1000*i)
	}
	path := filepath.Join(s.t.TempDir(), "day.ndjson")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}
