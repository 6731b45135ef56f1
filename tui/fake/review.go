package fake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
)

// ErrStale is the answer to a decision on a row that is not the one that was seen.
var ErrStale = errors.New("the row changed since it was shown")

// ErrQuarantine is the answer to a decision that came too early.
var ErrQuarantine = errors.New("a call could still be alive")

func (s *Store) makeUncertain(n int) {
	reasons := []string{"sem-resposta", "sem-resposta", "resposta-503", "abandonada", "sem-resposta", "sem-recibo"}
	for i := range n {
		kind := "notificar-vendedor"
		if i%7 == 3 {
			kind = "publicar-extrato"
		}
		event := fmt.Sprintf("ev-%d", 1042+i)
		at := s.now().Add(-26*time.Hour + time.Duration(i)*93*time.Second%(26*time.Hour))
		if n > 1000 {
			at = s.now().Add(-48*time.Hour + time.Duration(i)*time.Second)
		}
		e := ledger.UncertainEffect{
			Key: ledger.Key(s.text(event), kind), EventID: s.text(event), Kind: kind, Execution: s.text("aplicar-2026-10-14-v2"),
			Reason: s.text(reasons[i%len(reasons)]), OnFailure: ledger.Keep, Attempts: 1 + i%3, Since: at, Version: at,
		}
		if kind == "publicar-extrato" {
			next := s.now().Add(17 * time.Minute)
			e.OnFailure, e.NextLookUp, e.LookUps = ledger.LookUp, &next, 2
		}
		if i%9 == 4 {
			e.Execution = s.text(ledger.Live)
		}
		s.uncertain = append(s.uncertain, e)
	}
	sort.SliceStable(s.uncertain, func(i, j int) bool {
		a, b := s.uncertain[i], s.uncertain[j]
		if !a.Version.Equal(b.Version) {
			return a.Version.Before(b.Version)
		}
		return a.Key < b.Key
	})
}

func (s *Store) full(e ledger.UncertainEffect) ledger.UncertainEffect {
	if left := e.Since.Add(6*time.Minute + 40*time.Second).Sub(s.now()); left > 0 {
		e.QuarantineLeft = left
	}
	if raw, ok := s.contents[e.Key]; ok {
		e.Content = raw
	} else {
		e.Content = json.RawMessage(s.text(fmt.Sprintf(`{"pedidoId":"P-%s","valorCentavos":%d,"vendedor":{"id":"V-207","canal":"push"},"assunto":"Comissão atualizada"}`, strings.TrimPrefix(e.EventID, "ev-"), 4_375+len(e.Key)*13)))
	}
	return e
}

// SetContent replaces the content of an effect.
func (s *Store) SetContent(key string, raw json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contents[key] = raw
}

// Uncertain returns a page of the queue.
func (s *Store) Uncertain(ctx context.Context, q ledger.UncertainQuery) ([]ledger.UncertainEffect, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := q.Limit
	if limit == 0 {
		limit = 100
	}
	after := func(e ledger.UncertainEffect) bool {
		if q.After == nil {
			return true
		}
		if !e.Version.Equal(q.After.Version) {
			return e.Version.After(q.After.Version)
		}
		return e.Key > q.After.Key
	}
	start := sort.Search(len(s.uncertain), func(i int) bool { return after(s.uncertain[i]) })
	var out []ledger.UncertainEffect
	if q.Backwards {
		end := len(s.uncertain)
		if q.After != nil {
			end = sort.Search(len(s.uncertain), func(i int) bool {
				e := s.uncertain[i]
				return e.Key == q.After.Key && e.Version.Equal(q.After.Version) || after(e)
			})
		}
		for i := end - 1; i >= 0 && len(out) < limit; i-- {
			if matches(q, s.uncertain[i]) {
				out = append(out, s.full(s.uncertain[i]))
			}
		}
	} else {
		for i := start; i < len(s.uncertain) && len(out) < limit; i++ {
			if matches(q, s.uncertain[i]) {
				out = append(out, s.full(s.uncertain[i]))
			}
		}
	}
	s.returned(len(out))
	return out, nil
}

func matches(q ledger.UncertainQuery, e ledger.UncertainEffect) bool {
	return (q.Kind == "" || e.Kind == q.Kind) && (q.Reason == "" || e.Reason == q.Reason) &&
		(q.Execution == "" || e.Execution == q.Execution) && strings.Contains(e.Key, q.Text)
}

// UncertainCounts counts what matches of the queue.
func (s *Store) UncertainCounts(ctx context.Context, q ledger.UncertainQuery) ([]ledger.UncertainCount, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []ledger.UncertainCount
	at := map[[2]string]int{}
	for _, e := range s.uncertain {
		if !matches(q, e) {
			continue
		}
		k := [2]string{e.Kind, e.Reason}
		if i, ok := at[k]; ok {
			out[i].Effects++
			continue
		}
		at[k] = len(out)
		out = append(out, ledger.UncertainCount{Kind: e.Kind, Reason: e.Reason, Effects: 1, Oldest: e.Since})
	}
	return out, nil
}

func (s *Store) index(key string) int {
	for i := range s.uncertain {
		if s.uncertain[i].Key == key {
			return i
		}
	}
	return -1
}

// UncertainByKey reads one effect.
func (s *Store) UncertainByKey(ctx context.Context, key string) (ledger.UncertainEffect, bool, error) {
	if err := s.call(ctx); err != nil {
		return ledger.UncertainEffect{}, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.index(key); i >= 0 {
		return s.full(s.uncertain[i]), true, nil
	}
	return ledger.UncertainEffect{}, false, nil
}

// Occurrences are what happened to an effect.
func (s *Store) Occurrences(ctx context.Context, key string) ([]ledger.Occurrence, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	at := s.now().Add(-25 * time.Hour)
	return []ledger.Occurrence{
		{ID: 1, Key: key, Execution: s.text("aplicar-2026-10-14-v2"), Kind: s.text("nao-enviado"), Text: s.text("not sent: dial tcp 10.20.0.7:443: connect: connection refused"), At: at},
		{ID: 2, Key: key, Execution: s.text("aplicar-2026-10-14-v2"), Kind: s.text("falha-ambigua"), Text: s.text("sem-resposta: context deadline exceeded"), At: at.Add(64 * time.Second)},
		{ID: 3, Key: key, Execution: s.text("aplicar-2026-10-14-v2"), Kind: s.text("consulta"), Text: s.text("inacessivel: status 200 OK"), Answer: json.RawMessage(s.text(`{"status":"unknown","checkedAt":"2026-10-14T16:31:12Z"}`)), At: at.Add(31 * time.Minute)},
	}, nil
}

// Decisions are the decisions on an effect.
func (s *Store) Decisions(ctx context.Context, key string) ([]ledger.DecisionRecord, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]ledger.DecisionRecord(nil), s.decisions[key]...), nil
}

// Decide decides as the reviewer of this terminal.
func (s *Store) Decide(ctx context.Context, d ledger.Decision) (ledger.DecisionRecord, error) {
	if err := s.call(ctx); err != nil {
		return ledger.DecisionRecord{}, err
	}
	return s.DecideAs("revisor_a", d)
}

// DecideAs decides as anybody.
func (s *Store) DecideAs(reviewer string, d ledger.Decision) (ledger.DecisionRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(d.Key)
	if i < 0 || !s.uncertain[i].Version.Equal(d.Seen) {
		return ledger.DecisionRecord{}, fmt.Errorf("decide %s: %w", d.Key, ErrStale)
	}
	if s.full(s.uncertain[i]).QuarantineLeft > 0 && !d.Force {
		return ledger.DecisionRecord{}, fmt.Errorf("decide %s: %w", d.Key, ErrQuarantine)
	}
	r := ledger.DecisionRecord{ID: int64(len(s.decisions) + 1), Key: d.Key, Verdict: d.Verdict, Reviewer: s.text(reviewer), Origin: d.Origin, Note: d.Note, Forced: d.Force, Reason: s.uncertain[i].Reason, At: s.now()}
	s.decisions[d.Key] = append(s.decisions[d.Key], r)
	s.uncertain = append(s.uncertain[:i:i], s.uncertain[i+1:]...)
	return r, nil
}

// Event reads an event.
func (s *Store) Event(ctx context.Context, id string) (batch.Event, error) {
	if err := s.call(ctx); err != nil {
		return batch.Event{}, err
	}
	n := int64(1042)
	_, _ = fmt.Sscanf(id, "ev-%d", &n)
	ev := s.event(n)
	ev.ID = id
	return ev, nil
}

func (s *Store) event(n int64) batch.Event {
	return batch.Event{
		Position: 1_204_000 + n, ID: s.text(fmt.Sprintf("ev-%d", n)), Type: s.text("pedido.pago"), OrderID: s.text(fmt.Sprintf("P-%d", n)), Version: 1 + n%3,
		OccurredAt: Noon.Add(-25*time.Hour + time.Duration(n)*time.Second),
		Payload: json.RawMessage(s.text(fmt.Sprintf(`{"pedidoId":"P-%d","valorCentavos":%d,"percentual":5,"vendedor":{"id":"V-207","regiao":"sul"},"itens":[{"sku":"CAD-11","quantidade":2},{"sku":"MES-04","quantidade":1}],"pagamento":{"forma":"pix","confirmadoEm":"2026-10-14T12:%02d:07-03:00"}}`,
			n, 87_500+n*13%90_000, n%60))),
	}
}
