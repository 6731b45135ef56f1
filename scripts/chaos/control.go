package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os/exec"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// naiveVariable makes this program the naive applier that the control runs: a consumer as they are written, one event
// after the other. It notes how far it came after each call, and nothing before.
const naiveVariable = "REPRISE_CHAOS_NAIVE"

const naiveSQL = `create table chaos_ingenuo (parte int primary key, ultima_posicao bigint not null)`

type naiveTask struct {
	Database, Provider string
	Part, Parts        int
}

func naiveCommand(program, database, provider string, part, parts int) *exec.Cmd {
	task, _ := json.Marshal(naiveTask{database, provider, part, parts}) // it has nothing that cannot be written
	cmd := exec.Command(program)
	cmd.Env = []string{naiveVariable + "=" + string(task)}
	return cmd
}

// naive works until it is ended, or the database fails it.
func naive(text string) error {
	var t naiveTask
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, t.Database)
	if err != nil {
		return err
	}
	var position int64
	err = conn.QueryRow(ctx, `
		insert into chaos_ingenuo values ($1, 0) on conflict (parte) do update set parte = excluded.parte returning ultima_posicao`, t.Part).Scan(&position)
	if err != nil {
		return err
	}
	for {
		var id, order string
		var cents, percent float64
		err := conn.QueryRow(ctx, `
			select posicao, id, pedido_id, (payload->>'valorCentavos')::float8, (payload->>'percentual')::float8 from evento_arquivado
			where posicao > $1 and posicao % $2 = $3 and tipo = 'pedido.pago' and jsonb_typeof(payload->'valorCentavos') = 'number' and payload ? 'percentual'
			order by posicao limit 1`, position, t.Parts, t.Part).Scan(&position, &id, &order, &cents, &percent)
		if errors.Is(err, pgx.ErrNoRows) {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		t.tell(ctx, id, order, int64(math.Floor(cents*percent/100+0.5)))
		if _, err := conn.Exec(ctx, `update chaos_ingenuo set ultima_posicao = $2 where parte = $1`, t.Part, position); err != nil {
			return err
		}
	}
}

// tell calls the provider, and tries again when that fails.
func (t naiveTask) tell(ctx context.Context, id, order string, cents int64) {
	client := http.Client{Timeout: callTimeout}
	for range 3 {
		body := fmt.Sprintf(`{"pedidoId":%q,"valorCentavos":%d}`, order, cents)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Provider+"/notify", strings.NewReader(body))
		if err != nil {
			return
		}
		r.Header.Set("Idempotency-Key", id+":"+notify)
		answer, err := client.Do(r)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode < 300 || answer.StatusCode == http.StatusUnprocessableEntity {
			return
		}
	}
}
