package store

import (
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// wrap names what SQLite or the operating system said in this package's words; the chain keeps the original.
func (s *Store) wrap(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []error{ErrFull, ErrReadOnly, ErrCorrupt, ErrBusy, ErrNotFound, ErrClosed} {
		if errors.Is(err, known) {
			return err
		}
	}
	var e *sqlite.Error
	code := -1
	if errors.As(err, &e) {
		code = e.Code()
	}
	switch {
	case code&0xff == sqlite3.SQLITE_FULL, isFull(err), code == sqlite3.SQLITE_IOERR_WRITE, code == sqlite3.SQLITE_IOERR_FSYNC,
		code == sqlite3.SQLITE_IOERR_TRUNCATE, code == sqlite3.SQLITE_IOERR_SHMSIZE: // a quota, a file size limit, a failing disk
		return fmt.Errorf("%s: %w, nothing of this step was stored: free some space and run it again (%w)", s.folder, ErrFull, err)
	case code&0xff == sqlite3.SQLITE_READONLY, code == -1 && (errors.Is(err, fs.ErrPermission) || isReadOnlyFS(err)):
		return fmt.Errorf("%s: %w: make the folder and its files writable (%w)", s.folder, ErrReadOnly, err)
	case code&0xff == sqlite3.SQLITE_CORRUPT, code&0xff == sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s (%w): put back a copy of it, or move the folder away and sync again (%w)", s.path, ErrCorrupt, err)
	case code&0xff == sqlite3.SQLITE_BUSY:
		return fmt.Errorf("%s: %w: another process writes to it; try again (%w)", s.path, ErrBusy, err)
	}
	return err
}
