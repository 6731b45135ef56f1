package seedsql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The consumer's vocabulary.
const (
	Live         = "ao-vivo"
	OrderPaid    = "pedido.pago"
	NotifySeller = "notificar-vendedor"

	Apply    = "aplicar"
	Suppress = "suprimir"
	Release  = "liberar" // the provider deduplicates by key
	Keep     = "manter"  // it does not
)

// Rule is how one kind of effect is treated.
type Rule struct {
	Mode      string // Apply or Suppress
	OnFailure string // Release or Keep
}

// Policy maps kinds of effect to rules; a kind without one is suppressed.
type Policy map[string]Rule

// Event is what the consumer reads.
type Event struct {
	ID      string
	Type    string
	Order   string
	Version int64
	Payload json.RawMessage // {"valorCentavos": integer, "percentual": number}
}

// Consumer applies events. Live consumer and replay of old are the same code, under another Execution.
type Consumer struct {
	Pool      *pgxpool.Pool
	Gateway   func(ctx context.Context, key string, body []byte) error // the provider
	Execution string
	Policy    Policy
	Simulate  bool
	// Observe, unless nil, is told what became of state ("estado") and of each kind of effect.
	Observe func(what, outcome string)
}

// Apply processes one event. It returns the provider's error where the policy is Release, as the caller is to
// try again, and the database's errors.
func (c Consumer) Apply(ctx context.Context, event Event) error {
	if event.Type != OrderPaid {
		return nil
	}
	value, err := commission(event.Payload)
	if err != nil {
		return err
	}
	if c.Simulate {
		err = c.recordDiff(ctx, event, value)
	} else {
		err = c.saveCommission(ctx, event, value)
	}
	if err != nil {
		return err
	}
	return c.effect(ctx, event, NotifySeller, func(key string) error {
		body, err := json.Marshal(map[string]any{"pedidoId": event.Order, "valorCentavos": value})
		if err != nil {
			return err
		}
		return c.Gateway(ctx, key, body)
	})
}

func (c Consumer) saveCommission(ctx context.Context, event Event, value int64) error {
	tag, err := c.Pool.Exec(ctx, SaveCommission, event.Order, value, event.Version)
	if err != nil {
		return fmt.Errorf("save commission of %s: %w", event.Order, err)
	}
	if tag.RowsAffected() == 1 {
		c.observe("estado", "gravado")
	} else {
		c.observe("estado", "ignorado-versao-mais-nova")
	}
	return nil
}

func (c Consumer) recordDiff(ctx context.Context, event Event, value int64) error {
	var before *int64
	var current, version int64
	err := c.Pool.QueryRow(ctx, ReadCommission, event.Order).Scan(&current, &version)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return fmt.Errorf("read commission of %s: %w", event.Order, err)
	case version > event.Version:
		return nil
	default:
		before = &current
	}
	if _, err := c.Pool.Exec(ctx, SaveDiff, c.Execution, event.Order, before, value); err != nil {
		return fmt.Errorf("save diff of %s: %w", event.Order, err)
	}
	return nil
}

func (c Consumer) effect(ctx context.Context, event Event, kind string, do func(key string) error) error {
	rule, known := c.Policy[kind]
	key := event.ID + ":" + kind
	if !known || rule.Mode == Suppress {
		c.observe(kind, "suprimido")
		return nil
	}
	if c.Simulate {
		tag, err := c.Pool.Exec(ctx, LookUp, key)
		if err != nil {
			return fmt.Errorf("look up %s: %w", key, err)
		}
		if tag.RowsAffected() > 0 {
			c.observe(kind, "ja-registrado")
		} else {
			c.observe(kind, "seria-aplicado")
		}
		return nil
	}
	reservation, err := c.Pool.Exec(ctx, Reserve, key, event.ID, kind, c.Execution, rule.OnFailure == Release)
	if err != nil {
		return fmt.Errorf("reserve %s: %w", key, err)
	}
	if reservation.RowsAffected() == 0 {
		c.observe(kind, "ja-registrado")
		return nil
	}
	if failure := c.callAndComplete(ctx, key, do); failure != nil {
		return c.fail(ctx, key, kind, rule, failure)
	}
	c.observe(kind, "aplicado")
	return nil
}

// callAndComplete is one unit for the consumer: a completion that could not be written counts as a failure.
func (c Consumer) callAndComplete(ctx context.Context, key string, do func(key string) error) error {
	if err := do(key); err != nil {
		return err
	}
	_, err := c.Pool.Exec(ctx, Complete, key, "null")
	return err
}

func (c Consumer) fail(ctx context.Context, key, kind string, rule Rule, failure error) error {
	if rule.OnFailure == Release {
		if _, err := c.Pool.Exec(ctx, GiveBack, key); err != nil {
			return fmt.Errorf("give back %s: %w", key, err)
		}
		return failure
	}
	if _, err := c.Pool.Exec(ctx, Doubt, key); err != nil {
		return fmt.Errorf("doubt %s: %w", key, err)
	}
	c.observe(kind, "incerto")
	return nil
}

func (c Consumer) observe(what, outcome string) {
	if c.Observe != nil {
		c.Observe(what, outcome)
	}
}

// commission rounds as JavaScript does: halves upwards.
func commission(payload json.RawMessage) (int64, error) {
	var order struct {
		Cents   *int64   `json:"valorCentavos"`
		Percent *float64 `json:"percentual"`
	}
	if err := json.Unmarshal(payload, &order); err != nil || order.Cents == nil || order.Percent == nil {
		return 0, errors.New("payload de pedido.pago invalido")
	}
	return int64(math.Floor(float64(*order.Cents)**order.Percent/100 + 0.5)), nil
}
