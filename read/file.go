package read

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/exhibit-rag/exhibit"
)

// File reads the bytes of an entry. Limit is the most bytes that are read; 0 stands for DefaultMaxSize. The error is that of the entry
// if it has one; it wraps exhibit.ErrTooLarge above the limit, and exhibit.ErrUnreadable where the file is gone, may not be read, is no
// regular file, or was written to while it was read.
func File(e Entry, limit int64) ([]byte, error) {
	if e.Err != nil {
		return nil, e.Err
	}
	if limit <= 0 {
		limit = DefaultMaxSize
	}
	// Opening a pipe would wait for a writer.
	if info, err := os.Stat(e.Path); err != nil {
		return nil, unreadable(e.Path, err)
	} else if !info.Mode().IsRegular() {
		return nil, unreadable(e.Path, errors.New("no regular file"))
	}
	f, err := os.Open(e.Path)
	if err != nil {
		return nil, unreadable(e.Path, err)
	}
	defer f.Close()
	return readSteady(f, e.Path, limit)
}

// statReader is what readSteady needs of a file.
type statReader interface {
	io.Reader
	Stat() (fs.FileInfo, error)
}

// readSteady reads a file and compares its size and time before and after.
func readSteady(f statReader, path string, limit int64) ([]byte, error) {
	before, err := f.Stat()
	if err != nil {
		return nil, unreadable(path, err)
	}
	if before.Size() > limit {
		return nil, tooLarge(path, before.Size(), limit)
	}
	data := make([]byte, before.Size()+1) // one more, to see whether it grows
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, unreadable(path, err)
	}
	after, err := f.Stat()
	if err != nil {
		return nil, unreadable(path, err)
	}
	if int64(n) != before.Size() || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return nil, &exhibit.Error{Op: "read", Source: path, Kind: exhibit.ErrUnreadable,
			Err:  fmt.Errorf("it changed while it was read: %d bytes before, %d read, %d after", before.Size(), n, after.Size()),
			Hint: "sync again when nothing writes to it; the version synced earlier is kept"}
	}
	return data[:n:n], nil
}
