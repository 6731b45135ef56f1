package schema

import (
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// parse reads a database URL, or a string of "name=value" settings. Its errors never repeat what they read:
// where a URL is malformed, any part of it may be the password.
func parse(text string) (*pgxpool.Config, error) {
	if text == "" {
		return nil, fmt.Errorf("%w: it is empty", ErrURL)
	}
	if isURL(text) {
		if err := checkUserinfo(text); err != nil {
			return nil, err
		}
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%w: it must look like postgres://user:password@host:5432/database?sslmode=verify-full, "+
			"with special characters in the password percent-encoded (%%40 for @, %%25 for %%), and with valid settings", ErrURL)
	}
	if !namesTLS(text) && !verified(&config.ConnConfig.Config) {
		return nil, ErrUnverifiedTLS
	}
	return config, nil
}

func isURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// checkUserinfo refuses a password whose special characters would end it early. The rest of it would be
// taken for a host, a database or a setting, and those do appear in messages.
func checkUserinfo(text string) error {
	_, rest, _ := strings.Cut(text, "://")
	at := strings.LastIndexByte(rest, '@')
	if at >= 0 && strings.ContainsAny(rest[:at], "/?# \t\r\n") {
		return fmt.Errorf("%w: percent-encode '/', '?', '#' and blanks before the '@' (%%2F, %%3F, %%23, %%20), and any other '@' (%%40)", ErrURL)
	}
	return nil
}

var (
	escapedOrQuoted = regexp.MustCompile(`\\.|'(?:\\.|[^'\\])*'`)
	sslmodeSetting  = regexp.MustCompile(`(?:^|\s)sslmode\s*=`)
)

// namesTLS reports whether the text itself says which sslmode to use.
func namesTLS(text string) bool {
	if !isURL(text) {
		return sslmodeSetting.MatchString(escapedOrQuoted.ReplaceAllString(text, "x"))
	}
	u, err := url.Parse(text)
	return err == nil && u.Query().Get("sslmode") != ""
}

// bounded reports whether the text itself says how many connections there may be.
func bounded(text string) bool {
	config, err := pgx.ParseConfig(text)
	return err == nil && config.RuntimeParams["pool_max_conns"] != ""
}

// verified reports whether every way to connect either stays on this machine or checks who answers.
func verified(config *pgconn.Config) bool {
	ways := append([]*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, way := range ways {
		if local(way.Host) {
			continue
		}
		tls := way.TLSConfig
		if tls == nil || tls.InsecureSkipVerify && tls.VerifyPeerCertificate == nil && tls.VerifyConnection == nil {
			return false
		}
	}
	return true
}

// local reports whether a host is a socket directory or the loopback interface.
func local(host string) bool {
	if strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
