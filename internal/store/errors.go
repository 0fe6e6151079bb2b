package store

import (
	"errors"
	"fmt"
	"time"
)

// Sentinels, to be found with errors.Is. Each error that wraps one of them says in its text which file and what mends it.
var (
	// ErrNotFound: no such store, collection, document or chunk.
	ErrNotFound = errors.New("not found")
	// ErrCorrupt: the store file is truncated, damaged, or not a store at all. Nothing was deleted.
	ErrCorrupt = errors.New("store file is damaged or is no store")
	// ErrReadOnly: a write was asked of a store whose file or folder cannot be written.
	ErrReadOnly = errors.New("store is read-only")
	// ErrFull: the disk (or a quota) is full, or refuses to write. The transaction was rolled back, what was stored before is whole.
	ErrFull = errors.New("disk is full or refuses to write")
	// ErrBusy: SQLite waited for another connection for the whole lock timeout.
	ErrBusy = errors.New("store is busy")
	// ErrClosed: the store, writer or snapshot was closed before.
	ErrClosed = errors.New("store is closed")
)

// NewerError says that a later version of the program wrote this store.
type NewerError struct {
	Path           string
	Format, Newest int // format of the file; newest format this program knows
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has format %d, this program knows formats up to %d: use a newer version of the program", e.Path, e.Format, e.Newest)
}

// LockedError says that another writer held the lock for the whole time that [Store.Lock] waited.
// PID is 0 and Since zero where the holder has not (yet) written who it is.
type LockedError struct {
	Path  string
	PID   int
	Host  string
	Since time.Time
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is locked by another writer", e.Path)
	}
	return fmt.Sprintf("%s is locked by process %d on %s since %s", e.Path, e.PID, e.Host, e.Since.UTC().Format(time.RFC3339))
}

// StampError says that a collection was made with another model, dimension or analyser than the one wanted now.
type StampError struct {
	Collection     string
	Name           string // "model", "dimension" or "analyser"
	Stored, Wanted string
}

func (e *StampError) Error() string {
	return fmt.Sprintf("collection %s was made with %s %s, not %s", e.Collection, e.Name, e.Stored, e.Wanted)
}
