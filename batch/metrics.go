package batch

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// NewCollector makes the runner's metrics; they are read from the database when they are asked for, so that every
// host answers alike.
func NewCollector(s *Store) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("reprise_"+name, help, labels, nil)
	}
	return &collector{
		store:     s,
		replays:   desc("replays", "Replays that are not finished, by state.", "state"),
		reserved:  desc("effects_reserved", "Effects that are reserved (counted up to 100,000)."),
		oldest:    desc("effects_reserved_oldest_seconds", "Age of the oldest reservation."),
		uncertain: desc("effects_uncertain", "Effects that wait for review (counted up to 100,000)."),
		position:  desc("live_position", "Checkpoint of the live consumer."),
		archive:   desc("archive_position", "Last position of the archive."),
		failed:    desc("scrape_failed", "1 if the database could not be asked."),
	}
}

type collector struct {
	store                                                           *Store
	replays, reserved, oldest, uncertain, position, archive, failed *prometheus.Desc
}

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.replays, c.reserved, c.oldest, c.uncertain, c.position, c.archive, c.failed} {
		ch <- d
	}
}

const metricsSQL = `
	select (select count(*) from (select 1 from efeito_aplicado where estado = 'reservado' limit 100000) r),
		(select coalesce(extract(epoch from clock_timestamp() - min(atualizado_em)), 0)::float8 from (
			select atualizado_em from efeito_aplicado where estado = 'reservado' order by atualizado_em, chave limit 1) o),
		(select count(*) from (select 1 from efeito_aplicado where estado = 'incerto' limit 100000) u),
		coalesce((select ultima_posicao from reprocessamento_checkpoint where execucao_id = 'ao-vivo' and particao = 0), 0),
		coalesce((select max(posicao) from evento_arquivado), 0)`

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	var reserved, uncertain, position, archive int64
	var oldest float64
	if err := c.store.pool.QueryRow(ctx, metricsSQL).Scan(&reserved, &oldest, &uncertain, &position, &archive); err != nil {
		gauge(c.failed, 1)
		return
	}
	counts := map[State]float64{Queued: 0, Running: 0, Paused: 0}
	rows, err := c.store.pool.Query(ctx, `select estado, count(*) from reprocessamento where estado in ('enfileirado', 'executando', 'pausado') group by estado`)
	if err != nil {
		gauge(c.failed, 1)
		return
	}
	defer rows.Close()
	for rows.Next() {
		var state State
		var n int64
		if err := rows.Scan(&state, &n); err != nil {
			gauge(c.failed, 1)
			return
		}
		counts[state] = float64(n)
	}
	for state, n := range counts {
		gauge(c.replays, n, string(state))
	}
	gauge(c.failed, 0)
	gauge(c.reserved, float64(reserved))
	gauge(c.oldest, oldest)
	gauge(c.uncertain, float64(uncertain))
	gauge(c.position, float64(position))
	gauge(c.archive, float64(archive))
}
