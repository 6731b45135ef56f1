package batch

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// statedEvent is an event whose state is written while the checkpoint still waits for its effects. It is kept with
// the checkpoint, so that a slice that carries on neither writes nor counts the state a second time.
type statedEvent struct {
	position int64
	fate     fate
}

// encodeStated stores each event as the distance to the one before and what became of its state; nil if there
// is none.
func encodeStated(events []statedEvent) []byte {
	if len(events) == 0 {
		return nil
	}
	b := make([]byte, 0, 2*len(events)+8)
	before := int64(0)
	for _, e := range events {
		b = append(binary.AppendVarint(b, e.position-before), byte(e.fate))
		before = e.position
	}
	return b
}

var errStated = errors.New("reprocessamento_checkpoint.destinos is damaged")

func decodeStated(b []byte) ([]statedEvent, error) {
	var events []statedEvent
	position := int64(0)
	for len(b) > 0 {
		distance, n := binary.Varint(b)
		if n <= 0 || n == len(b) {
			return nil, errStated
		}
		position += distance
		events = append(events, statedEvent{position, fate(b[n])})
		b = b[n+1:]
	}
	return events, nil
}

// statedAfter are the events behind a position.
func statedAfter(events []statedEvent, position int64) []statedEvent {
	i, _ := slices.BinarySearchFunc(events, position+1, func(e statedEvent, p int64) int { return cmp.Compare(e.position, p) })
	return events[i:]
}

// stateBatch is how many events' state is written in one transaction at least, if there are more.
const stateBatch = 1000

// writeState writes the state of the chunk's events where that is not done yet, and notes with the checkpoint what
// became of each. A large chunk takes a transaction for each part of the orders, and slices of this process take turns
// at a part: otherwise those that write the same orders would wait for each other in the database.
func (e *Engine) writeState(ctx context.Context, r *run, c *claim, chunk []projected) error {
	known := c.stated
	var fresh [parts][]*projected
	n := 0
	for i := range chunk {
		p := &chunk[i]
		if p.fate == passed || p.fate == poison {
			continue
		}
		if known = statedAfter(known, p.position-1); len(known) > 0 && known[0].position == p.position {
			p.fate = known[0].fate
		} else {
			fresh[partOf(p.order)] = append(fresh[partOf(p.order)], p)
			n++
		}
	}
	if n < stateBatch*parts {
		fresh = [parts][]*projected{slices.Concat(fresh[:]...)}
	}
	left := make([]int, 0, parts)
	for n := range parts {
		if len(fresh[n]) > 0 {
			left = append(left, n)
		}
	}
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(n int) bool { return e.turns[n].TryLock() })
		if i < 0 {
			i = 0
			e.turns[left[i]].Lock()
		}
		err := e.inTx(ctx, func(tx pgx.Tx) error {
			if err := applyState(ctx, tx, r.handler.State(), c, r.live, fresh[left[i]]); err != nil {
				return err
			}
			return noteState(ctx, tx, c, chunk)
		})
		e.turns[left[i]].Unlock()
		if err != nil {
			return err
		}
		left = slices.Delete(left, i, i+1)
	}
	return nil
}

func noteState(ctx context.Context, tx pgx.Tx, c *claim, chunk []projected) error {
	stated := make([]statedEvent, 0, len(chunk))
	for i := range chunk {
		if f := chunk[i].fate; f != unprojected && f != passed && f != poison {
			stated = append(stated, statedEvent{chunk[i].position, f})
		}
	}
	stated = append(stated, statedAfter(c.stated, chunk[len(chunk)-1].position)...)
	tag, err := tx.Exec(ctx, `
		update reprocessamento_checkpoint set destinos = $4
		where execucao_id = $1 and particao = $2 and epoca = $3`, c.execution, c.partition, c.epoch, encodeStated(stated))
	if err != nil {
		return fmt.Errorf("note the state of partition %d of %s: %w", c.partition, c.execution, err)
	}
	if tag.RowsAffected() == 0 {
		return errFenced
	}
	c.stated = stated
	return nil
}
