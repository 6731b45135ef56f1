package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"reprise.dev/reprise/ledger"
)

func TestAVersionTellsBuildsApart(t *testing.T) {
	t.Parallel()
	build := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "a413075da541a8f3717b41a89fe9c2dbb414164c"}
	for _, c := range []struct {
		info *debug.BuildInfo
		id   string
		want string
	}{
		{build("v0.0.0-20261203080241-a413075da541", commit, debug.BuildSetting{Key: "vcs.modified", Value: "false"}), "x1", "a413075da541"},
		{build("v0.0.0-20261203080241-a413075da541+dirty", commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"}), "x1", "a413075da541+x1"},
		{build("v1.4.0"), "x1", "v1.4.0"},
		{build("(devel)"), "x1", "devel+x1"},
		{build("(devel)"), "x2", "devel+x2"},
		{build(""), "", "devel"},
	} {
		if got := versionOf(c.info, c.id); got != c.want {
			t.Errorf("%+v: %q, want %q", c.info, got, c.want)
		}
	}
}

// TestProcessesOfOneBuildSayTheSameVersion: also of one that no commit is known of.
func TestProcessesOfOneBuildSayTheSameVersion(t *testing.T) {
	t.Parallel()
	s := newSite(t, ledger.Keep, "")
	first, second := s.want(exitDone, "--version").out, s.want(exitDone, "--version").out
	if first != second || strings.Contains(first, "(devel)") {
		t.Fatalf("%q, %q", first, second)
	}
	if runtime.GOOS == "linux" && strings.TrimSpace(first) == "reprise version devel" {
		t.Fatalf("%q could be any build", first)
	}
}
