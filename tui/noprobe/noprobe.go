// Package noprobe keeps bubbletea from asking the terminal for its colours when a program that merely contains
// the dashboard starts. The answer would arrive late on a slow line and show up as text, even after --help.
//
// bubbletea asks in its init. Go initializes packages in the order of their import paths, as soon as all that
// they import is initialized; this package needs os alone, so its turn comes before the packages of the standard
// library that bubbletea waits for (strings, sync, time: all of them sort behind it). It makes the terminal look
// like one that cannot answer; [Restore], called from the init of the package that imports bubbletea, undoes it.
package noprobe

import "os"

var term, had = os.LookupEnv("TERM")

func init() {
	if had {
		_ = os.Setenv("TERM", "dumb")
	}
}

// Restore gives the terminal its name back.
func Restore() {
	if had {
		_ = os.Setenv("TERM", term)
	}
}
