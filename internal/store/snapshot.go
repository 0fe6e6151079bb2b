package store

import (
	"context"
	"fmt"
	"sync"

	"github.com/exhibit-rag/exhibit/internal/bitset"
)

// A Snapshot is one revision of one collection: whatever is written meanwhile, all its methods tell of the same state. It is safe for
// concurrent use (rows are read one call at a time, searches run beside each other) and holds a read transaction until Close:
// keep it for one lookup, since what SQLite logged after it cannot be folded into the file before.
type Snapshot struct {
	s    *Store
	coll *collection

	mu sync.Mutex // guards c and v
	c  *conn      // nil after Close
	v  *view      // nil until the first search
}

// Snapshot returns the newest revision of a collection; ErrNotFound where there is none of that name. It costs one query. The first search of a new
// revision costs more: what changed since the last one is read and its texts are analysed; where no derived file fits, all texts are.
func (s *Store) Snapshot(ctx context.Context, name string) (*Snapshot, error) {
	c, err := s.getConn(ctx)
	if err != nil {
		return nil, err
	}
	if err = c.begin(ctx, "BEGIN"); err == nil {
		var coll *collection
		if coll, err = c.collection(ctx, name); err == nil {
			return &Snapshot{s: s, coll: coll, c: c}, nil
		}
	}
	s.putConn(c)
	return nil, err
}

// Close ends the read transaction. A second Close returns ErrClosed.
func (s *Snapshot) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return ErrClosed
	}
	s.s.putConn(s.c)
	s.c = nil
	if s.v != nil {
		s.v.release()
	}
	return nil
}

// use gives f the snapshot's connection.
func (s *Snapshot) use(ctx context.Context, f func(c *conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return f(s.c)
}

// view returns what searching needs; it is there until Close.
func (s *Snapshot) view(ctx context.Context) (v *view, err error) {
	err = s.use(ctx, func(c *conn) error {
		if s.v == nil {
			s.v, err = s.s.view(ctx, c, s.coll)
		}
		v = s.v
		return err
	})
	return v, err
}

// Collection returns the collection's name.
func (s *Snapshot) Collection() string { return s.coll.name }

// Stamps returns the collection's stamps.
func (s *Snapshot) Stamps() Stamps { return s.coll.st }

// Revision returns 12 hex digits of a set hash over documents, chunks, which of them have vectors, and stamps.
func (s *Snapshot) Revision() string { return revision(s.coll.acc, s.coll.st) }

// A Scope is a set of documents and the set of their chunks. Nil sets hold everything; both are of the snapshot that made them only.
type Scope struct {
	Documents bitset.Set
	Chunks    bitset.Set
}

// Visible returns the documents for which pred holds. A nil pred gives the Scope of everything.
func (s *Snapshot) Visible(ctx context.Context, pred func(*DocMeta) bool) (Scope, error) {
	if pred == nil {
		return Scope{}, nil
	}
	m, err := s.metas(ctx)
	if err != nil {
		return Scope{}, err
	}
	sc := Scope{Documents: bitset.New(len(m.list)), Chunks: bitset.New(len(m.doc))}
	for i := range m.list {
		if pred(&m.list[i]) {
			sc.Documents.Add(i)
		}
	}
	for ord, doc := range m.doc {
		if doc >= 0 && sc.Documents.Has(int(doc)) {
			sc.Chunks.Add(ord)
		}
	}
	return sc, nil
}

// RevisionOf is Revision for a caller who sees only these documents ([Scope.Documents]).
func (s *Snapshot) RevisionOf(ctx context.Context, documents bitset.Set) (string, error) {
	if documents == nil {
		return s.Revision(), nil
	}
	m, err := s.metas(ctx)
	if err != nil {
		return "", err
	}
	var acc Hash
	for i := range documents.Rows(len(m.list)) {
		acc = acc.add(m.list[i].digest)
	}
	return revision(acc, s.coll.st), nil
}

// CountsOf counts the documents and chunks of a scope, and its chunks without a vector; the other counts stay 0.
func (s *Snapshot) CountsOf(ctx context.Context, sc Scope) (Counts, error) {
	if sc.Documents == nil && sc.Chunks == nil {
		return s.Counts(ctx, "")
	}
	m, err := s.metas(ctx)
	if err != nil {
		return Counts{}, err
	}
	v, err := s.view(ctx)
	if err != nil {
		return Counts{}, err
	}
	n := Counts{Documents: sc.Documents.Count(len(m.list)), WithoutVector: v.withoutVector(sc.Chunks)}
	for i := range v.parts {
		p := &v.parts[i]
		n.Chunks += p.window(sc.Chunks).Count(p.n())
	}
	return n, nil
}

// metas reads what filters look at, once for all snapshots of this state.
func (s *Snapshot) metas(ctx context.Context) (*metas, error) {
	v, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	v.metaMu.Lock()
	defer v.metaMu.Unlock()
	if v.metas != nil {
		return v.metas, nil
	}
	m := &metas{doc: make([]int32, v.rows)}
	at := map[int64]int32{}
	err = s.use(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT id, doc_id, source, title, media_type, metadata, digest FROM documents WHERE collection = ? AND state = 1 ORDER BY id`, []any{v.coll.id}, func(scan func(...any) error) error {
			var d DocMeta
			var digest []byte
			if err := scan(&d.row, &d.ID, &d.Source, &d.Title, &d.MediaType, &d.Metadata, &digest); err != nil {
				return err
			}
			if err := toHash(&d.digest, digest); err != nil {
				return err
			}
			if s.s.o.Decode != nil {
				d.Decoded = s.s.o.Decode(d.Metadata)
			}
			at[d.row] = int32(len(m.list))
			m.list = append(m.list, d)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	for i := range m.doc {
		m.doc[i] = -1
	}
	for i := range v.parts {
		p := &v.parts[i]
		for ord := range p.live.Rows(p.n()) {
			doc, ok := at[p.docs[ord]]
			if !ok {
				return nil, fmt.Errorf("chunk row %d belongs to no served document: %w", p.ids[ord], ErrCorrupt)
			}
			m.doc[p.first+ord] = doc
		}
	}
	v.metas = m
	return m, nil
}
