package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

// evidence is all that is known of one effect.
type evidence struct {
	Effect      ledger.UncertainEffect
	Found       bool // it still waits for a decision
	Until       time.Time
	Event       batch.Event
	NoEvent     bool // the archive does not hold the event
	Occurrences []ledger.Occurrence
	Decisions   []ledger.DecisionRecord
}

// evidenceDue says that the cursor rested long enough on a row to read what is known of it.
type evidenceDue struct{ key string }

// rest is how long the cursor stays on a row before its evidence is read: holding a key reads nothing on the way.
const rest = 120 * time.Millisecond

// ask asks for the evidence of the selected row, if it is not the one that is being read.
func (m *Model) ask() tea.Cmd {
	key := m.table.Selected()
	if key == m.asked || key == "" {
		return nil
	}
	m.asked = key
	return m.env.After(rest, evidenceDue{key})
}

func (m *Model) readEvidence(key string) tea.Cmd {
	if key != m.asked {
		return nil
	}
	source, now := m.source, m.env.Now
	m.evidence.Ask(func(ctx context.Context) (evidence, error) { return collect(ctx, source, key, now) })
	return m.evidence.Read(m.env.Local())
}

func collect(ctx context.Context, source Source, key string, now func() time.Time) (evidence, error) {
	var v evidence
	var err error
	if v.Effect, v.Found, err = source.UncertainByKey(ctx, key); err != nil {
		return v, err
	}
	v.Effect.Key = key
	if v.Effect.QuarantineLeft > 0 {
		v.Until = now().Add(v.Effect.QuarantineLeft).Round(time.Second)
		v.Effect.QuarantineLeft = 0
	}
	if v.Occurrences, err = source.Occurrences(ctx, key); err != nil {
		return v, err
	}
	if v.Decisions, err = source.Decisions(ctx, key); err != nil {
		return v, err
	}
	id := v.Effect.EventID
	if id == "" {
		id, _, _ = ledger.SplitKey(key)
	}
	v.Event, err = source.Event(ctx, id)
	if errors.Is(err, batch.ErrNotFound) {
		v.NoEvent, err = true, nil
	}
	return v, err
}

// asked is the kind of occurrence that records a provider's answer to what it did with a key.
const asked = "consulta"

// lookUps are the provider's answers, the newest first: that is the one that counts.
func (v evidence) lookUps() []ledger.Occurrence {
	var out []ledger.Occurrence
	for _, o := range slices.Backward(v.Occurrences) {
		if o.Kind == asked {
			out = append(out, o)
		}
	}
	return out
}

// happened are all other occurrences.
func (v evidence) happened() []ledger.Occurrence {
	return slices.DeleteFunc(slices.Clone(v.Occurrences), func(o ledger.Occurrence) bool { return o.Kind == asked })
}

// document is the evidence as one JSON text, for the pager.
func (v evidence) document() []byte {
	var b bytes.Buffer
	part := func(name string, raw json.RawMessage) {
		if len(raw) == 0 {
			raw = json.RawMessage("null")
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", name)
		b.Write(raw)
	}
	part("chave", quote(v.Effect.Key))
	part("conteudo", v.Effect.Content)
	part("evento", v.Event.Payload)
	for _, o := range v.Occurrences {
		part(o.Kind+" "+o.At.UTC().Format(time.RFC3339), o.Answer)
	}
	return append(append([]byte("{"), b.Bytes()...), '}')
}

func quote(s string) json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return raw
}
