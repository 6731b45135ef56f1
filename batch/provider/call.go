package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"

	"reprise.dev/reprise/ledger"
	"reprise.dev/reprise/schema/failpoint"
)

// Reasons of failures, as they are stored. An answer with another status is "resposta-" and the status.
const (
	ReasonNoAnswer    = "sem-resposta"        // none in time
	ReasonInterrupted = "interrompida"        // we stopped waiting
	ReasonDropped     = "conexao-caiu"        // the connection broke before an answer
	ReasonGarbled     = "resposta-invalida"   // an answer that is not HTTP
	ReasonIncomplete  = "resposta-incompleta" // a 2xx whose body did not end
	ReasonNoReceipt   = "sem-recibo"          // a 2xx without the receipt that was required
	ReasonBadKey      = "chave-invalida"      // no header can carry the key; nothing was sent, and never will be
)

// Call posts the content once. The transport neither follows redirects nor sends twice.
func (p *Provider) Call(ctx context.Context, _ string, a ledger.Attempt) (answer json.RawMessage, err error) {
	if !validValue(a.Key) {
		return nil, ledger.RefusedBy(ReasonBadKey, nil)
	}
	done, err := p.breaker.Allow()
	if err != nil {
		return nil, ledger.NotSent(err)
	}
	defer func() { done(err) }()
	return p.post(ctx, a)
}

func (p *Provider) post(ctx context.Context, a ledger.Attempt) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	var used atomic.Pointer[conn]
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		c := info.Conn.(*conn)
		c.begin()
		used.Store(c)
	}, WroteRequest: func(httptrace.WroteRequestInfo) { failpoint.Hit(failpoint.RequestWritten) }})
	header := p.header.Clone()
	header.Set(p.KeyHeader, a.Key)
	request := (&http.Request{
		Method: http.MethodPost, URL: p.url, Host: p.url.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		// Without GetBody the transport cannot send it a second time, as it does with others that carry an Idempotency-Key.
		Body: io.NopCloser(bytes.NewReader(a.Content)), ContentLength: int64(len(a.Content)),
	}).WithContext(ctx)

	response, err := p.transport.RoundTrip(request)
	if err != nil {
		return nil, failure(ctx, used.Load(), err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, whole, err := readAnswer(response.Body)
	return p.judge(ctx, response.StatusCode, answer, whole, err)
}

// failure classifies a round trip that brought no answer.
func failure(ctx context.Context, c *conn, err error) error {
	if c == nil || !c.seal() {
		return ledger.NotSent(err)
	}
	return &ledger.AmbiguousError{Reason: reasonOf(ctx, c, err), Err: err}
}

func reasonOf(ctx context.Context, c *conn, err error) string {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return ReasonNoAnswer
	case ctx.Err() != nil:
		return ReasonInterrupted
	case c.answered() && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET):
		return ReasonGarbled
	default:
		return ReasonDropped
	}
}

// judge classifies an answer by its status, as configured; a listed status is definite whatever its body.
func (p *Provider) judge(ctx context.Context, status int, answer json.RawMessage, whole bool, err error) (json.RawMessage, error) {
	reason := "resposta-" + strconv.Itoa(status)
	switch {
	case slices.Contains(p.NotSentStatuses, status):
		// The ledger calls again without asking for the rate: this waits for that call's turn.
		_, wait := p.takeTurn(math.MaxInt64)
		pause(ctx, wait)
		return nil, ledger.NotSent(fmt.Errorf(remarkAnswered, status))
	case slices.Contains(p.RefusedStatuses, status):
		return nil, ledger.RefusedBy(reason, answer)
	case status < 200 || status > 299:
		return nil, &ledger.AmbiguousError{Reason: reason, Answer: answer, Err: err}
	case err != nil:
		return nil, &ledger.AmbiguousError{Reason: ReasonIncomplete, Answer: answer, Err: err}
	case p.Receipt != "" && !(whole && hasReceipt(answer, p.Receipt)):
		return nil, &ledger.AmbiguousError{Reason: ReasonNoReceipt, Answer: answer}
	default:
		return answer, nil
	}
}
