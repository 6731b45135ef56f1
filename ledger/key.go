package ledger

import (
	"fmt"
	"strings"
)

// Key is the one function that names an effect: the event's id, a colon, the kind of effect. Live consumer,
// replay, sweep and review all use it, so all of them meet on the same row.
//
// A kind holds no colon (see [ValidKind]), so the last colon always separates: two different pairs never
// share a key.
func Key(eventID, kind string) string { return eventID + ":" + kind }

// SplitKey is the inverse of [Key].
func SplitKey(key string) (eventID, kind string, ok bool) {
	i := strings.LastIndexByte(key, ':')
	if i < 0 {
		return "", "", false
	}
	return key[:i], key[i+1:], true
}

// ValidKind reports, as an error that says what is allowed, a kind of effect that [Key] could not keep apart.
func ValidKind(kind string) error {
	const letters, marks = "abcdefghijklmnopqrstuvwxyz0123456789", "._-"
	if kind == "" || strings.Trim(kind, letters+marks) != "" || strings.ContainsRune(marks, rune(kind[0])) {
		return fmt.Errorf("kind of effect %q: use lower-case letters, digits, '.', '_' and '-', starting with a letter or a digit", kind)
	}
	return nil
}
