// Package fake is a made-up world for tests and pictures: a Monday on which yesterday's commissions are being
// replayed. It holds no real person or company. It is deterministic: the same options give the same world.
package fake

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reprise.dev/reprise/batch"
	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/tui/screen"
)

// Zone is where the world is.
var Zone = time.FixedZone("-03", -3*3600)

// Noon is when the world is looked at, unless told otherwise.
var Noon = time.Date(2026, 10, 15, 14, 2, 31, 0, Zone)

// Options shape the world.
type Options struct {
	Now       func() time.Time    // nil: always Noon
	Uncertain int                 // effects in the review queue; 0: 42
	Orders    int                 // in a diff; 0: 4,812
	Text      func(string) string // what becomes of every text from data, e.g. something hostile
}

// Store answers like the database would.
type Store struct {
	now  func() time.Time
	text func(string) string

	mu        sync.Mutex
	err       error
	delay     time.Duration
	replays   []batch.Replay
	diff      []batch.DiffRow
	sorted    map[batch.DiffSort][]batch.DiffRow
	uncertain []ledger.UncertainEffect // oldest first
	decisions map[string][]ledger.DecisionRecord
	failures  []batch.Failure
	firings   []batch.Firing
	contents  map[string]json.RawMessage
	started   time.Time
	commanded []string
	reads     atomic.Int64
	mostRows  atomic.Int64
}

// New makes a world.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = func() time.Time { return Noon }
	}
	if o.Uncertain == 0 {
		o.Uncertain = 42
	}
	if o.Orders == 0 {
		o.Orders = 4812
	}
	if o.Text == nil {
		o.Text = func(s string) string { return s }
	}
	s := &Store{now: o.Now, text: o.Text, started: o.Now(), decisions: map[string][]ledger.DecisionRecord{}, sorted: map[batch.DiffSort][]batch.DiffRow{}, contents: map[string]json.RawMessage{}}
	s.makeReplays()
	s.makeDiff(o.Orders)
	s.makeUncertain(o.Uncertain)
	s.makeFailures()
	s.makeFirings()
	return s
}

// Fail makes every call fail until it is called with nil.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Delay makes every call take so long.
func (s *Store) Delay(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

// Reads is how many calls there were, and MostRows the most rows that one of them returned.
func (s *Store) Reads() int64 { return s.reads.Load() }

// MostRows is the most rows that one call returned.
func (s *Store) MostRows() int64 { return s.mostRows.Load() }

// Commanded lists what was commanded, such as "pause sim-1".
func (s *Store) Commanded() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commanded)
}

// call is what every call goes through.
func (s *Store) call(ctx context.Context) error {
	s.reads.Add(1)
	s.mu.Lock()
	err, delay := s.err, s.delay
	s.mu.Unlock()
	if delay > 0 {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return ctx.Err()
}

func (s *Store) returned(n int) {
	for {
		most := s.mostRows.Load()
		if int64(n) <= most || s.mostRows.CompareAndSwap(most, int64(n)) {
			return
		}
	}
}

// Now is the world's time.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.now(), s.call(ctx) }

// Identity is the world's database.
func (s *Store) Identity(ctx context.Context) (screen.Identity, error) {
	return screen.Identity{Database: "reprise", Server: "localhost:5432", Role: "revisor_a"}, s.call(ctx)
}

// Replays lists replays, newest first.
func (s *Store) Replays(ctx context.Context, q batch.ReplayQuery) ([]batch.Replay, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []batch.Replay
	for _, r := range s.replays {
		if (q.Before.IsZero() || r.CreatedAt.Before(q.Before)) && len(out) < q.Limit && listed(q, r) {
			out = append(out, r)
		}
	}
	s.returned(len(out))
	return out, nil
}

func listed(q batch.ReplayQuery, r batch.Replay) bool {
	all := strings.ToLower(strings.Join([]string{r.ID, string(r.State), string(r.Mode), r.RequestedBy, r.ApprovedBy}, "\n"))
	return strings.Contains(all, strings.ToLower(q.Text)) || slices.Contains(q.States, r.State) || slices.Contains(q.Modes, r.Mode)
}

// ReplayCount counts the replays that match.
func (s *Store) ReplayCount(ctx context.Context, q batch.ReplayQuery) (batch.Count, error) {
	if err := s.call(ctx); err != nil {
		return batch.Count{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var c batch.Count
	for _, r := range s.replays {
		if listed(q, r) {
			c.Rows++
		}
	}
	return c, nil
}

// FiringCount counts the slots.
func (s *Store) FiringCount(ctx context.Context) (batch.Count, error) {
	return batch.Count{Rows: int64(len(s.firings))}, s.call(ctx)
}

// FailureCount counts the poison events.
func (s *Store) FailureCount(ctx context.Context, _ string) (batch.Count, error) {
	return batch.Count{Rows: int64(len(s.failures))}, s.call(ctx)
}

func (s *Store) find(id string) *batch.Replay {
	for i := range s.replays {
		if s.replays[i].ID == id {
			return &s.replays[i]
		}
	}
	return nil
}

func (s *Store) command(ctx context.Context, verb, id string, from []batch.State, to batch.State) error {
	if err := s.call(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	if r == nil {
		return fmt.Errorf("%s %s: %w", verb, id, batch.ErrNotFound)
	}
	if !slices.Contains(from, r.State) {
		return fmt.Errorf("%s %s: %w: it is %s", verb, id, batch.ErrState, r.State)
	}
	at := s.now()
	r.State, r.UpdatedAt = to, &at
	s.commanded = append(s.commanded, verb+" "+id)
	return nil
}

// Pause pauses a replay.
func (s *Store) Pause(ctx context.Context, id string) error {
	return s.command(ctx, "pause", id, []batch.State{batch.Running, batch.Queued}, batch.Paused)
}

// Resume resumes a replay.
func (s *Store) Resume(ctx context.Context, id string, limits *batch.Limits) error {
	verb := "resume"
	if limits != nil {
		verb = fmt.Sprintf("resume up to %d", limits.Effects)
	}
	return s.command(ctx, verb, id, []batch.State{batch.Paused, batch.Partial, batch.Failed}, batch.Running)
}

// Revert takes back what an apply wrote.
func (s *Store) Revert(ctx context.Context, id string) (reverted, left int64, err error) {
	err = s.command(ctx, "revert", id, []batch.State{batch.Partial}, batch.Partial)
	return 4_781, 31, err
}

// RunNow sets a task going, unless it is at work.
func (s *Store) RunNow(ctx context.Context, task string) (batch.Firing, error) {
	if err := s.call(ctx); err != nil {
		return batch.Firing{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.firings {
		if f.Task == task && f.State == "executando" {
			return batch.Firing{}, fmt.Errorf("run %s now: it is worked by %s since %s: %w", task, f.Host, f.ClaimedAt.Format("15:04:05"), batch.ErrHeld)
		}
	}
	f := batch.Firing{Task: task, Slot: s.now(), State: "executando", Host: "revisor_a@bastion-1", ClaimedAt: s.now()}
	s.firings = append([]batch.Firing{f}, s.firings...)
	s.commanded = append(s.commanded, "run "+task)
	return f, nil
}

// Handlers are the names of what can project events.
func (s *Store) Handlers() []string { return []string{"comissao", "estoque"} }

// Cancel cancels a replay.
func (s *Store) Cancel(ctx context.Context, id string) error {
	return s.command(ctx, "cancel", id, []batch.State{batch.Running, batch.Queued, batch.Paused}, batch.Cancelled)
}

// Preview says what a request would take.
func (s *Store) Preview(ctx context.Context, q batch.Request) (batch.Preview, error) {
	if err := s.call(ctx); err != nil {
		return batch.Preview{}, err
	}
	if q.ID == "" {
		q.ID = string(q.Mode) + "-2026-10-14-140231"
	}
	if q.Partitions == 0 {
		q.Partitions = batch.DefaultPartitions
	}
	q.Handler = cmp.Or(q.Handler, "comissao")
	first, last := s.now().Add(-37*time.Hour), s.now().Add(-14*time.Hour)
	p := batch.Preview{
		Request: q, Events: 48_213, Orders: 41_007, First: 1_204_551, Last: 1_252_763, FirstAt: &first, LastAt: &last,
		UTCFrom: q.Scope.From, UTCTo: q.Scope.To,
		Kinds: []batch.KindPreview{
			{Kind: "notificar-vendedor", Rule: rules()["notificar-vendedor"], Wanted: 46_880, Registered: 23_102, Uncertain: 42},
			{Kind: "publicar-extrato", Rule: rules()["publicar-extrato"], Wanted: 46_880},
		},
	}
	if q.Mode == batch.Apply {
		p.Overlaps = []string{"aplicar-2026-10-14-v2"}
		p.Warnings = []string{"aplicar-2026-10-14-v1 suppressed effects of kind publicar-extrato on some of these positions; this run would send them"}
	}
	return p, nil
}

// Queue queues a replay.
func (s *Store) Queue(ctx context.Context, q batch.Request) (batch.Replay, error) {
	if err := s.call(ctx); err != nil {
		return batch.Replay{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find(q.ID) != nil {
		return batch.Replay{}, fmt.Errorf("queue %s: %w; choose another id", q.ID, batch.ErrExists)
	}
	r := batch.Replay{
		ID: q.ID, Handler: q.Handler, Mode: q.Mode, State: batch.Queued, Scope: q.Scope, Rules: rules(), Limits: q.Limits,
		Partitions: q.Partitions, Priority: max(q.Priority, 1), RequestedBy: "operador_b", CreatedAt: s.now(), CodeVersion: "1.4.0",
	}
	s.replays = append([]batch.Replay{r}, s.replays...)
	s.commanded = append(s.commanded, "queue "+q.ID)
	return r, nil
}

// ApprovePreview says what approving would set going.
func (s *Store) ApprovePreview(ctx context.Context, id, newID string) (batch.ApprovalPreview, error) {
	if err := s.call(ctx); err != nil {
		return batch.ApprovalPreview{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.find(id)
	if r == nil {
		return batch.ApprovalPreview{}, fmt.Errorf("approve %s: %w", id, batch.ErrNotFound)
	}
	return batch.ApprovalPreview{
		Simulation: *r, NewID: cmp.Or(newID, "aplicar-2026-10-14-v3"), Totals: s.totals(), Effects: simulated(), Rules: rules(),
		Hours: s.text("08:00–20:00 America/Sao_Paulo"), RequestedBy: r.RequestedBy,
		Drift: []string{s.text("the state of 31 orders changed since the simulation")},
	}, nil
}

// Approve queues the apply.
func (s *Store) Approve(ctx context.Context, id, newID string) (batch.Replay, error) {
	if err := s.call(ctx); err != nil {
		return batch.Replay{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sim := s.find(id)
	if sim == nil {
		return batch.Replay{}, fmt.Errorf("approve %s: %w", id, batch.ErrNotFound)
	}
	r := *sim
	r.ID, r.Mode, r.State, r.Simulation, r.ApprovedBy, r.CreatedAt = newID, batch.Apply, batch.Queued, id, "operador_b", s.now()
	r.StartedAt, r.FinishedAt, r.Summary = nil, nil, nil
	s.replays = append([]batch.Replay{r}, s.replays...)
	s.commanded = append(s.commanded, "approve "+id+" "+newID)
	return r, nil
}

// Diff returns a page.
func (s *Store) Diff(ctx context.Context, q batch.DiffQuery) ([]batch.DiffRow, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.order(q.Sort)
	place := func(i int) int {
		if q.Descending {
			return len(rows) - 1 - i
		}
		return i
	}
	start := 0
	if q.After != nil {
		for i := range rows {
			if rows[place(i)].OrderID == q.After.OrderID {
				start = i + 1
				break
			}
		}
	}
	var out []batch.DiffRow
	for i := start; i < len(rows) && len(out) < q.Limit; i++ {
		r := rows[place(i)]
		if strings.HasPrefix(r.OrderID, q.Prefix) && (!q.NewOnly || r.Before == nil) && (!q.ChangedOnly || r.Before != nil && *r.Before != r.After) {
			out = append(out, r)
		}
	}
	s.returned(len(out))
	return out, nil
}

func (s *Store) order(by batch.DiffSort) []batch.DiffRow {
	if rows, ok := s.sorted[by]; ok {
		return rows
	}
	rows := slices.Clone(s.diff)
	before := func(r batch.DiffRow) int64 {
		if r.Before == nil {
			return math.MinInt64 / 2
		}
		return *r.Before
	}
	slices.SortStableFunc(rows, func(a, b batch.DiffRow) int {
		c := 0
		switch by {
		case batch.ByBefore:
			c = cmp.Compare(before(a), before(b))
		case batch.ByAfter:
			c = cmp.Compare(a.After, b.After)
		case batch.ByDelta, batch.ByPercent:
			c = cmp.Compare(a.After-before(a), b.After-before(b))
		case batch.ByVersion:
			c = cmp.Compare(*a.AfterVersion, *b.AfterVersion)
		case batch.ByOrder:
		}
		return cmp.Or(c, strings.Compare(a.OrderID, b.OrderID))
	})
	s.sorted[by] = rows
	return rows
}

func (s *Store) totals() batch.DiffTotals {
	t := batch.DiffTotals{Told: 11_884}
	var fresh, before, after int64
	buckets := make([]int64, 8)
	edges := []int64{-1 << 40, -20_000, -5_000, 0, 5_000, 20_000, 50_000, 100_000, 1 << 40}
	for _, r := range s.diff {
		switch {
		case r.Before == nil:
			t.New++
			fresh += r.After
			continue
		case *r.Before == r.After:
			t.Same++
			continue
		}
		t.Changed++
		before += *r.Before
		after += r.After
		for i := range buckets {
			if d := r.After - *r.Before; d >= edges[i] && d < edges[i+1] {
				buckets[i]++
			}
		}
	}
	t.NewAfter, t.ChangedBefore, t.ChangedAfter = strconv.FormatInt(fresh, 10), strconv.FormatInt(before, 10), strconv.FormatInt(after, 10)
	edges[0], edges[8] = -80_000, 200_000
	for i, n := range buckets {
		t.Histogram = append(t.Histogram, batch.DiffBucket{From: edges[i], To: edges[i+1], Orders: n})
	}
	return t
}

// DiffTotals sums the diff up.
func (s *Store) DiffTotals(ctx context.Context, _ string) (batch.DiffTotals, error) {
	if err := s.call(ctx); err != nil {
		return batch.DiffTotals{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.totals(), nil
}

// Divergences lists effects that told another value.
func (s *Store) Divergences(ctx context.Context, _, after string, limit int) ([]batch.Divergence, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	var out []batch.Divergence
	for i := 100; i < 140 && len(out) < limit; i++ {
		d := batch.Divergence{
			Key: s.text(fmt.Sprintf("ev-%d:notificar-vendedor", 1000+i)), OrderID: s.text(fmt.Sprintf("P-%d", 1000+i)),
			Sent:      s.text(fmt.Sprintf(`{"pedidoId":"P-%d","valorCentavos":%d}`, 1000+i, i*7)),
			WouldSend: s.text(fmt.Sprintf(`{"pedidoId":"P-%d","valorCentavos":%d}`, 1000+i, i*70)),
		}
		if d.Key > after {
			out = append(out, d)
		}
	}
	return out, nil
}

// OrderHistory is every event of an order.
func (s *Store) OrderHistory(ctx context.Context, order string) ([]batch.Event, error) {
	if err := s.call(ctx); err != nil {
		return nil, err
	}
	var out []batch.Event
	for v := int64(1); v <= 3; v++ {
		ev := s.event(1042*10 + v)
		ev.OrderID, ev.Version = order, v
		out = append(out, ev)
	}
	return out, nil
}

// ExportDiff writes the diff.
func (s *Store) ExportDiff(ctx context.Context, _, format string, w io.Writer) error {
	if err := s.call(ctx); err != nil {
		return err
	}
	if format == "json" {
		return json.NewEncoder(w).Encode(s.diff)
	}
	for _, r := range s.diff {
		if _, err := fmt.Fprintf(w, "%s,%d\n", r.OrderID, r.After); err != nil {
			return err
		}
	}
	return nil
}
