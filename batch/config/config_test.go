package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func example(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../config.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestExampleIsValid loads the example as a user would who fills in the environment that it names.
func TestExampleIsValid(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://localhost/x")
	t.Setenv("NOTIFICACOES_AUTHORIZATION", "Bearer x")
	c, err := Load("../../config.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Rules()) != 1 || len(c.Schedules) != 2 || c.Location().String() != "America/Sao_Paulo" {
		t.Fatalf("read %+v", c)
	}
	if _, err := c.OpenProviders(nil); err != nil {
		t.Fatal(err)
	}
}

var commented = regexp.MustCompile(`(?m)^# ([a-z_]+ = .*)$`)

// TestExampleHasEveryKeyWithItsDefault uncomments every default of the example: that must change nothing, and
// every key of the configuration must be there.
func TestExampleHasEveryKeyWithItsDefault(t *testing.T) {
	text := example(t)
	with, err := Parse(commented.ReplaceAllString(text, "$1"))
	if err != nil {
		t.Fatal(err)
	}
	without, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range with.Schedules { // an empty list is no list
		if len(with.Schedules[i].Types) == 0 {
			with.Schedules[i].Types = nil
		}
	}
	if diff := cmp.Diff(without, with); diff != "" {
		t.Errorf("a documented default is not the default (-default +documented):\n%s", diff)
	}
	for _, key := range knownKeys() {
		if !regexp.MustCompile(`(?m)^(# )?(\[+([a-z.]+\.)?)?` + key + `( = |\.|\])`).MatchString(text) {
			t.Errorf("config.example.toml does not document %s", key)
		}
	}
}

func TestUnknownKeysAreRefusedWithASuggestion(t *testing.T) {
	_, err := Parse("[run]\nworker = 3\n")
	if err == nil || !strings.Contains(err.Error(), "run.worker") || !strings.Contains(err.Error(), "workers") {
		t.Fatalf("got %v", err)
	}
}

// TestContradictionsNameBothValues: a deployment that could not keep its promises is refused at start.
func TestContradictionsNameBothValues(t *testing.T) {
	base := "[effects.avisar]\nmode = \"aplicar\"\nprovider = \"p\"\n"
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"call longer than the sweep age": {base + "[providers.p]\nurl = \"http://127.0.0.1:1\"\ntimeout = \"400s\"\n[ledger]\nsweep_age = \"300s\"\n", []string{"6m40s", "5m0s"}},
		"retry without deduplication":    {base + "on_failure = \"liberar\"\n[providers.p]\nurl = \"http://127.0.0.1:1\"\n", []string{"liberar", "deduplicates = false"}},
		"look-up without a place to ask": {base + "on_failure = \"consultar\"\n[providers.p]\nurl = \"http://127.0.0.1:1\"\n", []string{"consultar", "look_up_url"}},
		"window without deduplication":   {base + "[providers.p]\nurl = \"http://127.0.0.1:1\"\ndedup_window = \"1h\"\n", []string{"dedup_window", "deduplicates = false"}},
		"unknown provider":               {base, []string{"there is no [providers.p]"}},
		"schedule that never fires":      {"[[schedule]]\nname = \"x\"\ntask = \"sweep\"\nspec = \"0 2 31 2 *\"\n", []string{"never fires"}},
		"schedule that panics cron":      {"[[schedule]]\nname = \"x\"\ntask = \"sweep\"\nspec = \"TZ=America/Sao_Paulo\"\n", []string{"cannot be read"}},
		"literal secret":                 {base + "[providers.p]\nurl = \"http://127.0.0.1:1\"\nsecret = \"hunter2\"\n", []string{"env:NAME"}},
		"pool smaller than the workers":  {"[run]\nworkers = 8\npool_size = 4\n", []string{"pool_size = 4", "workers = 8"}},
		"status in two lists":            {base + "[providers.p]\nurl = \"http://127.0.0.1:1\"\nrefused_statuses = [429]\nnot_sent_statuses = [429]\n", []string{"429"}},
		"kind with a colon":              {"[effects.\"a:b\"]\n", []string{"a:b"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse(tc.text)
			if err != nil {
				t.Fatal(err)
			}
			err = c.Validate()
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not name %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error shows the secret: %v", err)
			}
		})
	}
}

func TestAllProblemsAreReportedAtOnce(t *testing.T) {
	c, err := Parse("zone = \"Mars/Base\"\n[run]\nworkers = 0\n[commission]\ndivisor = 7\n")
	if err != nil {
		t.Fatal(err)
	}
	err = c.Validate()
	for _, want := range []string{"zone", "run.workers", "commission.divisor"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is not reported: %v", want, err)
		}
	}
}

func TestEnvironmentOverrides(t *testing.T) {
	c := Default()
	if err := overrideFromEnvironment(&c, []string{"REPRISE_RUN_WORKERS=7", "REPRISE_LEDGER_SWEEP_AGE=90s", "REPRISE_ZONE=Europe/Lisbon", "REPRISE_REVIEW_FOUR_EYES=true", "REPRISE_HOME=/x"}); err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Run.Workers, want.Ledger.SweepAge, want.Zone, want.Review.FourEyes = 7, 90*time.Second, "Europe/Lisbon", true
	if !reflect.DeepEqual(c, want) {
		t.Error(cmp.Diff(want, c))
	}
	for _, bad := range []string{"REPRISE_RUN_WORKER=7", "REPRISE_RUN_WORKERS=many"} {
		if err := overrideFromEnvironment(&c, []string{bad}); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

func TestScheduledDayIsTheLocalOne(t *testing.T) {
	c, err := Parse("zone = \"America/Sao_Paulo\"\n[[schedule]]\nname = \"noite\"\nspec = \"30 2 * * *\"\ntask = \"queue\"\n")
	if err != nil {
		t.Fatal(err)
	}
	q := c.request(c.Schedules[0], time.Date(2026, 10, 15, 5, 30, 0, 0, time.UTC)) // 02:30 in São Paulo
	if q.ID != "noite-2026-10-14" || !q.Scope.From.Equal(time.Date(2026, 10, 14, 3, 0, 0, 0, time.UTC)) || !q.Scope.To.Equal(time.Date(2026, 10, 15, 3, 0, 0, 0, time.UTC)) {
		t.Fatalf("got %+v", q)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("zone = \"UTC\"\n[effects.x]\nmode = \"aplicar\"\n")
	f.Add("[[schedule]]\nspec = \"TZ=\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := Parse(text); err == nil {
			_ = c.Validate() // must not panic
		}
	})
}
