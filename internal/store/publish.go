package store

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// A delta of this many chunks, and this part of the file's, costs a cold reader a few milliseconds: less than writing the whole file after each edit.
const (
	publishAfter     = 32
	publishAfterPart = 50 // one in fifty
)

// PublishDerived writes the collection's derived file for the state now, so that readers open it in milliseconds. Without force it leaves
// alone a file that is at most a small delta behind. It reports whether it wrote. Whatever goes wrong here, nothing but speed is lost.
func (w *Writer) PublishDerived(ctx context.Context, name string, force bool) (bool, error) {
	if w.c == nil {
		return false, ErrClosed
	}
	sn, err := w.s.Snapshot(ctx, name)
	if err != nil {
		return false, err
	}
	defer sn.Close()
	v, err := sn.view(ctx)
	if err != nil {
		return false, err
	}
	if upToDate(v, force) {
		return false, nil
	}
	path := w.s.derivedPath(v.coll.id, v.coll.seq)
	if err := writeDerived(path, w.s.identity(&v.coll, v.coll.seq, v.coll.acc), merge(v.parts, v.coll.st.Dimension)); err != nil {
		return false, w.s.wrap(err)
	}
	coll, err := w.c.collection(ctx, name) // the view may be older than a file announced for the same state
	if err != nil {
		return false, err
	}
	if err := w.announce(ctx, coll); err != nil {
		return false, err
	}
	w.s.adopt(v, path)
	// The file before stays: a reader whose transaction is older still asks for it.
	return true, w.s.wrap(w.s.sweepDerived(coll.id, coll.seq, coll.baseSeq))
}

// upToDate reports whether the derived file that the view stands on is good enough.
func upToDate(v *view, force bool) bool {
	if len(v.parts) == 0 {
		return v.coll.baseSeq == 0 // nothing to write down
	}
	base := &v.parts[0]
	if !base.mapped {
		return false
	}
	behind, pure := base.n()-base.live.Count(base.n()), base.pure
	for i := range v.parts[1:] {
		behind += v.parts[1+i].n()
	}
	if behind == 0 && pure {
		return true
	}
	return !force && pure && behind <= publishAfter+base.n()/publishAfterPart
}

// announce makes the collection's row name the new file. No sequence number is raised: what is stored did not change.
func (w *Writer) announce(ctx context.Context, coll *collection) error {
	return w.c.write(ctx, func() error {
		if _, err := w.c.exec(ctx, `INSERT INTO meta(key, value) VALUES(?,?) ON CONFLICT(key) DO UPDATE SET value = excluded.value`, baseKey(coll.id), coll.acc[:]); err != nil {
			return err
		}
		// Readers whose transaction is older than this may stand on the file before: what died since that one is kept.
		if _, err := w.c.exec(ctx, `DELETE FROM dead WHERE collection = ? AND seq <= ?`, coll.id, coll.baseSeq); err != nil {
			return err
		}
		_, err := w.c.exec(ctx, `UPDATE collections SET base_seq = ?, dead_from = base_seq WHERE id = ?`, coll.seq, coll.id)
		return err
	})
}

// adopt lets the store's snapshots of this state stand on the file just written, instead of on what is in memory.
func (s *Store) adopt(v *view, path string) {
	g, err := loadDerived(path, s.identity(&v.coll, v.coll.seq, v.coll.acc))
	if err != nil {
		return
	}
	g.retain()
	fresh := &view{coll: v.coll, parts: []part{{segment: g}}}
	fresh.coll.baseSeq, fresh.coll.deadFrom = v.coll.seq, v.coll.baseSeq
	fresh.layOut()
	fresh.refs.Store(1)
	s.keep(fresh)
	fresh.release()
}

// Size returns the bytes of all files of the store.
func (s *Store) Size() (int64, error) {
	var size int64
	err := filepath.WalkDir(s.folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) { // SQLite and publishing make files come and go
				return nil
			}
			return err
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size, s.wrap(err)
}
