package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/exhibit-rag/exhibit/internal/lockfile"
)

// A Writer may change the store: it holds the lock from [Store.Lock] to Close. It is not safe for concurrent use.
// Each method is one or more short write transactions; when it returns an error, the transaction in hand was rolled back.
type Writer struct {
	s    *Store
	lock *lockfile.Lock
	c    *conn
}

// Lock waits for the writer's lock for up to [Options.LockTimeout], then returns a [*LockedError].
// A store opened for reading gives ErrReadOnly.
func (s *Store) Lock(ctx context.Context) (*Writer, error) {
	if s.readOnly {
		return nil, fmt.Errorf("%s: %w: make the folder and its files writable", s.folder, ErrReadOnly)
	}
	lock, err := s.lockFile(ctx)
	if err != nil {
		return nil, err
	}
	c, err := s.getConn(ctx)
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	return &Writer{s: s, lock: lock, c: c}, nil
}

// Close gives the lock back.
func (w *Writer) Close() error {
	if w.c == nil {
		return ErrClosed
	}
	w.s.putConn(w.c)
	w.c = nil
	return w.s.wrap(w.lock.Release())
}

// now returns the time in Unix microseconds.
func (w *Writer) now() int64 { return w.s.o.Now().UnixMicro() }

func fromMicro(t int64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(t).UTC()
}

// collection is a row of table collections.
type collection struct {
	id       int64
	name     string
	st       Stamps
	seq      int64
	acc      Hash
	baseSeq  int64
	deadFrom int64
}

const selectCollection = `SELECT id, name, chunker, analyser, model, dimension, seq, acc, base_seq, dead_from FROM collections`

func scanCollection(scan func(...any) error) (*collection, error) {
	var c collection
	var acc []byte
	if err := scan(&c.id, &c.name, &c.st.Chunker, &c.st.Analyser, &c.st.Model, &c.st.Dimension, &c.seq, &acc, &c.baseSeq, &c.deadFrom); err != nil {
		return nil, err
	}
	return &c, toHash(&c.acc, acc)
}

func toHash(h *Hash, b []byte) error {
	if len(b) != len(h) {
		return fmt.Errorf("a hash of %d bytes: %w", len(b), ErrCorrupt)
	}
	copy(h[:], b)
	return nil
}

// collection reads one collection; ErrNotFound where there is none of that name.
func (c *conn) collection(ctx context.Context, name string) (*collection, error) {
	var coll *collection
	err := c.query(ctx, selectCollection+` WHERE name = ?`, []any{name}, func(scan func(...any) error) (err error) {
		coll, err = scanCollection(scan)
		return err
	})
	if err == nil && coll == nil {
		err = fmt.Errorf("collection %s: %w", name, ErrNotFound)
	}
	return coll, err
}

// change runs f in one write transaction on a collection. When f changed something it returns true, and the collection's
// sequence number, which f finds raised already in coll.seq, and its accumulator are stored with it; when not, nothing is written.
func (w *Writer) change(ctx context.Context, name string, f func(coll *collection) (bool, error)) error {
	if w.c == nil {
		return ErrClosed
	}
	return w.c.write(ctx, func() error {
		coll, err := w.c.collection(ctx, name)
		if err != nil {
			return err
		}
		coll.seq++
		if changed, err := f(coll); err != nil || !changed {
			return err
		}
		return w.save(ctx, coll)
	})
}

func (w *Writer) save(ctx context.Context, coll *collection) error {
	_, err := w.c.exec(ctx, `UPDATE collections SET chunker=?, analyser=?, model=?, dimension=?, seq=?, acc=?, base_seq=?, dead_from=? WHERE id=?`,
		coll.st.Chunker, coll.st.Analyser, coll.st.Model, coll.st.Dimension, coll.seq, coll.acc[:], coll.baseSeq, coll.deadFrom, coll.id)
	return err
}

// Check compares stamps with those of this program. Analyser, model and dimension must agree where both sides know them;
// it returns a [*StampError] for the first that does not. The chunker is not compared: a changed one makes documents stale.
func (st Stamps) Check(collection string, want Stamps) error {
	differ := func(name, stored, wanted string) error {
		if stored == "" || wanted == "" || stored == wanted {
			return nil
		}
		return &StampError{Collection: collection, Name: name, Stored: stored, Wanted: wanted}
	}
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	if err := differ("model", st.Model, want.Model); err != nil {
		return err
	}
	if want.Model != "" {
		if err := differ("dimension", number(st.Dimension), number(want.Dimension)); err != nil {
			return err
		}
	}
	return differ("analyser", st.Analyser, want.Analyser)
}

// EnsureCollection makes the collection where there is none, and stamps it. An existing one must agree as [Stamps.Check] says. An empty field of want
// (no embedder, dimension not known yet) neither checks nor overwrites; a stamp that is empty is filled; the chunker's is always renewed.
func (w *Writer) EnsureCollection(ctx context.Context, name string, want Stamps) error {
	if w.c == nil {
		return ErrClosed
	}
	return w.c.write(ctx, func() error {
		coll, err := w.c.collection(ctx, name)
		if errors.Is(err, ErrNotFound) {
			_, err = w.c.exec(ctx, `INSERT INTO collections(name, chunker, analyser, model, dimension, seq, acc, base_seq, dead_from) VALUES(?,?,?,?,?,1,?,0,0)`,
				name, want.Chunker, want.Analyser, want.Model, want.Dimension, make([]byte, len(Hash{})))
			return err
		}
		if err != nil {
			return err
		}
		if err := coll.st.Check(name, want); err != nil {
			return err
		}
		st, adopted := coll.st, false
		if want.Chunker != "" {
			st.Chunker = want.Chunker
		}
		if st.Analyser == "" {
			st.Analyser = want.Analyser
		}
		if st.Model == "" && want.Model != "" {
			st.Model, adopted = want.Model, true
		}
		if st.Dimension == 0 && want.Model != "" {
			st.Dimension = want.Dimension
		}
		if st == coll.st {
			return nil
		}
		coll.st = st
		coll.seq++
		if adopted {
			if err := w.adoptCached(ctx, coll); err != nil {
				return err
			}
		}
		return w.save(ctx, coll)
	})
}

// PutRoot notes that a folder or file is synced into the collection.
func (w *Writer) PutRoot(ctx context.Context, name string, r Root) error {
	return w.change(ctx, name, func(coll *collection) (bool, error) {
		_, err := w.c.exec(ctx, `INSERT INTO roots(collection, path, kind, options) VALUES(?,?,?,?)
			ON CONFLICT(collection, path) DO UPDATE SET kind = excluded.kind, options = excluded.options
			WHERE kind <> excluded.kind OR options <> excluded.options`, coll.id, r.Path, r.Kind, r.Options)
		return false, err
	})
}

// DropRoot forgets a root; its documents stay.
func (w *Writer) DropRoot(ctx context.Context, name, path string) error {
	return w.change(ctx, name, func(coll *collection) (bool, error) {
		_, err := w.c.exec(ctx, `DELETE FROM roots WHERE collection = ? AND path = ?`, coll.id, path)
		return false, err
	})
}

// AnyRoot makes [Writer.Fingerprints] take the documents of all roots.
const AnyRoot = "*"

// Fingerprints returns what a sync needs to see which sources changed: the served documents that were synced from root (or [AnyRoot]), by docId.
func (w *Writer) Fingerprints(ctx context.Context, name, root string) (map[string]Fingerprint, error) {
	if w.c == nil {
		return nil, ErrClosed
	}
	coll, err := w.c.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	out := map[string]Fingerprint{}
	err = w.c.query(ctx, `SELECT d.doc_id, d.root, d.source, d.title, d.source_hash, d.content_hash, d.metadata, d.reader, d.mark, d.config_hash, f.doc_id IS NOT NULL
		FROM documents d LEFT JOIN failures f ON f.collection = d.collection AND f.doc_id = d.doc_id
		WHERE d.collection = ? AND d.state = 1 AND (? OR d.root = ?)`, []any{coll.id, root == AnyRoot, root}, func(scan func(...any) error) error {
		var id, metadata string
		var source, content []byte
		var f Fingerprint
		if err := scan(&id, &f.Root, &f.Source, &f.Title, &source, &content, &metadata, &f.Reader, &f.Mark, &f.ConfigHash, &f.Failed); err != nil {
			return err
		}
		f.MetadataHash = HashText(metadata)
		err := errors.Join(toHash(&f.SourceHash, source), toHash(&f.ContentHash, content))
		out[id] = f
		return err
	})
	return out, err
}

// RecordFailures notes sources that yielded no document, as of now ([Failure.At] is not looked at; a failure repeated keeps its time).
// What was served under these docIds is served on.
func (w *Writer) RecordFailures(ctx context.Context, name string, fs []Failure) error {
	return w.change(ctx, name, func(coll *collection) (bool, error) {
		for i := range fs {
			f := &fs[i]
			_, err := w.c.exec(ctx, `INSERT INTO failures(collection, doc_id, root, source, code, reason, hint, at) VALUES(?,?,?,?,?,?,?,?)
				ON CONFLICT(collection, doc_id) DO UPDATE SET root=excluded.root, source=excluded.source, code=excluded.code, reason=excluded.reason, hint=excluded.hint, at=excluded.at
				WHERE code <> excluded.code OR reason <> excluded.reason OR hint <> excluded.hint OR source <> excluded.source OR root <> excluded.root`,
				coll.id, f.ID, f.Root, f.Source, f.Code, f.Reason, f.Hint, w.now())
			if err != nil {
				return false, err
			}
		}
		return false, nil
	})
}

// ClearFailures forgets the failures of these docIds. Replace and Remove do it by themselves.
func (w *Writer) ClearFailures(ctx context.Context, name string, ids []string) error {
	return w.change(ctx, name, func(coll *collection) (bool, error) {
		for _, id := range ids {
			if err := w.clearFailure(ctx, coll, id); err != nil {
				return false, err
			}
		}
		return false, nil
	})
}

func (w *Writer) clearFailure(ctx context.Context, coll *collection, id string) error {
	_, err := w.c.exec(ctx, `DELETE FROM failures WHERE collection = ? AND doc_id = ?`, coll.id, id)
	return err
}

// Failures returns the failures recorded for the sources of root (or [AnyRoot]), by docId.
func (w *Writer) Failures(ctx context.Context, name, root string) (map[string]Failure, error) {
	if w.c == nil {
		return nil, ErrClosed
	}
	coll, err := w.c.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	out := map[string]Failure{}
	err = w.c.query(ctx, `SELECT `+failureColumns+` FROM failures f WHERE f.collection = ? AND (? OR f.root = ?)`, []any{coll.id, root == AnyRoot, root}, func(scan func(...any) error) error {
		var n nullFailure
		if err := scan(n.dest()...); err != nil {
			return err
		}
		f := n.failure()
		out[f.ID] = *f
		return nil
	})
	return out, err
}
