package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"reprise.dev/reprise/batch"
)

// serveMetrics serves what a monitoring system watches, if the configuration says where.
func (a *app) serveMetrics(engine *batch.Engine) (stop func(), err error) {
	address := a.config.Metrics.Listen
	if address == "" {
		return func() {}, nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(batch.NewCollector(engine.Store))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, usageError{fmt.Errorf("metrics.listen: %w", err)}
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.log.Error("metrics", "error", err)
		}
	}()
	a.log.Info("metrics", "address", "http://"+listener.Addr().String()+"/metrics")
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx)
	}, nil
}
