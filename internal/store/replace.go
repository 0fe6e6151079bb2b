package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Limits of one write transaction of [Writer.Replace]: enough that a commit's cost is shared, little enough that readers and disk see it soon.
const (
	maxBatchDocuments = 64
	maxBatchBytes     = 4 << 20
)

// Replace stores new versions of documents, or first ones. Each is atomic; up to 64 of them, or 4 MB of text, share one transaction, so an error may
// undo some that precede the one at fault: the returned Changes, in order of vs, are those that are stored.
//
// Unchanged texts keep their chunk index ([Assign]). A chunk whose embedder input has a stored vector gets it at once: to replace a served version
// without a moment in which it lacks vectors, call PutEmbeddings before. A recorded failure of the document is cleared.
// A version whose chunks are not where they say in its text, or do not ascend, is refused as a whole.
func (w *Writer) Replace(ctx context.Context, name string, vs []Version) ([]Change, error) {
	for i := range vs {
		if err := vs[i].check(); err != nil {
			return nil, err
		}
	}
	var done []Change
	for len(vs) > 0 {
		n, size := 0, 0
		for n < len(vs) && n < maxBatchDocuments && (n == 0 || size+len(vs[n].Document.Text) <= maxBatchBytes) {
			size += len(vs[n].Document.Text)
			n++
		}
		batch := make([]Change, 0, n)
		err := w.change(ctx, name, func(coll *collection) (bool, error) {
			changed := false
			for i := range vs[:n] {
				ch, err := w.replace(ctx, coll, &vs[i])
				if err != nil {
					return false, fmt.Errorf("store document %q: %w", vs[i].Document.ID, err)
				}
				batch = append(batch, ch)
				changed = changed || !ch.Unchanged
			}
			return changed, nil
		})
		if err != nil {
			return done, err
		}
		done = append(done, batch...)
		vs = vs[n:]
	}
	return done, nil
}

// check holds the promise that nothing is stored that does not stand where it says.
func (v *Version) check() error {
	d := &v.Document
	if d.ID == "" || !utf8.ValidString(d.ID) {
		return fmt.Errorf("document %q: its id is empty or not UTF-8", d.ID)
	}
	if len(v.Chunks) == 0 {
		return fmt.Errorf("document %q: no chunks", d.ID)
	}
	for i := range v.Chunks {
		c := &v.Chunks[i]
		sp := c.Span
		if sp.StartByte < 0 || sp.EndByte > len(d.Text) || sp.StartByte > sp.EndByte || d.Text[sp.StartByte:sp.EndByte] != c.Text {
			return fmt.Errorf("document %q: chunk at position %d is not what stands at bytes %d to %d", d.ID, i, sp.StartByte, sp.EndByte)
		}
		if c.Text == "" {
			return fmt.Errorf("document %q: chunk at position %d is empty", d.ID, i)
		}
		if i > 0 && sp.StartByte < v.Chunks[i-1].Span.StartByte {
			return fmt.Errorf("document %q: chunk at position %d stands before the one at position %d", d.ID, i, i-1)
		}
	}
	return nil
}

// stored is a document row as a replacement sees it.
type stored struct {
	Document
	row         int64
	contentHash Hash
	next        int
	state       State
	digest      Hash
	syncedAt    int64
}

func (w *Writer) stored(ctx context.Context, coll *collection, id string) (*stored, error) {
	d := stored{Document: Document{ID: id}}
	var content, source, digest []byte
	ok, err := w.c.row(ctx, `SELECT id, root, source, title, media_type, metadata, content_hash, source_hash, reader, mark, config_hash, next_index, state, digest, synced_at
		FROM documents WHERE collection = ? AND doc_id = ?`, []any{coll.id, id},
		&d.row, &d.Root, &d.Source, &d.Title, &d.MediaType, &d.Metadata, &content, &source, &d.Reader, &d.Mark, &d.ConfigHash, &d.next, &d.state, &digest, &d.syncedAt)
	if err != nil || !ok {
		return nil, err
	}
	for _, h := range []struct {
		to   *Hash
		from []byte
	}{{&d.contentHash, content}, {&d.SourceHash, source}, {&d.digest, digest}} {
		if err := toHash(h.to, h.from); err != nil {
			return nil, err
		}
	}
	return &d, nil
}

// oldChunk is a chunk row as a replacement sees it; its texts are read only where hashes do not decide.
type oldChunk struct {
	id              int64
	index, position int
	span            Span
	headings        string
	content, embed  Hash
	context         string
	vector          bool
}

func (w *Writer) oldChunks(ctx context.Context, document int64) ([]oldChunk, error) {
	var out []oldChunk
	err := w.c.query(ctx, `SELECT id, idx, position, start_byte, end_byte, start_line, end_line, start_page, end_page, heading_path, content_hash, embed_hash, context, vseq > 0
		FROM chunks WHERE document = ? ORDER BY position`, []any{document}, func(scan func(...any) error) error {
		var o oldChunk
		var content, embed []byte
		if err := scan(&o.id, &o.index, &o.position, &o.span.StartByte, &o.span.EndByte, &o.span.StartLine, &o.span.EndLine, &o.span.StartPage, &o.span.EndPage,
			&o.headings, &content, &embed, &o.context, &o.vector); err != nil {
			return err
		}
		if err := toHash(&o.content, content); err != nil {
			return err
		}
		if err := toHash(&o.embed, embed); err != nil {
			return err
		}
		out = append(out, o)
		return nil
	})
	return out, err
}

func (w *Writer) past(ctx context.Context, document int64) ([]Held, error) {
	var out []Held
	err := w.c.query(ctx, `SELECT idx, content_hash FROM history WHERE document = ?`, []any{document}, func(scan func(...any) error) error {
		var h Held
		var content []byte
		if err := scan(&h.Index, &content); err != nil {
			return err
		}
		out = append(out, h)
		return toHash(&out[len(out)-1].Hash, content)
	})
	return out, err
}

// replace stores one version inside the transaction in hand.
func (w *Writer) replace(ctx context.Context, coll *collection, v *Version) (Change, error) {
	d := &v.Document
	ch := Change{ID: d.ID}
	old, err := w.stored(ctx, coll, d.ID)
	if err != nil {
		return ch, err
	}
	var before []oldChunk
	var past []Held
	next := 0
	if old != nil {
		if before, err = w.oldChunks(ctx, old.row); err != nil {
			return ch, err
		}
		if past, err = w.past(ctx, old.row); err != nil {
			return ch, err
		}
		next = old.next
	}
	ch.Added = old == nil || old.state != Current
	content := HashText(d.Text)
	hashes := make([]Hash, len(v.Chunks))
	for i := range v.Chunks {
		hashes[i] = HashText(v.Chunks[i].Text)
	}
	indexes, next := Assign(heldBy(before), past, next, hashes)
	rows, err := w.plan(ctx, coll, v, before, indexes, hashes)
	if err != nil {
		return ch, err
	}
	count(&ch, before, rows)
	if err := w.clearFailure(ctx, coll, d.ID); err != nil {
		return ch, err
	}
	ch.Unchanged = !ch.Added && old.sameAs(d, content) && len(before) == len(rows) && !slices.ContainsFunc(rows, func(r newRow) bool { return r.old == nil || r.moved })
	if ch.Unchanged {
		return ch, nil
	}
	digest := documentDigest(d.ID, content, d.Title, d.Source, d.Metadata)
	for i := range rows {
		r := &rows[i]
		digest = digest.add(chunkDigest(d.ID, d.ConfigHash, r.index, i, r.c.Span, r.content, r.vector))
	}
	row, err := w.putDocument(ctx, coll, old, d, content, next, len(rows), digest)
	if err != nil {
		return ch, err
	}
	if old != nil && old.state == Current {
		coll.acc = coll.acc.sub(old.digest)
	}
	coll.acc = coll.acc.add(digest)
	if err := w.putHistory(ctx, row, before, rows); err != nil {
		return ch, err
	}
	return ch, w.putChunks(ctx, coll, row, before, rows)
}

func heldBy(before []oldChunk) []Held {
	out := make([]Held, len(before))
	for i := range before {
		out[i] = Held{Index: before[i].index, Position: before[i].position, Hash: before[i].content}
	}
	return out
}

func (s *stored) sameAs(d *Document, content Hash) bool {
	e := *d
	e.Text = ""
	return s.contentHash == content && s.Document == e
}

// newRow is what becomes of one chunk of the new version.
type newRow struct {
	c        *Chunk
	index    int
	headings string
	content  Hash
	vector   bool
	old      *oldChunk // row that can stay, since what is indexed of it is the same
	moved    bool      // the row stays, but its span, position or heading path are new
}

// plan decides for each chunk whether its old row stays, and whether it has a vector.
func (w *Writer) plan(ctx context.Context, coll *collection, v *Version, before []oldChunk, indexes []int, hashes []Hash) ([]newRow, error) {
	byIndex := make(map[int]*oldChunk, len(before))
	for i := range before {
		byIndex[before[i].index] = &before[i]
	}
	rows := make([]newRow, len(v.Chunks))
	for i := range v.Chunks {
		c := &v.Chunks[i]
		headings, err := json.Marshal(append([]string{}, c.HeadingPath...))
		if err != nil {
			return nil, err
		}
		r := newRow{c: c, index: indexes[i], content: hashes[i], headings: string(headings)}
		if o := byIndex[r.index]; o != nil && o.content == r.content && o.embed == c.EmbedHash && o.context == c.Context {
			r.old, r.vector = o, o.vector
			r.moved = o.position != i || o.span != c.Span || o.headings != r.headings
		} else if coll.st.Model != "" {
			if r.vector, err = w.hasEmbedding(ctx, coll.st.Model, c.EmbedHash); err != nil {
				return nil, err
			}
		}
		rows[i] = r
	}
	return rows, nil
}

func count(ch *Change, before []oldChunk, rows []newRow) {
	was := make(map[int]Hash, len(before))
	for i := range before {
		was[before[i].index] = before[i].content
	}
	for i := range rows {
		content, there := was[rows[i].index]
		switch {
		case !there:
			ch.New++
		case content == rows[i].content:
			ch.Kept++
		default:
			ch.Changed++
		}
		delete(was, rows[i].index)
		if !rows[i].vector {
			ch.NoVector++
		}
	}
	ch.Removed = len(was)
}

func (w *Writer) putDocument(ctx context.Context, coll *collection, old *stored, d *Document, content Hash, next, chunks int, digest Hash) (int64, error) {
	now := w.now()
	if old == nil {
		row, err := w.c.insert(ctx, `INSERT INTO documents(collection, doc_id, root, source, title, media_type, metadata, content_hash, source_hash, reader, mark, config_hash,
			next_index, chunks, state, synced_at, gone_at, digest) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,1,?,0,?)`,
			coll.id, d.ID, d.Root, d.Source, d.Title, d.MediaType, d.Metadata, content[:], d.SourceHash[:], d.Reader, d.Mark, d.ConfigHash, next, chunks, now, digest[:])
		if err != nil {
			return 0, err
		}
		_, err = w.c.exec(ctx, `INSERT INTO texts(document, text) VALUES(?,?)`, row, d.Text)
		return row, err
	}
	_, err := w.c.exec(ctx, `UPDATE documents SET root=?, source=?, title=?, media_type=?, metadata=?, content_hash=?, source_hash=?, reader=?, mark=?, config_hash=?,
		next_index=?, chunks=?, state=1, synced_at=?, gone_at=0, digest=? WHERE id=?`,
		d.Root, d.Source, d.Title, d.MediaType, d.Metadata, content[:], d.SourceHash[:], d.Reader, d.Mark, d.ConfigHash, next, chunks, now, digest[:], old.row)
	if err != nil || (old.state == Current && old.contentHash == content) {
		return old.row, err
	}
	_, err = w.c.exec(ctx, `INSERT INTO texts(document, text) VALUES(?,?) ON CONFLICT(document) DO UPDATE SET text = excluded.text`, old.row, d.Text)
	return old.row, err
}

// putHistory notes which texts came under which keys and which went.
func (w *Writer) putHistory(ctx context.Context, document int64, before []oldChunk, rows []newRow) error {
	now := w.now()
	type at struct {
		index   int
		content Hash
	}
	stays := make(map[at]bool, len(rows))
	for i := range rows {
		stays[at{rows[i].index, rows[i].content}] = true
	}
	was := make(map[at]bool, len(before))
	for i := range before {
		key := at{before[i].index, before[i].content}
		was[key] = true
		if stays[key] {
			continue
		}
		if err := w.endHistory(ctx, document, before[i].index, before[i].content, now); err != nil {
			return err
		}
	}
	for i := range rows {
		r := &rows[i]
		if was[at{r.index, r.content}] {
			if _, err := w.c.exec(ctx, `UPDATE history SET last_seen=? WHERE document=? AND idx=? AND content_hash=?`, now, document, r.index, r.content[:]); err != nil {
				return err
			}
			continue
		}
		sp := &r.c.Span
		if _, err := w.c.exec(ctx, `INSERT INTO history(document, idx, content_hash, start_byte, end_byte, start_line, end_line, start_page, end_page, first_seen, last_seen, gone_at)
			VALUES(?,?,?,?,?,?,?,?,?,?,?,0) ON CONFLICT(document, idx, content_hash) DO UPDATE SET last_seen = excluded.last_seen, gone_at = 0`,
			document, r.index, r.content[:], sp.StartByte, sp.EndByte, sp.StartLine, sp.EndLine, sp.StartPage, sp.EndPage, now, now); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) endHistory(ctx context.Context, document int64, index int, content Hash, now int64) error {
	_, err := w.c.exec(ctx, `UPDATE history SET gone_at=? WHERE document=? AND idx=? AND content_hash=?`, now, document, index, content[:])
	return err
}

func (w *Writer) putChunks(ctx context.Context, coll *collection, document int64, before []oldChunk, rows []newRow) error {
	stays := make(map[int64]bool, len(rows))
	for i := range rows {
		if rows[i].old != nil {
			stays[rows[i].old.id] = true
		}
	}
	for i := range before {
		if !stays[before[i].id] {
			if err := w.deleteChunk(ctx, coll, before[i].id); err != nil {
				return err
			}
		}
	}
	for i := range rows {
		r := &rows[i]
		sp := &r.c.Span
		if r.old != nil {
			if !r.moved {
				continue
			}
			if _, err := w.c.exec(ctx, `UPDATE chunks SET position=?, start_byte=?, end_byte=?, start_line=?, end_line=?, start_page=?, end_page=?, heading_path=? WHERE id=?`,
				i, sp.StartByte, sp.EndByte, sp.StartLine, sp.EndLine, sp.StartPage, sp.EndPage, r.headings, r.old.id); err != nil {
				return err
			}
			continue
		}
		vseq := int64(0)
		if r.vector {
			vseq = coll.seq
		}
		if _, err := w.c.exec(ctx, `INSERT INTO chunks(collection, document, idx, position, start_byte, end_byte, start_line, end_line, start_page, end_page,
			heading_path, content_hash, embed_hash, seq, vseq, context, text) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
			coll.id, document, r.index, i, sp.StartByte, sp.EndByte, sp.StartLine, sp.EndLine, sp.StartPage, sp.EndPage,
			r.headings, r.content[:], r.c.EmbedHash[:], coll.seq, vseq, r.c.Context, r.c.Text); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) deleteChunk(ctx context.Context, coll *collection, id int64) error {
	if _, err := w.c.exec(ctx, `DELETE FROM chunks WHERE id = ?`, id); err != nil {
		return err
	}
	_, err := w.c.exec(ctx, `INSERT INTO dead(collection, seq, chunk) VALUES(?,?,?)`, coll.id, coll.seq, id)
	return err
}
