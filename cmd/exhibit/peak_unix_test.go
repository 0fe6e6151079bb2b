//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakBytes is the most memory that a process held, 0 where it cannot be told.
func peakBytes(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}
