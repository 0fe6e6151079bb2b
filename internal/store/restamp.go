package store

import "context"

// Restamp is EnsureCollection for a rebuild: where model, dimension or analyser differ from what the collection was made with, it takes the new ones,
// and with another model or dimension the chunks wait for vectors again. Vectors of the old model stay until [Writer.CollectGarbage].
func (w *Writer) Restamp(ctx context.Context, name string, want Stamps) error {
	if w.c == nil {
		return ErrClosed
	}
	coll, err := w.c.collection(ctx, name)
	if err != nil || coll.st.Check(name, want) == nil {
		return w.EnsureCollection(ctx, name, want)
	}
	return w.change(ctx, name, func(coll *collection) (bool, error) {
		vectors := want.Model != "" && (want.Model != coll.st.Model || want.Dimension != coll.st.Dimension)
		if want.Analyser != "" {
			coll.st.Analyser = want.Analyser
		}
		if want.Chunker != "" {
			coll.st.Chunker = want.Chunker
		}
		coll.baseSeq = 0
		if !vectors {
			return true, w.touchChunks(ctx, coll)
		}
		coll.st.Model, coll.st.Dimension = want.Model, want.Dimension
		if err := w.detachAll(ctx, coll); err != nil {
			return false, err
		}
		return true, w.adoptCached(ctx, coll)
	})
}

// DropVectors makes every chunk wait for a vector again and removes the vectors of the collection's model. They are shared, so chunks of other
// collections of that model wait again too, until their next sync.
func (w *Writer) DropVectors(ctx context.Context, name string) error {
	if w.c == nil {
		return ErrClosed
	}
	coll, err := w.c.collection(ctx, name)
	if err != nil || coll.st.Model == "" {
		return err
	}
	model := coll.st.Model
	colls, err := w.s.Collections(ctx)
	if err != nil {
		return err
	}
	return w.c.write(ctx, func() error {
		for _, row := range colls {
			if row.Stamps.Model != model {
				continue
			}
			coll, err := w.c.collection(ctx, row.Name)
			if err != nil {
				return err
			}
			coll.seq++
			if err := w.detachAll(ctx, coll); err != nil {
				return err
			}
			if err := w.save(ctx, coll); err != nil {
				return err
			}
		}
		_, err := w.c.exec(ctx, `DELETE FROM embeddings WHERE model = ?`, model)
		return err
	})
}

// detachAll notes that no chunk of the collection has a vector.
func (w *Writer) detachAll(ctx context.Context, coll *collection) error {
	cs, err := w.waiting(ctx, `WHERE c.collection = ? AND c.vseq <> 0 ORDER BY c.id`, coll.id)
	if err != nil {
		return err
	}
	if err := w.setVectors(ctx, cs, false, func(int64) *collection { return coll }); err != nil {
		return err
	}
	return w.touchChunks(ctx, coll)
}

// touchChunks makes readers take every chunk anew, whatever derived file or state they hold.
func (w *Writer) touchChunks(ctx context.Context, coll *collection) error {
	_, err := w.c.exec(ctx, `UPDATE chunks SET seq = ? WHERE collection = ?`, coll.seq, coll.id)
	return err
}
