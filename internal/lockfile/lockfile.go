// Package lockfile is a lock between processes: a file that one process at a time may hold, and that names its holder.
//
// The lock is the operating system's (flock, LockFileEx), so it ends with the process that holds it, kill -9 included; a file
// left behind locks nothing. What the file says (process id, host, since when) is only for the message to whoever waits.
// The file is never deleted: deleting would let two processes lock two files of one name.
package lockfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// A Holder says who holds, or last held, a lock. The zero Holder is unknown.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

// HeldError says that another process (or another part of this one) holds the lock.
type HeldError struct {
	Path   string
	Holder Holder
}

func (e *HeldError) Error() string {
	if e.Holder.PID == 0 {
		return fmt.Sprintf("%s is held by another process", e.Path)
	}
	return fmt.Sprintf("%s is held by process %d on %s since %s", e.Path, e.Holder.PID, e.Holder.Host, e.Holder.Since.UTC().Format(time.RFC3339))
}

// A Lock is a held lock. Its methods are not safe for concurrent use.
type Lock struct {
	f *os.File
}

// errHeld is what tryLock returns when another holds the lock.
var errHeld = errors.New("held")

// pollEvery is how often a waiting Acquire looks again: short beside the seconds that people wait, long beside the system call.
const pollEvery = 25 * time.Millisecond

// Acquire takes the lock at path, making the file where there is none. It waits up to wait (0 or less: not at all), then returns a
// *HeldError; when ctx ends first, its error. Two Acquires of one path exclude each other inside one process too.
func Acquire(ctx context.Context, path string, wait time.Duration) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(wait)
	for {
		err := tryLock(f)
		if err == nil {
			break
		}
		if !errors.Is(err, errHeld) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		left := time.Until(deadline)
		if left <= 0 {
			holder := readHolder(f)
			f.Close()
			return nil, &HeldError{Path: path, Holder: holder}
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-time.After(min(left, pollEvery)):
		}
	}
	l := &Lock{f: f}
	if err := l.write(Holder{PID: os.Getpid(), Host: host(), Since: time.Now().UTC().Truncate(time.Second)}); err != nil {
		l.Release()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return l, nil
}

// Release gives the lock back and empties the file. A second Release returns os.ErrClosed.
func (l *Lock) Release() error {
	errEmpty := l.f.Truncate(0)
	errUnlock := unlock(l.f)
	if err := l.f.Close(); err != nil {
		return err
	}
	return errors.Join(errEmpty, errUnlock)
}

func (l *Lock) write(h Holder) error {
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err = l.f.WriteAt(append(b, '\n'), 0)
	return err
}

// readHolder reads who holds the lock; what cannot be read, or is half written, is unknown.
func readHolder(f *os.File) Holder {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	var h Holder
	if err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}

func host() string {
	name, err := os.Hostname()
	if err != nil {
		return "this host"
	}
	return name
}
