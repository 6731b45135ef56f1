package main

import (
	"bytes"
	"cmp"
	"debug/elf"
	"os"
	"runtime/debug"
	"strings"
)

// version names this build: a replay tells by it whether it was simulated by another.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info, buildID())
}

// versionOf is the commit that was built, or the version of the module that was installed. A build of changed files, or
// of which no commit is known, is told from others by its id.
func versionOf(info *debug.BuildInfo, id string) string {
	commit, changed := "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	switch {
	case commit != "" && !changed:
		return commit
	case commit == "" && info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	name := cmp.Or(commit, "devel")
	if id != "" {
		name += "+" + id
	}
	return name
}

// buildID is the beginning of the hash that the linker gave to this program; "" where a program does not say it.
func buildID() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	file, err := elf.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	section := file.Section(".note.go.buildid")
	if section == nil {
		return ""
	}
	note, err := section.Data()
	if err != nil {
		return ""
	}
	// The hash of what was linked comes last.
	id := string(bytes.TrimRight(note, "\x00"))
	id = id[strings.LastIndexByte(id, '/')+1:]
	return id[:min(8, len(id))]
}
