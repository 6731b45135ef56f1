package importer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	maxLine   = 32 << 20
	blockSize = 4 << 20 // of the memory that lines are kept in until they are loaded

	// A compressed file may expand to this many times its size, and a little file to a little more. Archives of
	// events expand to 5 to 30 times.
	maxExpansion  = 250
	freeExpansion = 64 << 20
	maxZstdMemory = 256 << 20
)

// line is one line of a file, without its end.
type line struct {
	text       []byte // kept until the batch is done; cut to [maxRaw] if the line is too long
	number     int64  // from 1
	offset     int64  // of its first byte in the expanded file
	end        string // what ended it: LF, CR LF, or nothing at the end of the file
	tooLong    bool
	unfinished bool // the file ends without a newline after it
}

// source reads the lines of one file.
type source struct {
	name    string
	peeked  []line // read before their turn, to see what the format is
	size    int64  // bytes of the file; 0 is unknown
	closers []func() error
	stored  *counter // the file as it is stored
	lines   *bufio.Reader
	next    line // number and offset of the next line
	block   []byte
}

// open opens a file, "-" being stdin, and finds out how it is compressed. Reading ends with ctx.
func open(ctx context.Context, name string, stdin io.Reader) (*source, error) {
	s := &source{name: name, next: line{number: 1}}
	var stored io.Reader
	if name == "-" {
		stored = s.interruptible(ctx, stdin)
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, file.Close)
		info, err := file.Stat()
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a directory", name)
		}
		if err != nil {
			_ = s.close()
			return nil, err
		}
		if info.Mode().IsRegular() {
			s.size = info.Size()
		}
		stored = file
	}
	s.stored = &counter{ctx: ctx, r: stored, hash: sha256.New()}
	expanded, err := s.expand(bufio.NewReaderSize(s.stored, 1<<18))
	if err != nil {
		_ = s.close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.lines = bufio.NewReaderSize(expanded, 1<<18)
	if mark, err := s.lines.Peek(len(byteOrderMark)); err == nil && bytes.Equal(mark, byteOrderMark) {
		_, _ = s.lines.Discard(len(mark))
		s.next.offset = int64(len(mark))
	}
	return s, nil
}

// interruptible lets ctx end a read that waits for a person or a pipe. The goroutine stays in that read.
func (s *source) interruptible(ctx context.Context, r io.Reader) io.Reader {
	read, write := io.Pipe()
	go func() {
		_, err := io.Copy(write, r)
		_ = write.CloseWithError(err)
	}()
	stop := context.AfterFunc(ctx, func() { _ = read.CloseWithError(ctx.Err()) })
	s.closers = append(s.closers, func() error { stop(); return read.Close() })
	return read
}

var (
	gzipMagic     = []byte{0x1f, 0x8b}
	zstdMagic     = []byte{0x28, 0xb5, 0x2f, 0xfd}
	byteOrderMark = []byte{0xef, 0xbb, 0xbf}
)

func (s *source) expand(r *bufio.Reader) (io.Reader, error) {
	magic, err := r.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		expanded, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		return &bounded{r: expanded, stored: s.stored}, nil
	case bytes.HasPrefix(magic, zstdMagic):
		expanded, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxZstdMemory),
			zstd.WithDecoderMaxWindow(maxZstdMemory/2))
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, func() error { expanded.Close(); return nil })
		return &bounded{r: expanded, stored: s.stored}, nil
	}
	return r, nil
}

func (s *source) close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// read returns the next line, or io.EOF after the last one.
func (s *source) read() (line, error) {
	if len(s.peeked) > 0 {
		l := s.peeked[0]
		s.peeked = s.peeked[1:]
		return l, nil
	}
	return s.readFresh()
}

func (s *source) readFresh() (line, error) {
	l := s.next
	start := len(s.block)
	total := 0
	for {
		part, err := s.lines.ReadSlice('\n')
		total += len(part)
		if total <= maxLine+2 { // CR and LF
			s.keep(&start, part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return line{}, fmt.Errorf("%s, line %d: %w", s.name, l.number, err)
		case err != nil && total == 0:
			return line{}, io.EOF
		}
		l.text = s.block[start:len(s.block):len(s.block)]
		switch {
		case err != nil:
			l.unfinished = true
		case bytes.HasSuffix(l.text, []byte("\r\n")):
			l.end = "\r\n"
		default:
			l.end = "\n"
		}
		l.text = l.text[:len(l.text)-len(l.end)]
		if len(l.text) > maxLine || total > maxLine+2 {
			l.tooLong = true
			l.text = bytes.Clone(l.text[:maxRaw+1]) // one more than is shown, so that it shows as cut
			s.block = nil
		}
		s.next.number++
		s.next.offset += int64(total)
		return l, nil
	}
}

// keep appends to the block; a line that does not fit begins a new one. Lines before it stay where they are.
func (s *source) keep(start *int, part []byte) {
	if len(s.block)+len(part) > cap(s.block) {
		begun := s.block[*start:]
		block := make([]byte, 0, max(blockSize, 2*(len(begun)+len(part))))
		s.block, *start = append(block, begun...), 0
	}
	s.block = append(s.block, part...)
}

// sum is the SHA-256 of the file as it is stored; it reads what a decompressor left behind its end.
func (s *source) sum() (string, error) {
	if _, err := io.Copy(io.Discard, s.stored); err != nil {
		return "", fmt.Errorf("%s: %w", s.name, err)
	}
	return hex.EncodeToString(s.stored.hash.Sum(nil)), nil
}

// counter counts and hashes what is read.
type counter struct {
	ctx  context.Context
	r    io.Reader
	n    atomic.Int64
	hash hash.Hash
}

func (c *counter) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	c.hash.Write(p[:n])
	if interrupted := c.ctx.Err(); interrupted != nil {
		return n, interrupted
	}
	return n, err
}

// bounded ends the reading of what expands without end.
type bounded struct {
	r      io.Reader
	stored *counter
	n      int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.n += int64(n)
	if b.n > freeExpansion+maxExpansion*b.stored.n.Load() {
		return 0, ErrExpansion
	}
	return n, err
}
