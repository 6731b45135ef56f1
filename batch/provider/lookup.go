package provider

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"reprise.dev/reprise/ledger"
)

const keyPlaceholder = "{key}"

// LookUp asks the provider what it did with a key; it counts for the rate. Only a status that the contract lists is
// an answer; all else, an outage above all, is [ledger.Unreachable]. The error is for a provider that cannot be
// asked, or an ended context.
func (p *Provider) LookUp(ctx context.Context, key string) (ledger.LookUpAnswer, error) {
	if p.LookUpURL == "" {
		return ledger.LookUpAnswer{}, fmt.Errorf("look up %s: provider %s has no look_up_url", key, p.Name)
	}
	if err := p.waitForRate(ctx); err != nil {
		return unreachable(ctx, err)
	}
	asked, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	// Escaped so that it is the same in a path and in a query.
	escaped := strings.ReplaceAll(url.QueryEscape(key), "+", "%20")
	request, err := http.NewRequestWithContext(asked, http.MethodGet, strings.ReplaceAll(p.LookUpURL, keyPlaceholder, escaped), nil)
	if err != nil {
		return ledger.LookUpAnswer{}, fmt.Errorf("look up %s: look_up_url is not a URL", key)
	}
	request.Header = p.header.Clone()
	request.Header.Del("Content-Type")
	response, err := p.transport.RoundTrip(request)
	if err != nil {
		return unreachable(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, _, err := readAnswer(response.Body)
	if err != nil {
		return unreachable(ctx, err)
	}
	out := ledger.LookUpAnswer{Verdict: ledger.Unreachable, Answer: answer, Detail: "status " + response.Status}
	switch {
	case slices.Contains(p.LookUpFound, response.StatusCode):
		out.Verdict = ledger.Found
	case slices.Contains(p.LookUpNotFound, response.StatusCode):
		out.Verdict = ledger.NotFound
	}
	return out, nil
}

func unreachable(ctx context.Context, err error) (ledger.LookUpAnswer, error) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ledger.LookUpAnswer{}, ctx.Err()
	}
	return ledger.LookUpAnswer{Verdict: ledger.Unreachable, Detail: err.Error()}, nil
}
