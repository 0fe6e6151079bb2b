package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// The locked byte lies far behind the text, because a lock on Windows keeps others from reading what it covers.
func where() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 0x4000_0000} }

func tryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, where())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return err
}

func unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, where())
}
