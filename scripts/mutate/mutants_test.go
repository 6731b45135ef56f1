package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryMutantChangesOnePlace keeps the list up to date with the statements: what a mutant takes away is there, once.
func TestEveryMutantChangesOnePlace(t *testing.T) {
	names := map[string]bool{}
	for _, m := range mutants {
		source, err := os.ReadFile(filepath.Join("..", "..", "ledger", m.file))
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 {
			t.Errorf("%s: %q occurs %d times in %s", m.name, m.old, n, m.file)
		}
		if m.old == m.new {
			t.Errorf("%s: changes nothing", m.name)
		}
		if names[m.name] {
			t.Errorf("%s: is in the list twice", m.name)
		}
		names[m.name] = true
	}
}
