package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

func (w *Writer) hasEmbedding(ctx context.Context, model string, hash Hash) (bool, error) {
	var one int
	return w.c.row(ctx, `SELECT 1 FROM embeddings WHERE hash = ? AND model = ?`, []any{hash[:], model}, &one)
}

// HaveEmbeddings returns those of the hashes under which a vector of the model is stored: what need not be embedded again.
func (w *Writer) HaveEmbeddings(ctx context.Context, model string, hashes []Hash) (map[Hash]bool, error) {
	if w.c == nil {
		return nil, ErrClosed
	}
	out := make(map[Hash]bool, len(hashes))
	for _, h := range hashes {
		ok, err := w.hasEmbedding(ctx, model, h)
		if err != nil {
			return nil, err
		}
		if ok {
			out[h] = true
		}
	}
	return out, nil
}

// PutEmbeddings stores vectors and gives them to the chunks that wait for them, in every collection stamped with the model, in one transaction.
// Vectors of inputs that no chunk has yet are kept for the Replace that follows. All must have the dimension that those collections are stamped with
// (a dimension not known yet is stamped now), otherwise a [*StampError]; NaN and infinity are refused.
func (w *Writer) PutEmbeddings(ctx context.Context, model string, es []Embedding) error {
	if w.c == nil {
		return ErrClosed
	}
	if len(es) == 0 {
		return nil
	}
	for i := range es {
		if err := es[i].check(len(es[0].Vector)); err != nil {
			return err
		}
	}
	return w.c.write(ctx, func() error {
		colls, err := w.ofModel(ctx, model, len(es[0].Vector))
		if err != nil {
			return err
		}
		for i := range es {
			e := &es[i]
			if _, err := w.c.exec(ctx, `INSERT INTO embeddings(model, hash, vec) VALUES(?,?,?) ON CONFLICT(hash, model) DO NOTHING`, model, e.Hash[:], packVector(e.Vector)); err != nil {
				return err
			}
			if err := w.deliver(ctx, colls, e.Hash); err != nil {
				return err
			}
		}
		for _, cs := range colls {
			if cs.changed {
				if err := w.save(ctx, cs.collection); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (e *Embedding) check(dimension int) error {
	if len(e.Vector) != dimension || dimension == 0 {
		return fmt.Errorf("vector of %d numbers among vectors of %d", len(e.Vector), dimension)
	}
	for i, x := range e.Vector {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("vector holds %v at %d", x, i)
		}
	}
	return nil
}

// receiver is a collection that takes vectors in the transaction in hand.
type receiver struct {
	*collection
	changed bool
}

func (w *Writer) ofModel(ctx context.Context, model string, dimension int) (map[int64]*receiver, error) {
	out := map[int64]*receiver{}
	err := w.c.query(ctx, selectCollection+` WHERE model = ?`, []any{model}, func(scan func(...any) error) error {
		coll, err := scanCollection(scan)
		if err != nil {
			return err
		}
		r := &receiver{collection: coll}
		switch coll.st.Dimension {
		case dimension:
		case 0:
			coll.st.Dimension, r.changed = dimension, true
		default:
			return &StampError{Collection: coll.name, Name: "dimension", Stored: strconv.Itoa(coll.st.Dimension), Wanted: strconv.Itoa(dimension)}
		}
		coll.seq++
		out[coll.id] = r
		return nil
	})
	return out, err
}

// waiting is a chunk that is to get its vector, or to lose it.
type waiting struct {
	id, collection, document int64
	index, position          int
	span                     Span
	content                  Hash
	docID, configHash        string
	digest                   Hash
}

const selectWaiting = `SELECT c.id, c.collection, c.document, c.idx, c.position, c.start_byte, c.end_byte, c.start_line, c.end_line, c.start_page, c.end_page, c.content_hash,
	d.doc_id, d.config_hash, d.digest FROM chunks c JOIN documents d ON d.id = c.document `

func (w *Writer) waiting(ctx context.Context, where string, args ...any) ([]waiting, error) {
	var out []waiting
	err := w.c.query(ctx, selectWaiting+where, args, func(scan func(...any) error) error {
		var c waiting
		var content, digest []byte
		if err := scan(&c.id, &c.collection, &c.document, &c.index, &c.position, &c.span.StartByte, &c.span.EndByte, &c.span.StartLine, &c.span.EndLine, &c.span.StartPage, &c.span.EndPage,
			&content, &c.docID, &c.configHash, &digest); err != nil {
			return err
		}
		if err := toHash(&c.content, content); err != nil {
			return err
		}
		if err := toHash(&c.digest, digest); err != nil {
			return err
		}
		out = append(out, c)
		return nil
	})
	return out, err
}

// deliver gives the vector stored under hash to the chunks that wait for it.
func (w *Writer) deliver(ctx context.Context, colls map[int64]*receiver, hash Hash) error {
	cs, err := w.waiting(ctx, `WHERE c.embed_hash = ? AND c.vseq = 0 AND c.collection IN (SELECT value FROM json_each(?)) ORDER BY c.id`, hash[:], idList(colls))
	if err != nil {
		return err
	}
	return w.setVectors(ctx, cs, true, func(id int64) *collection {
		colls[id].changed = true
		return colls[id].collection
	})
}

func idList(colls map[int64]*receiver) string {
	b := []byte{'['}
	for id := range colls {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}

// setVectors notes that chunks have their vectors, or that they lost them, and that it was the other way round before: in their rows, their documents'
// digests and the accumulators.
func (w *Writer) setVectors(ctx context.Context, cs []waiting, have bool, of func(collection int64) *collection) error {
	digests := map[int64]Hash{}
	for i := range cs {
		c := &cs[i]
		coll := of(c.collection)
		old, ok := digests[c.document]
		if !ok {
			old = c.digest
		}
		digest := old.sub(chunkDigest(c.docID, c.configHash, c.index, c.position, c.span, c.content, !have)).
			add(chunkDigest(c.docID, c.configHash, c.index, c.position, c.span, c.content, have))
		coll.acc = coll.acc.sub(old).add(digest)
		digests[c.document] = digest
		since := int64(0)
		if have {
			since = coll.seq
		}
		if _, err := w.c.exec(ctx, `UPDATE chunks SET vseq = ? WHERE id = ?`, since, c.id); err != nil {
			return err
		}
	}
	for _, document := range slices.Sorted(maps.Keys(digests)) {
		digest := digests[document]
		if _, err := w.c.exec(ctx, `UPDATE documents SET digest = ? WHERE id = ?`, digest[:], document); err != nil {
			return err
		}
	}
	return nil
}

// adoptCached gives chunks of a collection that has just been stamped with a model the vectors that are stored for it already.
func (w *Writer) adoptCached(ctx context.Context, coll *collection) error {
	cs, err := w.waiting(ctx, `JOIN embeddings e ON e.hash = c.embed_hash AND e.model = ? WHERE c.collection = ? AND c.vseq = 0 ORDER BY c.id`, coll.st.Model, coll.id)
	if err != nil {
		return err
	}
	return w.setVectors(ctx, cs, true, func(int64) *collection { return coll })
}

// PendingVectors lists served chunks that have no vector, ascending by id, from the one after the id given (0 to begin), at most limit.
func (w *Writer) PendingVectors(ctx context.Context, name string, after int64, limit int) ([]ChunkRow, error) {
	if w.c == nil {
		return nil, ErrClosed
	}
	coll, err := w.c.collection(ctx, name)
	if err != nil {
		return nil, err
	}
	return w.c.chunkRows(ctx, `WHERE c.collection = ? AND c.vseq = 0 AND c.id > ? ORDER BY c.id LIMIT ?`, coll.id, after, limit)
}

// CollectGarbage removes the vectors that no served chunk uses, and returns how many. It is for the end of a sync that succeeded:
// vectors put for versions that were not stored in the end are among them.
func (w *Writer) CollectGarbage(ctx context.Context) (int, error) {
	if w.c == nil {
		return 0, ErrClosed
	}
	n := int64(0)
	err := w.c.write(ctx, func() error {
		r, err := w.c.exec(ctx, `DELETE FROM embeddings WHERE NOT EXISTS(
			SELECT 1 FROM chunks c JOIN collections k ON k.id = c.collection WHERE c.embed_hash = embeddings.hash AND k.model = embeddings.model)`)
		if err != nil {
			return err
		}
		n, err = r.RowsAffected()
		return err
	})
	return int(n), err
}

func packVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// unpackVector fills dst from b; false when b is of another length.
func unpackVector(dst []float32, b []byte) bool {
	if len(b) != 4*len(dst) {
		return false
	}
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return true
}
