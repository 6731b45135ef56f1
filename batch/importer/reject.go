package importer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// Why an event is rejected.
const (
	CodeBadJSON       = "bad-json"
	CodeTruncated     = "truncated" // the file ends in the middle of its last event
	CodeUTF8          = "invalid-utf-8"
	CodeNUL           = "nul"            // PostgreSQL's text and jsonb hold none
	CodeSurrogate     = "lone-surrogate" // half of a character
	CodeNumber        = "number"         // a reader would get another number
	CodeDuplicateKey  = "duplicate-key"
	CodeMissing       = "missing"
	CodeUnknownKey    = "unknown-key"
	CodeType          = "wrong-type"
	CodePosition      = "position"
	CodeVersion       = "version"
	CodeTime          = "time"
	CodeNoZone        = "time-without-zone"
	CodeTooLong       = "too-long"
	CodeTooDeep       = "too-deep"
	CodeCSV           = "bad-csv"
	CodeUnsupported   = "unsupported"   // the format has it, an archive of events does not: a link, a tombstone
	CodeOtherContent  = "other-content" // an event of that id is archived, with another content
	CodePositionTaken = "position-taken"
	CodeSameVersion   = "same-version" // another event is that version of the order
	CodeRefused       = "refused-by-database"
)

// What a decoder says of a line that is not a reject.
const (
	codeIgnored = "ignored" // no event
	codeFatal   = "fatal"   // nothing of the import makes sense
)

// Reject is one event that was not imported.
type Reject struct {
	File   string `json:"file"`
	Line   int64  `json:"line"`             // from 1
	Offset int64  `json:"offset"`           // of the line's first byte in the expanded file
	Column int    `json:"column,omitempty"` // byte in the line, from 1; 0 if it is about the line as a whole
	Code   string `json:"code"`
	Reason string `json:"reason"`
	Raw    string `json:"raw,omitempty"`
	RawB64 []byte `json:"raw_base64,omitempty"` // instead of Raw, if that is not UTF-8
	Cut    bool   `json:"cut,omitempty"`        // the raw line is longer than what is kept of it
}

// maxRaw is how many bytes of a line its reject keeps.
const maxRaw = 64 << 10

// setRaw keeps a copy of the line.
func (r *Reject) setRaw(line []byte) {
	if r.Cut = len(line) > maxRaw; r.Cut {
		line = line[:maxRaw]
		// Not in the middle of a character, which would make the text look broken.
		for i := 1; i < utf8.UTFMax && i < len(line); i++ {
			if c := line[len(line)-i]; utf8.RuneStart(c) {
				if c >= utf8.RuneSelf && !utf8.FullRune(line[len(line)-i:]) {
					line = line[:len(line)-i]
				}
				break
			}
		}
	}
	if utf8.Valid(line) {
		r.Raw = string(line)
	} else {
		r.RawB64 = append([]byte(nil), line...)
	}
}

// rejectFile collects rejects, one JSON object a line. It appears under its name when it is closed, and only if
// there are any.
type rejectFile struct {
	path string
	file *os.File
	out  *bufio.Writer
}

func (f *rejectFile) write(r Reject) error {
	if f.file == nil {
		// Made with mode 0600, under a name that nobody can have prepared.
		file, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*")
		if err != nil {
			return fmt.Errorf("write rejects, or name another place for them (--rejects): %w", err)
		}
		f.file, f.out = file, bufio.NewWriter(file)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write rejects: %w", err)
	}
	if _, err := f.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write rejects to %s: %w", f.file.Name(), err)
	}
	return nil
}

func (f *rejectFile) close() error {
	if f.file == nil {
		return nil
	}
	if err := f.out.Flush(); err != nil {
		_ = f.file.Close()
		return fmt.Errorf("write rejects to %s: %w", f.file.Name(), err)
	}
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("write rejects to %s: %w", f.file.Name(), err)
	}
	name := f.file.Name()
	f.file = nil // several inputs may share it
	return os.Rename(name, f.path)
}
