package main

import "os"

// peakBytes is the most memory that a process held, 0 where it cannot be told.
func peakBytes(*os.ProcessState) int64 { return 0 }
