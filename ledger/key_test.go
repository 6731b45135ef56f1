package ledger

import (
	"testing"

	"pgregory.net/rapid"
)

func TestTwoEffectsNeverShareAKey(t *testing.T) {
	t.Parallel()
	if Key("a:b", "c") == Key("a", "b:c") && ValidKind("b:c") == nil {
		t.Error("two effects, one key")
	}
	kinds := rapid.StringMatching(`[a-z0-9][a-z0-9._-]*`)
	rapid.Check(t, func(rt *rapid.T) {
		event, kind := rapid.String().Draw(rt, "event"), kinds.Draw(rt, "kind")
		if err := ValidKind(kind); err != nil {
			rt.Fatal(err)
		}
		gotEvent, gotKind, ok := SplitKey(Key(event, kind))
		if !ok || gotEvent != event || gotKind != kind {
			rt.Fatalf("%q and %q came back as %q and %q", event, kind, gotEvent, gotKind)
		}
	})
	if _, _, ok := SplitKey("no-colon"); ok {
		t.Error("a key without a colon was split")
	}
}

func TestKindsThatAKeyCouldNotKeepApart(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "a:b", ":", "A", "é", "a b", "-a", ".a", "a\n", "a\x00"} {
		if ValidKind(kind) == nil {
			t.Errorf("%q is accepted", kind)
		}
	}
	for _, kind := range []string{"a", "0", "notificar-vendedor", "a.b_c-9"} {
		if err := ValidKind(kind); err != nil {
			t.Error(err)
		}
	}
}
