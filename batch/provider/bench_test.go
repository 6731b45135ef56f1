package provider

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"
)

// instant answers every request on a connection without parsing it.
func instant(c net.Conn) {
	end := []byte("\r\n\r\n")
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		if !bytes.Equal(line, end[2:]) {
			continue
		}
		if _, err := r.Discard(len(attempt.Content)); err != nil {
			return
		}
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{\"recibo\":\"r-1\"}"); err != nil {
			return
		}
	}
}

// BenchmarkCall is a call with its place, 16 at a time.
func BenchmarkCall(b *testing.B) {
	p := open(b, Config{URL: listen(b, instant), Receipt: "recibo", Concurrency: 16})
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			release, err := p.Acquire(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := p.Call(b.Context(), "k", attempt); err != nil {
				b.Fatal(err)
			}
			release()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
}
