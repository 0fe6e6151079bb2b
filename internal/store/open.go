package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/exhibit-rag/exhibit/internal/lockfile"
)

// Names inside a store's folder.
const (
	FileName    = "exhibit.db"   // the SQLite file
	LockName    = "exhibit.lock" // the writer's lock
	DerivedName = "derived"      // folder of derived files
)

// DefaultLockTimeout is how long a second writer waits for the first.
const DefaultLockTimeout = 10 * time.Second

// Options of [Open]. The zero value opens an existing store; searching by words and publishing need Terms.
type Options struct {
	// Create makes folder and file where there is none. Default: ErrNotFound.
	Create bool
	// LockTimeout is how long [Store.Lock] waits. 0 = DefaultLockTimeout; negative = not at all.
	LockTimeout time.Duration
	// Terms appends the index terms of text to dst; it must be a pure function and safe for concurrent use.
	Terms func(dst []string, text string) []string
	// Analyser is the version of Terms: derived files made by another are not used.
	Analyser string
	// Key writes the evidence key, which breaks ties between equal scores. Default: docID + "#chunk-" + index.
	Key func(docID string, index int) string
	// Decode fills [DocMeta.Decoded] from the metadata's JSON. Default: it stays nil.
	Decode func(metadata string) any
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// busyTimeout is how long SQLite waits for its own locks, which nobody holds for long, before [ErrBusy].
const busyTimeout = 10 * time.Second

// A Store is an open store. All its methods are safe for concurrent use.
type Store struct {
	folder   string
	path     string // of the SQLite file
	o        Options
	db       *sql.DB
	readOnly bool
	secret   Hash
	fault    func(statement string) error // tests only

	building chan struct{} // holds one token while a view is built

	mu     sync.Mutex
	closed bool
	idle   []*conn
	views  map[string]*view // newest known state of each collection, by name
}

// maxIdle is how many connections are kept between lookups; each holds SQLite's page cache of about 2 MB.
const maxIdle = 8

// Open opens the store in folder. A store whose file or folder cannot be written is opened for reading; [Store.ReadOnly] says so.
// Errors wrap [ErrNotFound], [ErrCorrupt], or are a [*NewerError].
func Open(ctx context.Context, folder string, o Options) (*Store, error) {
	if o.LockTimeout == 0 {
		o.LockTimeout = DefaultLockTimeout
	}
	if o.Key == nil {
		o.Key = func(docID string, index int) string { return docID + "#chunk-" + strconv.Itoa(index) }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	s := &Store{folder: folder, path: filepath.Join(folder, FileName), o: o, views: map[string]*view{}, building: make(chan struct{}, 1)}
	err = s.find()
	if errors.Is(err, fs.ErrNotExist) {
		if !o.Create {
			return nil, fmt.Errorf("no store at %s: %w", folder, ErrNotFound)
		}
		if err = s.create(ctx); err == nil {
			err = s.find()
		}
	}
	if err != nil {
		return nil, s.wrap(err)
	}
	if err := s.connect(ctx); err != nil {
		if s.db != nil {
			s.db.Close()
		}
		return nil, err
	}
	return s, nil
}

// Close closes the store. Snapshots and writers are to be closed before it.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.closed = true
	for _, c := range s.idle {
		c.close()
	}
	for _, v := range s.views {
		v.release()
	}
	s.idle, s.views = nil, nil
	return s.wrap(s.db.Close())
}

// Folder returns the absolute path of the store's folder.
func (s *Store) Folder() string { return s.folder }

// ReadOnly reports whether the store was opened for reading because its file or folder cannot be written.
func (s *Store) ReadOnly() bool { return s.readOnly }

// Secret returns the 32 random bytes that were made with the store.
func (s *Store) Secret() [32]byte { return s.secret }

// find looks whether there is a file that may be a store. It only asks for its status: were the file opened and closed here, every lock that SQLite
// holds on it for another connection of this process would be lost (https://www.sqlite.org/howtocorrupt.html, section 2.2).
func (s *Store) find() error {
	info, err := os.Stat(s.path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return s.corrupt("it is no regular file")
	case info.Size() == 0:
		return s.corrupt("it is empty")
	}
	return nil
}

func (s *Store) corrupt(why string) error {
	return fmt.Errorf("%s: %s (%w): put back a copy of it, or move the folder away and sync again", s.path, why, ErrCorrupt)
}

// dsn spells the SQLite URI (https://www.sqlite.org/uri.html) of path.
func dsn(path, mode string, pragmas ...string) string {
	p := filepath.ToSlash(path)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // C:/… of Windows
	}
	q := url.Values{}
	for _, m := range strings.Split(mode, "&") {
		k, v, _ := strings.Cut(m, "=")
		q.Set(k, v)
	}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	for _, pragma := range pragmas {
		q.Add("_pragma", pragma)
	}
	return "file://" + (&url.URL{Path: p}).EscapedPath() + "?" + q.Encode()
}

// create makes folder and file under the writer's lock. The file gets its name only when it is whole, so a kill leaves either none or a store.
func (s *Store) create(ctx context.Context) error {
	if err := os.MkdirAll(s.folder, 0o777); err != nil {
		return err
	}
	lock, err := s.lockFile(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	if _, err := os.Stat(s.path); !errors.Is(err, fs.ErrNotExist) {
		return err // another process made it while this one waited
	}
	fresh := s.path + ".new"
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} { // what a killed creation left
		if err := os.Remove(fresh + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := writeFresh(ctx, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, s.path)
}

func writeFresh(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "mode=rwc", fmt.Sprintf("page_size(%d)", pageSize)))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	var secret Hash
	rand.Read(secret[:])
	for _, q := range []string{
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", Format),
		"BEGIN", schema,
	} {
		if _, err := db.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO meta(key, value) VALUES('secret', ?)", secret[:]); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "COMMIT"); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	return db.Close()
}

// connect opens the file for writing, or for reading where it must. Read-only WAL needs the files -wal and -shm or leave to make them
// (https://www.sqlite.org/wal.html#readonly); a folder without both, and without a log to replay, is read as immutable.
func (s *Store) connect(ctx context.Context) error {
	pragmas := []string{"synchronous(NORMAL)", "journal_size_limit(67108864)", "temp_store(MEMORY)"}
	modes := []string{"mode=rw", "mode=ro"}
	if wal, err := os.Stat(s.path + "-wal"); err != nil || wal.Size() == 0 {
		modes = append(modes, "mode=ro&immutable=1")
	}
	if !s.writable() {
		modes = modes[1:]
	}
	var err error
	for _, mode := range modes { // which one the folder allows shows at the first read
		if s.db != nil {
			s.db.Close()
		}
		s.db, err = sql.Open("sqlite", dsn(s.path, mode, pragmas...))
		if err != nil {
			return err
		}
		s.db.SetMaxIdleConns(0)
		if mode != "mode=rw" {
			s.readOnly = true
		}
		if err = s.readMeta(ctx); err == nil || !refused(err) {
			return err
		}
	}
	return fmt.Errorf("open %s: %w", s.path, err)
}

// refused reports whether SQLite could not open the file in the mode asked for.
func refused(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_READONLY || e.Code()&0xff == sqlite3.SQLITE_CANTOPEN)
}

// writable reports whether the file and the writer's lock can be written.
func (s *Store) writable() bool {
	if !mayWrite(s.path) {
		return false
	}
	l, err := os.OpenFile(filepath.Join(s.folder, LockName), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// readMeta makes sure that the file is a store of a format that is known, and keeps its secret.
func (s *Store) readMeta(ctx context.Context) error {
	c, err := s.newConn(ctx)
	if err != nil {
		return err
	}
	if err := s.readMetaOn(ctx, c); err != nil {
		c.close()
		return err
	}
	s.putConn(c)
	return nil
}

func (s *Store) readMetaOn(ctx context.Context, c *conn) error {
	var id, format int64
	if _, err := c.row(ctx, "PRAGMA application_id", nil, &id); err != nil {
		return err
	}
	if id != applicationID {
		return s.corrupt("it is a SQLite file of another program")
	}
	if _, err := c.row(ctx, "PRAGMA user_version", nil, &format); err != nil {
		return err
	}
	if format > Format {
		return &NewerError{Path: s.path, Format: int(format), Newest: Format}
	}
	if err := s.checkSize(ctx, c); err != nil {
		return err
	}
	var secret []byte
	_, err := c.row(ctx, "SELECT value FROM meta WHERE key = 'secret'", nil, &secret)
	if err != nil && (refused(err) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrBusy) || ctx.Err() != nil) {
		return err
	}
	if err != nil || format != Format || len(secret) != len(s.secret) {
		return s.corrupt("its tables are not those of a store")
	}
	s.secret = Hash(secret)
	return nil
}

// checkSize finds a last page that was cut, which SQLite takes for whole. While there is a log to replay the file may end anywhere.
func (s *Store) checkSize(ctx context.Context, c *conn) error {
	var page int64
	if _, err := c.row(ctx, "PRAGMA page_size", nil, &page); err != nil {
		return err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return err
	}
	if wal, err := os.Stat(s.path + "-wal"); err == nil && wal.Size() > 0 {
		return nil
	}
	if info.Size()%page != 0 {
		return s.corrupt(fmt.Sprintf("it is truncated: %d bytes are no whole number of pages", info.Size()))
	}
	return nil
}

func (s *Store) lockFile(ctx context.Context) (*lockfile.Lock, error) {
	path := filepath.Join(s.folder, LockName)
	l, err := lockfile.Acquire(ctx, path, s.o.LockTimeout)
	var held *lockfile.HeldError
	switch {
	case errors.As(err, &held):
		return nil, &LockedError{Path: s.folder, PID: held.Holder.PID, Host: held.Holder.Host, Since: held.Holder.Since}
	case err != nil:
		return nil, s.wrap(err)
	}
	return l, nil
}
