package review

import (
	"strings"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/text"
)

// policy says what a failure of this effect leads to.
func (m *Model) policy(p ledger.OnFailure) string {
	switch p {
	case ledger.Release:
		return m.env.S(text.RuleRelease)
	case ledger.Keep:
		return m.env.S(text.RuleKeep)
	case ledger.LookUp:
		return m.env.S(text.RuleLookUp)
	}
	return text.Clean(string(p))
}

// occurrence says what happened in words, if it is one that is known here.
func (m *Model) occurrence(kind string) string {
	if words, ok := text.Occurrences[kind]; ok {
		return m.env.S(words)
	}
	return text.Clean(kind)
}

// happened is the text of an occurrence: a sentence of the engine, or a machine-readable reason with what it was in detail.
func (m *Model) happened(s string) string {
	code, detail, _ := strings.Cut(s, ": ")
	explained := m.reason(code)
	if explained == "" {
		return m.env.Remark(s)
	}
	if detail != "" {
		detail = " (" + m.env.Remark(detail) + ")"
	}
	return code + explained + detail
}

// reason explains a machine-readable reason, if it is one that is known here.
func (m *Model) reason(r string) string {
	if explained, ok := text.Reasons[r]; ok {
		return ": " + m.env.S(explained)
	}
	if status, ok := strings.CutPrefix(r, "resposta-"); ok {
		return ": " + m.env.S(text.ReasonStatus, text.Clean(status))
	}
	return ""
}
