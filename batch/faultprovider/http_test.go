package faultprovider

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func ask(t *testing.T, s *Server, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := newClient(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, strings.TrimSpace(string(text))
}

func TestAnswersAboutItself(t *testing.T) {
	t.Parallel()
	s := start(t, Options{KeepBodies: true})
	const key = `ev/1 é"<:x`
	s.Script("ev-2:x", Refuse)
	for _, body := range []string{`{"a":1}`, `{"a":2}`} {
		if status, text, err := post(t.Context(), newClient(t), s, key, body); status != 200 || !strings.Contains(text, `"chave":"ev/1 é\"\u003c:x"`) {
			t.Fatal(status, text, err)
		}
	}
	if status, text, err := post(t.Context(), newClient(t), s, "ev-2:x", `{}`); status != 422 || strings.TrimSpace(text) != `{"erro":"refuse"}` {
		t.Fatal(status, text, err)
	}
	const about = `{"chave":"ev/1 é\"\u003c:x","requests":2,"delivered":2,"bodies":2,"body":"{\"a\":2}"}`
	for _, tc := range []struct {
		path string
		code int
		text string
	}{
		{"/_counts", 200, `{"requests":3,"deliveries":2,"keys":2,"twice":1,"faults":{"ok":2,"refuse":1}}`},
		{"/_counts/" + url.PathEscape(key), 200, about},
		{"/_counts/never", 200, `{"chave":"never","requests":0,"delivered":0,"bodies":0}`},
		{"/lookup/" + url.PathEscape(key), 200, about},
		{"/lookup/ev-2:x", 404, `{"erro":"unknown key"}`},
		{"/lookup/never", 404, `{"erro":"unknown key"}`},
		{"/_deliveries", 200, `{"chave":"ev-2:x","requests":1,"delivered":0,"bodies":1,"body":"{}"}` + "\n" + about},
		{"/elsewhere", 404, "404 page not found"},
	} {
		if code, text := ask(t, s, http.MethodGet, tc.path, ""); code != tc.code || text != tc.text {
			t.Errorf("%s: %d %s\nwant %d %s", tc.path, code, text, tc.code, tc.text)
		}
	}
	if b := s.Bodies(key); len(b) != 2 || string(b[0]) != `{"a":1}` || string(b[1]) != `{"a":2}` {
		t.Errorf("bodies %s", b)
	}
}

func TestFaultsChangeAtRunTime(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	want := func(status int) {
		t.Helper()
		if got, _, err := post(t.Context(), newClient(t), s, "k", "{}"); got != status {
			t.Errorf("%d, %v; want %d", got, err, status)
		}
	}
	want(200)
	const rules = `[{"fault":"refuse","match":"k","delay":1000}]`
	if code, text := ask(t, s, http.MethodPut, "/_faults", rules); code != 200 || text != rules {
		t.Error(code, text)
	}
	want(422)
	for _, bad := range []string{`[{"fault":"nonsense"}]`, `[{"fault":"ok","share":2}]`, `[{"fault":"ok","every":-1}]`, `[{"fault":"ok","oops":1}]`, `{}`, ``} {
		if code, text := ask(t, s, http.MethodPut, "/_faults", bad); code != 400 {
			t.Errorf("%s: %d %s", bad, code, text)
		}
	}
	if code, text := ask(t, s, http.MethodGet, "/_faults", ""); code != 200 || text != rules {
		t.Errorf("a refused change changed the rules: %d %s", code, text)
	}
	if code, text := ask(t, s, http.MethodPut, "/_faults", `[]`); code != 200 || text != `[]` {
		t.Error(code, text)
	}
	want(200)
	if code, _ := ask(t, s, http.MethodPost, "/_reset", ""); code != 200 || s.Totals().Requests != 0 || s.Delivered("k") != 0 {
		t.Errorf("%d, %+v", code, s.Totals())
	}
	if code, text := ask(t, s, http.MethodPost, "/notify", "{}"); code != 400 || text != `{"erro":"Idempotency-Key is missing"}` || s.Totals().Requests != 0 {
		t.Error(code, text)
	}
}
