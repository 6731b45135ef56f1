package faultprovider

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// The provider's limits.
const (
	maxBody = 64 << 20         // bytes of an effect's content
	maxHang = 10 * time.Minute // after which an answer that never comes is given up
)

// ServeHTTP takes effects as POST requests on any path, and answers about itself:
//
//	GET  /_counts        totals
//	GET  /_counts/KEY    one key
//	GET  /_deliveries    every key, an object a line
//	GET  /lookup/KEY     200 if it acted on the key, 404 if not
//	GET, PUT /_faults    the rules
//	POST /_reset         forget everything but the rules
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch {
	case r.Method == http.MethodGet && path == "/_counts":
		answer(w, http.StatusOK, p.Totals())
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/_counts/"):
		answer(w, http.StatusOK, p.Count(strings.TrimPrefix(path, "/_counts/")))
	case r.Method == http.MethodGet && path == "/_deliveries":
		p.list(w)
	case r.Method == http.MethodGet && strings.HasPrefix(path, "/lookup/"):
		p.lookUp(w, strings.TrimPrefix(path, "/lookup/"))
	case r.Method == http.MethodGet && path == "/_faults":
		answer(w, http.StatusOK, p.Rules())
	case r.Method == http.MethodPut && path == "/_faults":
		p.setFaults(w, r)
	case r.Method == http.MethodPost && path == "/_reset":
		p.Reset()
	case r.Method == http.MethodPost && !strings.HasPrefix(path, "/_"):
		p.deliver(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (p *Provider) list(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	for _, key := range p.Keys() {
		if err := enc.Encode(p.Count(key)); err != nil {
			return
		}
	}
}

func (p *Provider) lookUp(w http.ResponseWriter, key string) {
	c := p.Count(key)
	if c.Delivered == 0 {
		refuse(w, http.StatusNotFound, "unknown key")
		return
	}
	answer(w, http.StatusOK, c)
}

func (p *Provider) setFaults(w http.ResponseWriter, r *http.Request) {
	var rules []Rule
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	dec.DisallowUnknownFields()
	err := dec.Decode(&rules)
	for _, rule := range rules {
		if err == nil {
			err = rule.check()
		}
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	p.SetRules(rules...)
	answer(w, http.StatusOK, p.Rules())
}

func (p *Provider) deliver(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get(p.options.KeyHeader)
	if key == "" {
		refuse(w, http.StatusBadRequest, p.options.KeyHeader+" is missing")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	d := p.take(key, body)
	pause(r, d.delay)
	switch d.fault {
	case Hang, ActThenHang:
		pause(r, maxHang)
		reset(w)
	case Drop, ActThenDrop:
		reset(w)
	case Empty:
		w.WriteHeader(http.StatusOK)
	case OK:
		answer(w, http.StatusOK, receipt{fmt.Sprintf("r-%08x", uint32(chance(1, key, 0)*(1<<32))), key})
	default:
		refuse(w, d.fault.status(), string(d.fault))
	}
}

type receipt struct {
	Receipt string `json:"recibo"`
	Key     string `json:"chave"`
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, why string) {
	answer(w, status, map[string]string{"erro": why})
}

// pause waits, at most until the client leaves.
func pause(r *http.Request, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
}

// reset cuts the connection so that the client sees a reset, not an orderly end.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // no connection of its own to cut; returning would be a 200
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
