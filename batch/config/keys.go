package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// fill sets each field that the file does not define to its default.
func fill[T any](v *T, def T, defined func(key string) bool) {
	to, from := reflect.ValueOf(v).Elem(), reflect.ValueOf(def)
	for i := range to.NumField() {
		if !defined(to.Type().Field(i).Tag.Get("toml")) {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// fillZero sets each zero field to its default; for tables of which a file has an unnamed list.
func fillZero[T any](v *T, def T) {
	to, from := reflect.ValueOf(v).Elem(), reflect.ValueOf(def)
	for i := range to.NumField() {
		if to.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
}

// knownKeys are the last parts of all keys.
func knownKeys() []string {
	var keys []string
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			key := f.Tag.Get("toml")
			if key == "-" {
				continue
			}
			keys = append(keys, key)
			inner := f.Type
			for inner.Kind() == reflect.Map || inner.Kind() == reflect.Slice {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				walk(inner)
			}
		}
	}
	walk(reflect.TypeOf(Config{}))
	return keys
}

// overrideFromEnvironment lets REPRISE_ZONE, REPRISE_RUN_WORKERS and so on override single values. A variable
// that begins with REPRISE_ and one of the tables' names, and names no key, is refused.
func overrideFromEnvironment(c *Config, environ []string) error {
	fields := map[string]reflect.Value{}
	tables := map[string]bool{}
	root := reflect.ValueOf(c).Elem()
	for i := range root.NumField() {
		key := root.Type().Field(i).Tag.Get("toml")
		f := root.Field(i)
		switch {
		case key == "-" || key == "database" || f.Kind() == reflect.Map || f.Kind() == reflect.Slice:
		case f.Kind() == reflect.Struct:
			tables["REPRISE_"+strings.ToUpper(key)+"_"] = true
			for j := range f.NumField() {
				fields["REPRISE_"+strings.ToUpper(key+"_"+f.Type().Field(j).Tag.Get("toml"))] = f.Field(j)
			}
		default:
			fields["REPRISE_"+strings.ToUpper(key)] = f
		}
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		f, ok := fields[name]
		if !ok {
			for prefix := range tables {
				if strings.HasPrefix(name, prefix) {
					return fmt.Errorf("environment: %s names no key of the configuration", name)
				}
			}
			continue
		}
		if err := set(f, value); err != nil {
			return fmt.Errorf("environment: %s=%q: %w", name, value, err)
		}
	}
	return nil
}

func set(f reflect.Value, text string) error {
	switch f.Interface().(type) {
	case time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("write a duration such as 30s or 5m")
		}
		f.SetInt(int64(d))
	case string:
		f.SetString(text)
	case bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("write true or false")
		}
		f.SetBool(b)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("write a whole number")
		}
		f.SetInt(n)
	}
	return nil
}
