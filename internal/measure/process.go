package measure

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// Process is what one run of a program cost, seen from outside.
type Process struct {
	Wall   time.Duration
	CPU    time.Duration // user and system time
	Peak   int64         // most bytes resident, mapped files included; 0 where the system does not tell
	Stdout []byte
	Stderr []byte
}

// RunProcess runs a command to its end. An exit code other than 0 is an error that quotes the end of its errors. What it
// writes to standard error is gathered unless the command has a place for it.
//
// On Linux a child's peak is at least what this process held when it started it; keep this process small.
func RunProcess(cmd *exec.Cmd) (Process, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	start := time.Now()
	err := cmd.Run()
	p := Process{Wall: time.Since(start), Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if cmd.ProcessState != nil {
		p.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		p.Peak = peak(cmd.ProcessState)
	}
	if err != nil {
		tail := p.Stderr[max(0, len(p.Stderr)-600):]
		return p, fmt.Errorf("%s: %w: %s", cmd.Args[0], err, bytes.TrimSpace(tail))
	}
	return p, nil
}

// Command is a program that runs in a folder with no environment but the one given.
func Command(ctx context.Context, dir, program string, args []string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append([]string{}, env...)
	return cmd
}
