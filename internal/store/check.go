package store

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
)

// A Finding is what [Store.Check] found about one thing.
type Finding struct {
	Name   string // "file", "documents", "vectors", "revision" or "derived", after the collection's name where it is of one
	Level  string // "ok", "warn" (only speed is lost) or "fail"
	Detail string
	Hint   string // what mends it; "" for ok
}

const restoreHint = "put back a copy of the store, or move its folder away and sync again"

// Check looks the store over. Without deep it takes milliseconds: the derived files and the sums. With deep SQLite reads its whole file, every text and
// vector is read and hashed again, every derived file is made again and compared. An error means that Check itself could not go on.
func (s *Store) Check(ctx context.Context, deep bool) ([]Finding, error) {
	var out []Finding
	if deep {
		f, err := s.checkFile(ctx)
		if err != nil {
			return nil, err
		}
		if out = append(out, f); f.Level == "fail" {
			return out, nil
		}
	}
	colls, err := s.Collections(ctx)
	if err != nil {
		return nil, err
	}
	for _, coll := range colls {
		fs, err := s.checkCollection(ctx, coll.Name, deep)
		if err != nil {
			return nil, err
		}
		out = append(out, fs...)
	}
	return out, nil
}

func (s *Store) checkFile(ctx context.Context) (Finding, error) {
	f := Finding{Name: "file", Level: "ok", Detail: "SQLite finds " + FileName + " intact"}
	err := s.read(ctx, func(c *conn) error {
		return c.query(ctx, "PRAGMA integrity_check(5)", nil, func(scan func(...any) error) error {
			var line string
			if err := scan(&line); err != nil {
				return err
			}
			if line != "ok" {
				f = Finding{Name: "file", Level: "fail", Detail: line, Hint: restoreHint}
			}
			return nil
		})
	})
	return f, err
}

// checker collects what is wrong with one collection.
type checker struct {
	c     *conn
	coll  *collection
	deep  bool
	wrong []string
}

// maxNamed is how many faults a finding names before it only counts.
const maxNamed = 5

func (k *checker) fault(format string, args ...any) {
	k.wrong = append(k.wrong, fmt.Sprintf(format, args...))
}

// finding makes one Finding of the faults since the last one.
func (k *checker) finding(name, fine string) Finding {
	f := Finding{Name: k.coll.name + ": " + name, Level: "ok", Detail: fine}
	if n := len(k.wrong); n > 0 {
		f.Level, f.Hint = "fail", restoreHint
		f.Detail = fmt.Sprintf("%d faults: %q", n, k.wrong[:min(n, maxNamed)])
	}
	k.wrong = nil
	return f
}

func (s *Store) checkCollection(ctx context.Context, name string, deep bool) ([]Finding, error) {
	var out []Finding
	err := s.read(ctx, func(c *conn) error {
		coll, err := c.collection(ctx, name)
		if err != nil {
			return err
		}
		k := &checker{c: c, coll: coll, deep: deep}
		n, err := k.documents(ctx)
		if err != nil {
			return err
		}
		out = append(out, k.finding("documents", fmt.Sprintf("%d documents fit their sums", n)))
		if deep {
			n, err := k.vectors(ctx)
			if err != nil {
				return err
			}
			out = append(out, k.finding("vectors", fmt.Sprintf("%d vectors are whole", n)))
		}
		out = append(out, s.checkDerived(ctx, c, coll, deep))
		return nil
	})
	return out, err
}

// documents compares the accumulator with the digests and, with deep, these with the rows and the rows with their texts.
func (k *checker) documents(ctx context.Context) (int, error) {
	var acc Hash
	n := 0
	type doc struct {
		stored
		chunks int
	}
	var docs []doc
	err := k.c.query(ctx, `SELECT id, doc_id, title, source, metadata, config_hash, content_hash, digest, next_index, chunks FROM documents WHERE collection = ? AND state = 1`, []any{k.coll.id}, func(scan func(...any) error) error {
		var d doc
		var digest, content []byte
		if err := scan(&d.row, &d.ID, &d.Title, &d.Source, &d.Metadata, &d.ConfigHash, &content, &digest, &d.next, &d.chunks); err != nil {
			return err
		}
		if err := toHash(&d.digest, digest); err != nil {
			return err
		}
		if err := toHash(&d.contentHash, content); err != nil {
			return err
		}
		acc = acc.add(d.digest)
		n++
		if k.deep {
			docs = append(docs, d)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if acc != k.coll.acc {
		k.fault("the accumulator is not the sum of the documents")
	}
	for i := range docs {
		if err := k.document(ctx, &docs[i].stored, docs[i].chunks); err != nil {
			return 0, err
		}
	}
	return n, k.counters(ctx)
}

// counters holds that no document's index counter is at or below an index that it gave.
func (k *checker) counters(ctx context.Context) error {
	return k.c.query(ctx, `SELECT d.doc_id FROM documents d WHERE d.collection = ? AND d.next_index <= (SELECT max(h.idx) FROM history h WHERE h.document = d.id)`, []any{k.coll.id}, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		k.fault("%s: its index counter is too low", id)
		return err
	})
}

func (k *checker) document(ctx context.Context, d *stored, chunks int) error {
	var text string
	if _, err := k.c.row(ctx, `SELECT text FROM texts WHERE document = ?`, []any{d.row}, &text); err != nil {
		return err
	}
	if HashText(text) != d.contentHash {
		k.fault("%s: its text does not have its hash", d.ID)
	}
	rows, err := k.c.chunkRows(ctx, `WHERE c.document = ? ORDER BY c.position`, d.row)
	if err != nil {
		return err
	}
	digest := documentDigest(d.ID, d.contentHash, d.Title, d.Source, d.Metadata)
	for i := range rows {
		r := &rows[i]
		sp := r.Span
		digest = digest.add(chunkDigest(d.ID, d.ConfigHash, r.Index, r.Position, sp, r.ContentHash, r.HasVector))
		switch {
		case r.Position != i:
			k.fault("%s: chunk %d is at position %d, not %d", d.ID, r.Index, r.Position, i)
		case HashText(r.Text) != r.ContentHash:
			k.fault("%s: chunk %d does not have its hash", d.ID, r.Index)
		case sp.StartByte < 0 || sp.StartByte > sp.EndByte || sp.EndByte > len(text) || text[sp.StartByte:sp.EndByte] != r.Text:
			k.fault("%s: chunk %d is not what stands at its span", d.ID, r.Index)
		case r.Index >= d.next:
			k.fault("%s: chunk %d is not below the counter %d", d.ID, r.Index, d.next)
		}
	}
	if len(rows) != chunks {
		k.fault("%s: %d chunks, not %d", d.ID, len(rows), chunks)
	}
	if digest != d.digest {
		k.fault("%s: its digest is another", d.ID)
	}
	return nil
}

func (k *checker) vectors(ctx context.Context) (int, error) {
	n := 0
	err := k.c.query(ctx, `SELECT d.doc_id, c.idx, e.vec FROM chunks c JOIN documents d ON d.id = c.document
		LEFT JOIN embeddings e ON e.hash = c.embed_hash AND e.model = ? WHERE c.collection = ? AND c.vseq > 0`, []any{k.coll.st.Model, k.coll.id}, func(scan func(...any) error) error {
		var id string
		var index int
		var vec []byte
		if err := scan(&id, &index, &vec); err != nil {
			return err
		}
		n++
		v := make([]float32, k.coll.st.Dimension)
		e := Embedding{Vector: v}
		if !unpackVector(v, vec) || e.check(len(v)) != nil {
			k.fault("%s: the vector of chunk %d is missing or damaged", id, index)
		}
		return nil
	})
	return n, err
}

// checkDerived says whether readers can stand on the derived file.
func (s *Store) checkDerived(ctx context.Context, c *conn, coll *collection, deep bool) Finding {
	f := Finding{Name: coll.name + ": derived", Level: "ok"}
	warn := func(format string, args ...any) Finding {
		f.Level, f.Detail, f.Hint = "warn", fmt.Sprintf(format, args...), "the next sync writes it again; until then the first lookup of each process is slower"
		return f
	}
	if coll.baseSeq == 0 {
		return warn("no derived file was written yet")
	}
	path := s.derivedPath(coll.id, coll.baseSeq)
	g := s.base(ctx, c, coll)
	if g == nil {
		if _, err := os.Stat(path); err != nil {
			return warn("%v", err)
		}
		return warn("%s is damaged, or made of another state or by another version", path)
	}
	defer g.drop()
	if !deep {
		f.Detail = fmt.Sprintf("%d chunks, %d changes behind", g.n(), coll.seq-coll.baseSeq)
		return f
	}
	same, err := s.compareDerived(ctx, c, coll, g)
	if err != nil {
		return warn("comparing it: %v", err)
	}
	if !same {
		return warn("%s is not what the rows give: delete it", path)
	}
	f.Detail = fmt.Sprintf("%d chunks, equal to what the rows give", g.n())
	return f
}

// compareDerived makes the collection's segment again from the rows and compares it with the file's brought up to date.
func (s *Store) compareDerived(ctx context.Context, c *conn, coll *collection, base *segment) (bool, error) {
	base.retain()
	have := &view{coll: *coll, parts: []part{{segment: base}}}
	have.refs.Store(1)
	defer have.release()
	if err := s.advance(ctx, c, have, coll.baseSeq); err != nil {
		return false, err
	}
	fresh := &view{coll: *coll}
	fresh.refs.Store(1)
	defer fresh.release()
	if err := s.advance(ctx, c, fresh, 0); err != nil {
		return false, err
	}
	a, err := merge(have.parts, coll.st.Dimension).inMemory()
	if err != nil {
		return false, err
	}
	b, err := merge(fresh.parts, coll.st.Dimension).inMemory()
	if err != nil {
		return false, err
	}
	return slices.Equal(a.ids, b.ids) && slices.Equal(a.docs, b.docs) && bytes.Equal(a.keys, b.keys) && slices.Equal(a.offs, b.offs) &&
		bytes.Equal(raw(a.data), raw(b.data)) && slices.Equal(a.has, b.has) && bytes.Equal(a.post, b.post), nil
}
