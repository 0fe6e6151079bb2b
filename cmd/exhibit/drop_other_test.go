//go:build !linux

package main

import (
	"fmt"
	"os"
	"os/exec"
)

// unprivileged runs a command as it is: who is not root has no rights to lay down.
func unprivileged() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		os.Exit(max(1, cmd.ProcessState.ExitCode()))
	}
}

func canDrop() bool { return false }

func fileLimit() {
	fmt.Fprintln(os.Stderr, "filelimit: only on Linux")
	os.Exit(125)
}
