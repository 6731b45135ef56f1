package schema

import (
	"errors"
	"testing"
)

func TestUnverifiedTLSToAnotherHostNeedsANamedException(t *testing.T) {
	for name, test := range map[string]struct {
		url     string
		refused bool
	}{
		"another host, nothing said":           {"postgres://u:p@db.example/d", true},
		"another address, nothing said":        {"postgres://u:p@192.0.2.7:5433/d", true},
		"the same as settings":                 {"host=db.example user=u dbname=d", true},
		"only one of two hosts is local":       {"postgres://u:p@localhost,db.example/d", true},
		"sslmode inside a quoted password":     {`host=db.example password='x sslmode=disable'`, true},
		"sslmode inside an escaped password":   {`host=db.example password=x\ sslmode=disable`, true},
		"sslmode empty":                        {"postgres://u:p@db.example/d?sslmode=", true},
		"verified fully":                       {"postgres://u:p@db.example/d?sslmode=verify-full", false},
		"encrypted, named":                     {"postgres://u:p@db.example/d?sslmode=require", false},
		"if possible, named":                   {"postgres://u:p@db.example/d?sslmode=prefer", false},
		"plain, named":                         {"postgres://u:p@db.example/d?sslmode=disable", false},
		"plain, named as a setting":            {"host=db.example sslmode=disable", false},
		"plain, named after a quoted password": {`host=db.example password='it\'s' sslmode = disable`, false},
		"this machine by name":                 {"postgres://u:p@localhost/d", false},
		"this machine by address":              {"postgres://u:p@127.0.0.1/d", false},
		"this machine by another address":      {"postgres://u:p@127.3.2.1/d", false},
		"this machine, IPv6":                   {"postgres://u:p@[::1]/d", false},
		"a socket":                             {"postgres:///d?host=/run/postgresql", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(test.url)
			if test.refused && !errors.Is(err, ErrUnverifiedTLS) {
				t.Errorf("got %v, want ErrUnverifiedTLS", err)
			}
			if !test.refused && err != nil {
				t.Errorf("got %v, want it accepted", err)
			}
		})
	}
}

func TestVerificationFromTheEnvironmentCounts(t *testing.T) {
	t.Setenv("PGSSLMODE", "verify-full")
	if _, err := parse("postgres://u:p@db.example/d"); err != nil {
		t.Errorf("verify-full in PGSSLMODE: %v", err)
	}
	// An exception is named in the URL, where whoever reads the configuration sees it.
	t.Setenv("PGSSLMODE", "disable")
	if _, err := parse("postgres://u:p@db.example/d"); !errors.Is(err, ErrUnverifiedTLS) {
		t.Errorf("disable in PGSSLMODE: got %v, want ErrUnverifiedTLS", err)
	}
}
