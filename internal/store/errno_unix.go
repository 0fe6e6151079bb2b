//go:build unix

package store

import (
	"errors"

	"golang.org/x/sys/unix"
)

func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

func isReadOnlyFS(err error) bool { return errors.Is(err, unix.EROFS) }

// mayWrite asks without opening: see [Store.find].
func mayWrite(path string) bool { return unix.Access(path, unix.W_OK) == nil }
