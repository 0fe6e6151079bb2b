package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

const selectChunkRows = `SELECT c.id, c.idx, c.position, c.start_byte, c.end_byte, c.start_line, c.end_line, c.start_page, c.end_page, c.heading_path, c.content_hash, c.embed_hash, c.vseq > 0,
	c.context, c.text, d.doc_id, d.source, d.title, d.media_type, d.metadata, d.config_hash FROM chunks c JOIN documents d ON d.id = c.document `

// chunkRows reads chunks with what their documents say of them; where is all that follows the tables c (chunks) and d (documents).
func (c *conn) chunkRows(ctx context.Context, where string, args ...any) ([]ChunkRow, error) {
	var out []ChunkRow
	err := c.query(ctx, selectChunkRows+where, args, func(scan func(...any) error) error {
		var r ChunkRow
		var headings string
		var content, embed []byte
		if err := scan(&r.ID, &r.Index, &r.Position, &r.Span.StartByte, &r.Span.EndByte, &r.Span.StartLine, &r.Span.EndLine, &r.Span.StartPage, &r.Span.EndPage, &headings, &content, &embed, &r.HasVector,
			&r.Context, &r.Text, &r.DocID, &r.Source, &r.Title, &r.MediaType, &r.Metadata, &r.ConfigHash); err != nil {
			return err
		}
		if headings != "[]" {
			if err := json.Unmarshal([]byte(headings), &r.HeadingPath); err != nil {
				return fmt.Errorf("heading path of chunk %d of %q: %w", r.Index, r.DocID, ErrCorrupt)
			}
		}
		if err := toHash(&r.ContentHash, content); err != nil {
			return err
		}
		if err := toHash(&r.EmbedHash, embed); err != nil {
			return err
		}
		out = append(out, r)
		return nil
	})
	return out, err
}

const failureColumns = `f.doc_id, f.root, f.source, f.code, f.reason, f.hint, f.at`

// nullFailure scans failureColumns of an outer join.
type nullFailure struct {
	id, root, source, code, reason, hint *string
	at                                   *int64
}

func (n *nullFailure) dest() []any {
	return []any{&n.id, &n.root, &n.source, &n.code, &n.reason, &n.hint, &n.at}
}

// failure returns nil where the join found none.
func (n *nullFailure) failure() *Failure {
	if n.id == nil {
		return nil
	}
	return &Failure{ID: *n.id, Root: *n.root, Source: *n.source, Code: *n.code, Reason: *n.reason, Hint: *n.hint, At: fromMicro(*n.at)}
}

const documentColumns = `d.doc_id, d.root, d.source, d.title, d.media_type, d.metadata, d.content_hash, d.source_hash, d.reader, d.mark, d.config_hash, d.next_index, d.chunks, d.state, d.synced_at, d.gone_at`

// documentRow scans documentColumns, then failureColumns, then extra.
func documentRow(scan func(...any) error, chunker string, extra ...any) (DocumentRow, error) {
	var r DocumentRow
	var f nullFailure
	var content, source []byte
	var synced, gone int64
	dest := append([]any{&r.ID, &r.Root, &r.Source, &r.Title, &r.MediaType, &r.Metadata, &content, &source, &r.Reader, &r.Mark, &r.ConfigHash, &r.NextIndex, &r.Chunks, &r.State, &synced, &gone}, f.dest()...)
	if err := scan(append(dest, extra...)...); err != nil {
		return r, err
	}
	r.SyncedAt, r.GoneAt, r.Failure = fromMicro(synced), fromMicro(gone), f.failure()
	r.Stale = r.State == Current && r.ConfigHash != chunker
	if err := toHash(&r.ContentHash, content); err != nil {
		return r, err
	}
	return r, toHash(&r.SourceHash, source)
}

// A DocumentQuery says which documents [Snapshot.Documents] lists.
type DocumentQuery struct {
	Prefix  string // of the docId; "" = all
	State   string // AnyState, StateCurrent, StateStale, StateFailed or StateGone
	After   string // docId after which to go on; "" = from the first
	Limit   int    // most rows; 0 = no limit
	Chunker string // configuration hash that is not stale; "" = the collection's stamp
}

// Documents lists documents by docId, in order of its bytes. A source that only ever failed is listed with State Absent.
func (s *Snapshot) Documents(ctx context.Context, q DocumentQuery) ([]DocumentRow, error) {
	if q.Chunker == "" {
		q.Chunker = s.coll.st.Chunker
	}
	want := map[string]string{
		AnyState:     `d.state = 1`,
		StateCurrent: `d.state = 1 AND f.doc_id IS NULL AND d.config_hash = ?2`,
		StateStale:   `d.state = 1 AND d.config_hash <> ?2`,
		StateFailed:  `d.state = 1 AND f.doc_id IS NOT NULL`,
		StateGone:    `d.state = 2`,
	}[q.State]
	if want == "" {
		return nil, fmt.Errorf("document state %q: want %s, %s, %s or %s", q.State, StateCurrent, StateStale, StateFailed, StateGone)
	}
	limit := int64(-1)
	if q.Limit > 0 {
		limit = int64(q.Limit)
	}
	var out []DocumentRow
	err := s.use(ctx, func(c *conn) error {
		args := []any{s.coll.id, q.Chunker, q.Prefix, q.After, limit}
		err := c.query(ctx, `SELECT `+documentColumns+`, `+failureColumns+` FROM documents d LEFT JOIN failures f ON f.collection = d.collection AND f.doc_id = d.doc_id
			WHERE d.collection = ?1 AND ?2 = ?2 AND d.doc_id >= ?3 AND d.doc_id > ?4 AND substr(CAST(d.doc_id AS BLOB), 1, length(CAST(?3 AS BLOB))) = CAST(?3 AS BLOB) AND `+want+`
			ORDER BY d.doc_id LIMIT ?5`, args, func(scan func(...any) error) error {
			r, err := documentRow(scan, q.Chunker)
			out = append(out, r)
			return err
		})
		if err != nil || (q.State != AnyState && q.State != StateFailed) {
			return err
		}
		return s.absent(ctx, c, q, limit, &out)
	})
	return out, err
}

// absent merges in the failures of sources that have no version.
func (s *Snapshot) absent(ctx context.Context, c *conn, q DocumentQuery, limit int64, out *[]DocumentRow) error {
	var more []DocumentRow
	err := c.query(ctx, `SELECT `+failureColumns+` FROM failures f LEFT JOIN documents d ON f.collection = d.collection AND f.doc_id = d.doc_id AND d.state = 1
		WHERE f.collection = ?1 AND d.id IS NULL AND f.doc_id >= ?2 AND f.doc_id > ?3 ORDER BY f.doc_id`, []any{s.coll.id, q.Prefix, q.After}, func(scan func(...any) error) error {
		var n nullFailure
		if err := scan(n.dest()...); err != nil {
			return err
		}
		if f := n.failure(); strings.HasPrefix(f.ID, q.Prefix) {
			more = append(more, DocumentRow{Document: Document{ID: f.ID, Root: f.Root, Source: f.Source}, Failure: f})
		}
		return nil
	})
	merged := make([]DocumentRow, 0, len(*out)+len(more))
	a, b := *out, more
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || (len(a) > 0 && a[0].ID < b[0].ID) {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	if limit >= 0 && int64(len(merged)) > limit {
		merged = merged[:limit]
	}
	*out = merged
	return err
}

// Document returns a document with its text. One that is gone has State Gone, no text, and says when it went; a source that only
// ever failed has State Absent. ErrNotFound where nothing is known under the docId.
func (s *Snapshot) Document(ctx context.Context, docID string) (DocumentRow, error) {
	var r DocumentRow
	found := false
	err := s.use(ctx, func(c *conn) error {
		var text *string
		err := c.query(ctx, `SELECT `+documentColumns+`, `+failureColumns+`, t.text FROM documents d LEFT JOIN failures f ON f.collection = d.collection AND f.doc_id = d.doc_id
			LEFT JOIN texts t ON t.document = d.id WHERE d.collection = ? AND d.doc_id = ?`, []any{s.coll.id, docID}, func(scan func(...any) error) (err error) {
			r, err = documentRow(scan, s.coll.st.Chunker, &text)
			found = true
			return err
		})
		if text != nil {
			r.Text = *text
		}
		if err != nil || found {
			return err
		}
		var out []DocumentRow
		if err := s.absent(ctx, c, DocumentQuery{Prefix: docID}, 1, &out); err != nil {
			return err
		}
		if found = len(out) > 0 && out[0].ID == docID; found {
			r = out[0]
		}
		return nil
	})
	if err == nil && !found {
		err = fmt.Errorf("document %q: %w", docID, ErrNotFound)
	}
	return r, err
}

// Chunks returns the chunks with these row ids, in their order; ErrNotFound if one is not there.
func (s *Snapshot) Chunks(ctx context.Context, ids []int64) ([]ChunkRow, error) {
	list, err := json.Marshal(append([]int64{}, ids...))
	if err != nil {
		return nil, err
	}
	rows, err := s.chunkRows(ctx, `WHERE +c.collection = ? AND c.id IN (SELECT value FROM json_each(?))`, s.coll.id, string(list))
	if err != nil {
		return nil, err
	}
	at := make(map[int64]int, len(rows))
	for i := range rows {
		at[rows[i].ID] = i
	}
	out := make([]ChunkRow, len(ids))
	for i, id := range ids {
		j, ok := at[id]
		if !ok {
			return nil, fmt.Errorf("chunk row %d: %w", id, ErrNotFound)
		}
		out[i] = rows[j]
	}
	return out, nil
}

func (s *Snapshot) chunkRows(ctx context.Context, where string, args ...any) (rows []ChunkRow, err error) {
	err = s.use(ctx, func(c *conn) error {
		rows, err = c.chunkRows(ctx, where, args...)
		return err
	})
	return rows, err
}

// ChunkByKey returns the served chunk under a key; ErrNotFound where there is none ([Snapshot.History] tells whether there was).
func (s *Snapshot) ChunkByKey(ctx context.Context, docID string, index int) (ChunkRow, error) {
	rows, err := s.chunkRows(ctx, `WHERE d.collection = ? AND d.doc_id = ? AND c.idx = ?`, s.coll.id, docID, index)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("chunk %d of document %q: %w", index, docID, ErrNotFound)
	}
	if err != nil {
		return ChunkRow{}, err
	}
	return rows[0], nil
}

// Neighbours returns the chunk of a document at a position with up to so many before and after it, in order of position.
func (s *Snapshot) Neighbours(ctx context.Context, docID string, position, before, after int) ([]ChunkRow, error) {
	return s.chunkRows(ctx, `WHERE d.collection = ? AND d.doc_id = ? AND c.position BETWEEN ? AND ? ORDER BY c.position`, s.coll.id, docID, position-before, position+after)
}

// DocumentChunks returns all chunks of a document in order of position.
func (s *Snapshot) DocumentChunks(ctx context.Context, docID string) ([]ChunkRow, error) {
	return s.chunkRows(ctx, `WHERE d.collection = ? AND d.doc_id = ? ORDER BY c.position`, s.coll.id, docID)
}

// ChunksWithContent returns the served chunks whose text has this hash, by docId, then index.
func (s *Snapshot) ChunksWithContent(ctx context.Context, content Hash) ([]ChunkRow, error) {
	return s.chunkRows(ctx, `WHERE c.content_hash = ? AND c.collection = ? ORDER BY d.doc_id, c.idx`, content[:], s.coll.id)
}

// History returns every text that a key has had, by the time it was first seen, then by hash; none where the key never was.
func (s *Snapshot) History(ctx context.Context, docID string, index int) ([]Past, error) {
	var out []Past
	err := s.use(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT h.idx, h.content_hash, h.start_byte, h.end_byte, h.start_line, h.end_line, h.start_page, h.end_page, h.first_seen, h.last_seen, h.gone_at
			FROM history h JOIN documents d ON d.id = h.document WHERE d.collection = ? AND d.doc_id = ? AND h.idx = ? ORDER BY h.first_seen, h.content_hash`,
			[]any{s.coll.id, docID, index}, func(scan func(...any) error) error {
				var p Past
				var content []byte
				var first, last, gone int64
				if err := scan(&p.Index, &content, &p.First.StartByte, &p.First.EndByte, &p.First.StartLine, &p.First.EndLine, &p.First.StartPage, &p.First.EndPage, &first, &last, &gone); err != nil {
					return err
				}
				p.FirstSeen, p.LastSeen, p.GoneAt = fromMicro(first), fromMicro(last), fromMicro(gone)
				out = append(out, p)
				return toHash(&out[len(out)-1].ContentHash, content)
			})
	})
	return out, err
}

// Counts counts. chunker is the configuration hash that is not stale; "" = the collection's stamp.
func (s *Snapshot) Counts(ctx context.Context, chunker string) (Counts, error) {
	if chunker == "" {
		chunker = s.coll.st.Chunker
	}
	var n Counts
	err := s.use(ctx, func(c *conn) error {
		id := s.coll.id
		for _, q := range []struct {
			sql  string
			args []any
			dest []any
		}{
			{`SELECT count(*), coalesce(sum(chunks), 0), coalesce(sum(config_hash <> ?), 0) FROM documents WHERE collection = ? AND state = 1`, []any{chunker, id}, []any{&n.Documents, &n.Chunks, &n.Stale}},
			{`SELECT count(*) FROM chunks WHERE collection = ? AND vseq = 0`, []any{id}, []any{&n.WithoutVector}},
			{`SELECT count(*) FROM failures WHERE collection = ?`, []any{id}, []any{&n.Failed}},
		} {
			if _, err := c.row(ctx, q.sql, q.args, q.dest...); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// A CollectionRow is a collection of the store.
type CollectionRow struct {
	Name     string
	Revision string
	Stamps   Stamps
}

// Collections lists all collections by name.
func (s *Store) Collections(ctx context.Context) ([]CollectionRow, error) {
	var out []CollectionRow
	err := s.read(ctx, func(c *conn) error {
		return c.query(ctx, selectCollection+` ORDER BY name`, nil, func(scan func(...any) error) error {
			coll, err := scanCollection(scan)
			if err == nil {
				out = append(out, CollectionRow{Name: coll.name, Revision: revision(coll.acc, coll.st), Stamps: coll.st})
			}
			return err
		})
	})
	return out, err
}

// Roots lists what is synced into a collection, by path; ErrNotFound where there is no such collection.
func (s *Store) Roots(ctx context.Context, name string) ([]Root, error) {
	var out []Root
	err := s.read(ctx, func(c *conn) error {
		coll, err := c.collection(ctx, name)
		if err != nil {
			return err
		}
		return c.query(ctx, `SELECT path, kind, options FROM roots WHERE collection = ? ORDER BY path`, []any{coll.id}, func(scan func(...any) error) error {
			var r Root
			err := scan(&r.Path, &r.Kind, &r.Options)
			out = append(out, r)
			return err
		})
	})
	return out, err
}
