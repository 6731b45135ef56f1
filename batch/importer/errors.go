package importer

import (
	"errors"
	"fmt"

	"reprise.dev/reprise/batch"
)

var (
	// ErrFormat: the file is in no format that is known, or not in the one that was named. Name the right one, or
	// write a mapping. It is a [batch.ErrUsage].
	ErrFormat = fmt.Errorf("%w: format", batch.ErrUsage)
	// ErrExpansion: a compressed file expands beyond reason. If it is genuine, decompress it first.
	ErrExpansion = errors.New("the compressed file expands to more than 250 times its size")
	// ErrDerived: numbers that have to be derived contradict the archive; nothing was imported.
	ErrDerived = errors.New("derived numbers contradict the archive")
)
