package batch

import (
	"os"
	"strconv"
	"strings"
)

// processStart tells this process from an earlier one of the same id: clock ticks since boot at its start.
func processStart() uint64 { return startOf(os.Getpid()) }

// startOf is 0 if there is no such process, or it is a zombie.
func startOf(pid int) uint64 {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name (field 2) may hold spaces and parentheses: fields are counted from the last parenthesis.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return 0
	}
	ticks, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0
	}
	return ticks
}
