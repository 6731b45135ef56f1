package importer_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reprise.dev/reprise/batch/importer"
	"reprise.dev/reprise/schema/pgtest"
)

// incompressible is text that no index can shorten.
func incompressible(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range n {
		b.WriteByte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[random.IntN(64)])
	}
	return b.String()
}

const (
	v1      = `{"posicao":1,"id":"a","tipo":"t","pedido_id":"P","versao":1,"payload":{"x":1,"y":2},"ocorrido_em":"2026-10-14T12:00:00Z"}`
	v1again = `{"ocorrido_em":"2026-10-14T09:00:00-03:00","posicao":1,"id":"a","tipo":"t","pedido_id":"P","versao":1,"payload":{ "y":2, "x":1 }}`
	v1other = `{"posicao":1,"id":"a","tipo":"t","pedido_id":"P","versao":1,"payload":{"x":1,"y":3},"ocorrido_em":"2026-10-14T12:00:00Z"}`
	v1moved = `{"posicao":9,"id":"a","tipo":"t","pedido_id":"P","versao":1,"payload":{"x":1,"y":2},"ocorrido_em":"2026-10-14T12:00:00.000001Z"}`
	taken   = `{"posicao":1,"id":"b","tipo":"t","pedido_id":"P","versao":2,"payload":{"x":1,"y":2},"ocorrido_em":"2026-10-14T12:00:00Z"}`
	same    = `{"posicao":2,"id":"c","tipo":"t","pedido_id":"P","versao":1,"payload":{"x":1,"y":2},"ocorrido_em":"2026-10-14T12:00:00Z"}`
	v2      = `{"posicao":3,"id":"d","tipo":"t","pedido_id":"P","versao":3,"payload":{"x":1,"y":2},"ocorrido_em":"2026-10-14T12:00:00Z"}`
)

// TestConflictsOverwriteNothing inside one file, and against what is archived; a dry run finds the same.
func TestConflictsOverwriteNothing(t *testing.T) {
	wantRejects := map[string]int64{importer.CodeOtherContent: 2, importer.CodePositionTaken: 1, importer.CodeSameVersion: 1}
	wantReasons := []string{
		"event a is archived with another payload",
		"event a is archived with another posicao, ocorrido_em",
		"posicao 1 is event a",
		"version 1 of order P is event a",
	}
	wantVersions := []importer.SameVersion{{OrderID: "P", Version: 1, Archived: "a", Refused: "c"}}
	check := func(t *testing.T, r importer.Report, imported, repeated int64) {
		t.Helper()
		if r.Imported != imported || r.Repeated != repeated || r.Read != imported+repeated+4 {
			t.Errorf("%+v", r)
		}
		var reasons []string
		for _, reject := range r.Rejects {
			reasons = append(reasons, reject.Reason)
		}
		if diff := cmp.Diff(wantRejects, r.Rejected) + cmp.Diff(wantReasons, reasons) + cmp.Diff(wantVersions, r.SameVersions); diff != "" {
			t.Error(diff)
		}
	}
	files := map[string][]string{
		"inside one file":       {v1, v1again, v1other, v1moved, taken, same, v2},
		"the archived one last": {v2, v1, v1other, v1moved, taken, same, v1again},
	}
	for name, lines := range files {
		t.Run(name, func(t *testing.T) {
			pool := pgtest.New(t)
			path := write(t, "day.ndjson", lines...)
			check(t, do(t, pool, importer.Options{Files: []string{path}, DryRun: true}), 2, 1)
			if rows := archived(t, pool); len(rows) != 0 {
				t.Fatalf("a dry run wrote %v", rows)
			}
			check(t, do(t, pool, importer.Options{Files: []string{path}}), 2, 1)
			before := archived(t, pool)
			check(t, do(t, pool, importer.Options{Files: []string{path}, DryRun: true}), 0, 3)
			check(t, do(t, pool, importer.Options{Files: []string{path}}), 0, 3)
			if diff := cmp.Diff(before, archived(t, pool)); diff != "" || len(before) != 2 {
				t.Error(diff)
			}
		})
	}
}

func TestARunIsRecorded(t *testing.T) {
	pool := pgtest.New(t)
	path := write(t, "day.ndjson", v1, v1again, same)
	o := importer.Options{Files: []string{path}, Operator: "ana"}
	do(t, pool, importer.Options{Files: []string{path}, DryRun: true})
	r := do(t, pool, o)
	var file, sum, format, operator string
	var counts [4]int64
	err := pool.QueryRow(t.Context(), "select arquivo, sha256, formato, operador, lidos, importados, repetidos, rejeitados from importacao").
		Scan(&file, &sum, &format, &operator, &counts[0], &counts[1], &counts[2], &counts[3])
	if err != nil || file != path || sum != sha256Of(t, path) || sum != r.Files[0].SHA256 || format != "ndjson" || operator != "ana" || counts != [4]int64{3, 1, 1, 1} {
		t.Errorf("%s %s %s %s %v, %v", file, sum, format, operator, counts, err)
	}
	if r.Files[0].Rejects != path+".rejects.ndjson" {
		t.Errorf("%+v", r.Files)
	}
}

// TestATableOfTheOwnersMaking may have more columns, and rules of its own; a dry run knows them.
func TestATableOfTheOwnersMaking(t *testing.T) {
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "alter table evento_arquivado add gravado_em timestamptz not null default now(), add check (tipo <> 'proibido')")
	if err != nil {
		t.Fatal(err)
	}
	o := importer.Options{Files: []string{write(t, "day.ndjson", v1, strings.Replace(v2, `"t"`, `"proibido"`, 1))}, DryRun: true}
	for range 2 {
		r := do(t, pool, o)
		if r.Imported != 1 || r.Rejected[importer.CodeRefused] != 1 || r.Rejects[0].Line != 2 || !strings.Contains(r.Rejects[0].Reason, "check") {
			t.Errorf("dry run %v: %+v", o.DryRun, r)
		}
		o.DryRun = false
	}
}
