package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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

// TestContradictionsNameBothValues: a deployment that could not keep its promises is refused at start, and told which keys
// and values clash. Without the contradiction the same file is accepted.
func TestContradictionsNameBothValues(t *testing.T) {
	const effect = "[effects.avisar]\nmode = \"aplicar\"\nprovider = \"p\"\n"
	const provider = "[providers.p]\nurl = \"http://127.0.0.1:1\"\n"
	for name, tc := range map[string]struct {
		text string
		want []string
		mend [2]string // what makes it right
	}{
		"call as long as the sweep age": {
			effect + provider + "timeout = \"290s\"\n[ledger]\nsweep_age = \"300s\"\n",
			[]string{"providers.p.timeout = 4m50s", "ledger.margin = 10s", "ledger.sweep_age = 5m0s"}, [2]string{"290s", "289s"},
		},
		"window over before what was abandoned is found": {
			effect + "on_failure = \"liberar\"\n" + provider + "deduplicates = true\ndedup_window = \"5m20s\"\n",
			[]string{"providers.p.dedup_window = 5m20s", "ledger.sweep_age = 5m0s", "providers.p.timeout = 10s", "ledger.margin = 10s", "effects.avisar.on_failure = \"liberar\""},
			[2]string{"5m20s", "5m21s"},
		},
		"quarantine shorter than a call": {
			effect + provider + "[review]\nquarantine = \"19s\"\n",
			[]string{"providers.p.timeout = 10s", "ledger.margin = 10s", "review.quarantine = 19s"}, [2]string{"19s", "20s"},
		},
		"retry without deduplication": {
			effect + "on_failure = \"liberar\"\n" + provider,
			[]string{"effects.avisar.on_failure = \"liberar\"", "providers.p.deduplicates = false"}, [2]string{"liberar", "manter"},
		},
		"look-up without a place to ask": {
			effect + "on_failure = \"consultar\"\n" + provider,
			[]string{"effects.avisar.on_failure = \"consultar\"", "providers.p.look_up_url"}, [2]string{"consultar", "manter"},
		},
		"window without deduplication": {
			effect + provider + "dedup_window = \"1h\"\n",
			[]string{"providers.p.dedup_window = 1h0m0s", "providers.p.deduplicates = false"}, [2]string{"1h", "0s"},
		},
		"status refused and not sent": {
			effect + provider + "refused_statuses = [404, 429]\nnot_sent_statuses = [429]\n",
			[]string{"providers.p.refused_statuses", "providers.p.not_sent_statuses", "429"}, [2]string{"404, 429", "404"},
		},
		"success that counts as not sent": {
			effect + provider + "not_sent_statuses = [202]\n", []string{"providers.p.not_sent_statuses", "202"}, [2]string{"202", "429"},
		},
		"success that counts as refused": {
			effect + provider + "refused_statuses = [200]\n", []string{"providers.p.refused_statuses", "200"}, [2]string{"200", "422"},
		},
		"status found and not found": {
			effect + provider + "look_up_found = [200, 404]\n",
			[]string{"providers.p.look_up_found", "providers.p.look_up_not_found", "404"}, [2]string{"200, 404", "200"},
		},
		"pool smaller than the workers": {
			"[run]\nworkers = 8\npool_size = 15\n", []string{"run.pool_size = 15", "run.workers = 8"}, [2]string{"15", "16"},
		},
		"unknown provider": {
			effect + strings.Replace(provider, "providers.p", "providers.q", 1), []string{"effects.avisar.provider = \"p\"", "there is no [providers.p]"}, [2]string{"providers.q", "providers.p"},
		},
		"two schedules of one name": {
			"[[schedule]]\nname = \"x\"\ntask = \"sweep\"\nspec = \"@hourly\"\n[[schedule]]\nname = \"x\"\ntask = \"sweep\"\nspec = \"@daily\"\n#",
			[]string{"schedule 2 (x)", "taken by another schedule"}, [2]string{"[[schedule]]\nname = \"x\"\ntask = \"sweep\"\nspec = \"@daily\"", ""},
		},
		"schedule that never fires": {
			"[[schedule]]\nname = \"x\"\ntask = \"sweep\"\nspec = \"0 2 31 2 *\"\n", []string{"0 2 31 2 *", "never fires"}, [2]string{"31 2", "28 2"},
		},
		"schedule that panics cron": {
			"[[schedule]]\nname = \"x\"\ntask = \"sweep\"\nspec = \"TZ=America/Sao_Paulo\"\n", []string{"cannot be read"}, [2]string{"TZ=America/Sao_Paulo", "@daily"},
		},
		"literal secret": {
			effect + provider + "secret = \"hunter2\"\n", []string{"providers.p.secret", "env:NAME"}, [2]string{"hunter2", "env:NAME"},
		},
		"kind with a colon": {"[effects.\"a:b\"]\n", []string{"a:b"}, [2]string{"a:b", "a.b"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "reprise.toml")
			load := func(text string) error {
				t.Helper()
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				_, err := Load(path)
				return err
			}
			err := load(tc.text)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range append(tc.want, path) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not name %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("error shows the secret: %v", err)
			}
			if strings.Contains(strings.TrimSpace(err.Error()), "\n") {
				t.Errorf("more than one problem: %v", err)
			}
			if err := load(strings.Replace(tc.text, tc.mend[0], tc.mend[1], 1)); err != nil {
				t.Errorf("mended: %v", err)
			}
		})
	}
}

// TestWhatIsAcceptedTheLedgerTakes: every policy of a configuration that is accepted is one that the ledger accepts.
func TestWhatIsAcceptedTheLedgerTakes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		duration := func(name string, seconds ...int) time.Duration {
			return time.Duration(rapid.SampledFrom(seconds).Draw(rt, name)) * time.Second
		}
		c := Default()
		c.Ledger = Ledger{SweepAge: duration("sweep age", 20, 60, 300), Margin: duration("margin", 0, 10)}
		c.Review.Quarantine = duration("quarantine", 0, 1, 20, 300, -1)
		p, e := defaultProvider, defaultEffect
		p.URL, p.LookUpURL, p.Timeout, p.DedupWindow = "http://127.0.0.1:1", "http://127.0.0.1:1/{key}", duration("time-out", 1, 10, 60, 0), duration("window", 0, 20, 60, 330, -1)
		p.Deduplicates = rapid.Bool().Draw(rt, "deduplicates")
		e.Mode, e.Provider, e.MaxAttempts = "aplicar", "p", rapid.IntRange(-1, 5).Draw(rt, "attempts")
		e.OnFailure = rapid.SampledFrom([]string{"liberar", "manter", "consultar"}).Draw(rt, "on failure")
		c.Providers, c.Effects = map[string]Provider{"p": p}, map[string]Effect{"avisar": e}
		if c.Validate() != nil {
			return
		}
		rule := c.Rules()["avisar"]
		if err := rule.Validate("avisar", c.Ledger.SweepAge, c.Ledger.Margin); err != nil {
			rt.Fatal(err)
		}
	})
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
