package store

import (
	"context"
	"fmt"
)

// Touch stores what is new about served documents whose text, title, chunker configuration and chunks stay: root, source, media type, source hash, reader,
// mark, metadata. A document that is not served is ErrNotFound; one whose title or configuration differ is refused (its chunks' context holds the title): Replace it.
// Its Text and ID are not changed; Text is not looked at.
func (w *Writer) Touch(ctx context.Context, name string, docs []Document) error {
	return w.change(ctx, name, func(coll *collection) (bool, error) {
		changed := false
		for i := range docs {
			d := &docs[i]
			old, err := w.stored(ctx, coll, d.ID)
			switch {
			case err != nil:
				return false, err
			case old == nil || old.state != Current:
				return false, fmt.Errorf("document %q: %w", d.ID, ErrNotFound)
			case old.Title != d.Title || old.ConfigHash != d.ConfigHash:
				return false, fmt.Errorf("document %q: a new title or chunker configuration needs Replace", d.ID)
			}
			if err := w.clearFailure(ctx, coll, d.ID); err != nil {
				return false, err
			}
			if old.sameAs(d, old.contentHash) {
				continue
			}
			changed = true
			digest := old.digest.sub(documentDigest(d.ID, old.contentHash, old.Title, old.Source, old.Metadata)).
				add(documentDigest(d.ID, old.contentHash, d.Title, d.Source, d.Metadata))
			coll.acc = coll.acc.sub(old.digest).add(digest)
			if _, err := w.c.exec(ctx, `UPDATE documents SET root=?, source=?, media_type=?, metadata=?, source_hash=?, reader=?, mark=?, digest=? WHERE id=?`,
				d.Root, d.Source, d.MediaType, d.Metadata, d.SourceHash[:], d.Reader, d.Mark, digest[:], old.row); err != nil {
				return false, err
			}
		}
		return changed, nil
	})
}

// Remove takes documents away. What stays is a tombstone: docId, index counter, history, and when they went. It returns, in the order given,
// those that were served, and how many chunks they had; recorded failures of all of them are forgotten. All go in one transaction.
func (w *Writer) Remove(ctx context.Context, name string, ids []string) ([]string, int, error) {
	var removed []string
	chunks := 0
	err := w.change(ctx, name, func(coll *collection) (bool, error) {
		for _, id := range ids {
			if err := w.clearFailure(ctx, coll, id); err != nil {
				return false, err
			}
			old, err := w.stored(ctx, coll, id)
			if err != nil {
				return false, err
			}
			if old == nil || old.state != Current {
				continue
			}
			n, err := w.bury(ctx, coll, old)
			if err != nil {
				return false, fmt.Errorf("remove document %q: %w", id, err)
			}
			removed, chunks = append(removed, id), chunks+n
		}
		return len(removed) > 0, nil
	})
	if err != nil {
		return nil, 0, err
	}
	return removed, chunks, nil
}

// bury makes a tombstone of a document and returns how many chunks it had.
func (w *Writer) bury(ctx context.Context, coll *collection, old *stored) (int, error) {
	before, err := w.oldChunks(ctx, old.row)
	if err != nil {
		return 0, err
	}
	now := w.now()
	for i := range before {
		if err := w.deleteChunk(ctx, coll, before[i].id); err != nil {
			return 0, err
		}
		if err := w.endHistory(ctx, old.row, before[i].index, before[i].content, now); err != nil {
			return 0, err
		}
	}
	if _, err := w.c.exec(ctx, `DELETE FROM texts WHERE document = ?`, old.row); err != nil {
		return 0, err
	}
	coll.acc = coll.acc.sub(old.digest)
	_, err = w.c.exec(ctx, `UPDATE documents SET state=2, gone_at=?, chunks=0, metadata='', title='' WHERE id=?`, now, old.row)
	return len(before), err
}
