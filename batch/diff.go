package batch

import "math/big"

// DiffRow is one order whose state a run changes, or would change.
type DiffRow struct {
	OrderID       string
	Before        *int64 // nil: a new order
	After         int64
	BeforeVersion *int64
	AfterVersion  *int64
}

// DiffSort is a column to order a diff by.
type DiffSort string

// The columns that a diff can be ordered by.
const (
	ByOrder   DiffSort = "pedido"
	ByDelta   DiffSort = "delta"
	ByBefore  DiffSort = "antes"
	ByAfter   DiffSort = "depois"
	ByPercent DiffSort = "percentual" // of the change; new orders and those from zero have none
	ByVersion DiffSort = "versao"     // of the event that gave the after side
)

// DiffQuery selects a page of a diff.
type DiffQuery struct {
	Execution   string
	Sort        DiffSort // "": ByOrder
	Descending  bool
	Prefix      string // of the order id
	NewOnly     bool
	ChangedOnly bool     // only rows whose value differs
	After       *DiffRow // the last row of the page before
	Limit       int      // 0: 100
}

// DiffTotals sums up a diff; new orders apart from changed ones, since a new one has no "before".
type DiffTotals struct {
	New, Changed, Same int64
	NewAfter           string // sums, exact: they may exceed 64 bits
	ChangedBefore      string
	ChangedAfter       string
	Histogram          []DiffBucket
	Told               int64 // effects whose content already went out with another value
}

// DiffBucket counts orders by the size of their change.
type DiffBucket struct {
	From, To int64 // of depois - antes, in cents; [From, To)
	Orders   int64
}

// Divergence is an effect whose content already went out with another value.
type Divergence struct {
	Key, OrderID    string
	Sent, WouldSend string // JSON
}

// Delta is After - Before (0 for a new order), exact: it may exceed 64 bits.
func (r DiffRow) Delta() string {
	d := big.NewInt(r.After)
	if r.Before != nil {
		d.Sub(d, big.NewInt(*r.Before))
	}
	return d.String()
}
