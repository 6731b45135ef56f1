package provider

import (
	"io"
	"log"
)

var discardLog = log.New(io.Discard, "", 0)
