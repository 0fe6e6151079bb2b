package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// unprivileged runs a command without the rights that root has over files of others, so that permissions count.
func unprivileged() {
	path, err := exec.LookPath(os.Args[1])
	if err == nil {
		err = dropRights()
	}
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "unprivileged:", err)
	os.Exit(125)
}

// dropRights empties the capabilities of this thread, and keeps an exec from giving them back to root.
func dropRights() error {
	runtime.LockOSThread()
	if os.Geteuid() != 0 {
		return nil
	}
	const noRoot, noRootLocked = 1, 2 // SECBIT_NOROOT of linux/securebits.h
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot|noRootLocked, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// canDrop tells whether this system lets root lay its rights down.
func canDrop() bool {
	done := make(chan error)
	go func() { done <- dropRights() }() // the thread stays locked and ends with the goroutine
	return <-done == nil
}

// fileLimit runs a command in which no file may grow beyond a number of bytes: filelimit BYTES COMMAND …
func fileLimit() {
	n, err := strconv.ParseUint(os.Args[1], 10, 64)
	var path string
	if err == nil {
		path, err = exec.LookPath(os.Args[2])
	}
	if err == nil {
		err = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: n, Max: n})
	}
	if err == nil {
		err = syscall.Exec(path, os.Args[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "filelimit:", err)
	os.Exit(125)
}
