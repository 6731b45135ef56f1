package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reprise.dev/reprise/batch/faultprovider"
)

func newProvider(a *app) *cobra.Command {
	var (
		o        faultprovider.Options
		listen   string
		portFile string
		faults   []string
	)
	c := &cobra.Command{
		Use:   "provider",
		Short: "A local provider that fails as it is told and counts what it really delivered, per key",
		Long: "For demonstrations and tests. It takes effects as POST requests, counts requests and deliveries per idempotency key, and fails as --fault says: " +
			"NAME[:SHARE[:MATCH]], with NAME one of " + faultNames() + " or delay=DURATION, SHARE the part of requests (0.01 is one in a hundred), " +
			"MATCH a part of the key. What it counted can be read over HTTP (/_counts, /_deliveries, /lookup/KEY) or with the subcommands.",
		Example: "  reprise provider --fault act-then-hang:0.01 --seed 7\n  reprise provider counts http://127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Window < 0 || o.Delay < 0 {
				return usageError{errors.New("--window and --delay are not negative")}
			}
			if o.Window > 0 && !o.Dedup && !o.CacheErrors {
				return usageError{errors.New("--window says when a provider that deduplicates forgets: it needs --dedup or --cache-errors")}
			}
			var err error
			if o.Rules, err = parseRules(faults); err != nil {
				return err
			}
			server, err := faultprovider.Listen(listen, o)
			if err != nil {
				return usageError{err}
			}
			if portFile != "" {
				if err := writeWhole(portFile, server.URL+"\n"); err != nil {
					server.Close()
					return fmt.Errorf("write the URL: %w", err)
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "provider listening on %s\n", server.URL)
			err = server.Wait(cmd.Context())
			printTotals(cmd.OutOrStdout(), server.Totals())
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:0", "loopback address to listen on")
	f.StringVar(&portFile, "port-file", "", "write the URL to this file, for scripts")
	f.BoolVar(&o.Dedup, "dedup", false, "a second request with a key has no effect")
	f.DurationVar(&o.Window, "window", 0, "with --dedup or --cache-errors: keys are forgotten after this (0: never)")
	f.BoolVar(&o.CacheErrors, "cache-errors", false, "the first answer for a key is repeated, errors included")
	f.StringVar(&o.KeyHeader, "key-header", "Idempotency-Key", "header that carries the key")
	f.BoolVar(&o.KeepBodies, "keep-bodies", false, "remember the bodies of each key")
	f.DurationVar(&o.Delay, "delay", 0, "before every answer")
	f.Uint64Var(&o.Seed, "seed", 0, "of the shares")
	f.StringArrayVar(&faults, "fault", nil, "NAME[:SHARE[:MATCH]] (may be repeated; the first that applies counts)")
	c.AddCommand(newProviderCounts(a), newProviderFaults(), newProviderDelivered(a))
	return c
}

// writeWhole puts text in a file at once: a script that waits for the file never reads half of it.
func writeWhole(path, text string) error {
	draft := path + ".new"
	if err := os.WriteFile(draft, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(draft, path)
}

func faultNames() string {
	names := make([]string, len(faultprovider.Faults))
	for i, f := range faultprovider.Faults {
		names[i] = string(f)
	}
	return strings.Join(names, ", ")
}

func parseRules(texts []string) ([]faultprovider.Rule, error) {
	rules := make([]faultprovider.Rule, 0, len(texts))
	for _, text := range texts {
		r, err := faultprovider.ParseRule(text)
		if err != nil {
			return nil, usageError{err}
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func newProviderCounts(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "counts URL", Short: "What the provider counted", Example: "  reprise provider counts http://127.0.0.1:8080 --json", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var t faultprovider.Totals
			if err := askProvider(cmd.Context(), http.MethodGet, args[0], "/_counts", nil, &t); err != nil {
				return err
			}
			if a.json {
				return printJSON(cmd.OutOrStdout(), t)
			}
			printTotals(cmd.OutOrStdout(), t)
			return nil
		},
	}
}

func newProviderFaults() *cobra.Command {
	return &cobra.Command{
		Use: "faults URL [NAME[:SHARE[:MATCH]]…]", Short: "Replace the faults of a running provider; none given: it is well again", Args: cobra.MinimumNArgs(1),
		Example: "  reprise provider faults http://127.0.0.1:8080 act-then-drop:0.02",
		RunE: func(cmd *cobra.Command, args []string) error {
			rules, err := parseRules(args[1:])
			if err != nil {
				return err
			}
			body, err := json.Marshal(rules)
			if err != nil {
				return err
			}
			if err := askProvider(cmd.Context(), http.MethodPut, args[0], "/_faults", body, &rules); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d faults in force\n", len(rules))
			return nil
		},
	}
}

func newProviderDelivered(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "delivered URL KEY", Short: "Whether the provider acted on a key: exit 0 if it did, 3 if not", Args: cobra.ExactArgs(2),
		Example: "  reprise provider delivered http://127.0.0.1:8080 ev-17:notificar-vendedor",
		RunE: func(cmd *cobra.Command, args []string) error {
			var about faultprovider.Count
			if err := askProvider(cmd.Context(), http.MethodGet, args[0], "/_counts/"+url.PathEscape(args[1]), nil, &about); err != nil {
				return err
			}
			if a.json {
				if err := printJSON(cmd.OutOrStdout(), about); err != nil {
					return err
				}
			} else {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %d requests, %d deliveries\n", printable(args[1]), about.Requests, about.Delivered)
			}
			if about.Delivered == 0 {
				return silent(exitPartial)
			}
			return nil
		},
	}
}

// askProvider calls a running provider at base, e.g. http://127.0.0.1:8080, and reads its JSON answer.
func askProvider(ctx context.Context, method, base, path string, body []byte, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return usageError{fmt.Errorf("%q is not the URL of a provider: give what it printed, e.g. http://127.0.0.1:8080", base)}
	}
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(base, "/")+path, bytes.NewReader(body))
	if err != nil {
		return usageError{err}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return fmt.Errorf("provider answered %s: %s", answer.Status, text)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

func printTotals(w io.Writer, t faultprovider.Totals) {
	fmt.Fprintf(w, "requests %d, keys %d, deliveries %d, keys delivered more than once %d\n", t.Requests, t.Keys, t.Deliveries, t.Twice)
	for _, f := range faultprovider.Faults {
		if n := t.Faults[f]; n > 0 && f != faultprovider.OK {
			fmt.Fprintf(w, "  %-14s %d\n", f, n)
		}
	}
}
