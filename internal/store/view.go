package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/exhibit-rag/exhibit/internal/bitset"
)

// A view is what is known in memory of a collection at one sequence number: its chunks in parts, the largest usually the mapped derived
// file. It is immutable and shared by all snapshots of that state; refs counts them, and one for the store's own hold.
type view struct {
	coll  collection
	parts []part
	rows  int // ordinals in use, dead ones and gaps between parts included
	refs  atomic.Int64

	metaMu sync.Mutex
	metas  *metas // guarded by metaMu
}

// metas is what filters look at; made when first asked for.
type metas struct {
	list []DocMeta
	doc  []int32 // per ordinal: place in list; -1 for dead ordinals and gaps
}

func (v *view) retain() { v.refs.Add(1) }

func (v *view) release() {
	if v.refs.Add(-1) == 0 {
		for i := range v.parts {
			v.parts[i].drop()
		}
	}
}

// maxParts is how many segments in memory a view may have before they are merged into one: enough that following a sync stays cheap,
// few enough that every lookup stays so.
const maxParts = 8

// view returns the state that the connection's transaction sees, which is coll's, from the store's newest one where that is it or leads to it.
// The caller releases it.
func (s *Store) view(ctx context.Context, c *conn, coll *collection) (*view, error) {
	if v := s.known(coll, true); v != nil {
		return v, nil
	}
	select { // one builds, the others find what it made
	case s.building <- struct{}{}:
		defer func() { <-s.building }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if v := s.known(coll, true); v != nil {
		return v, nil
	}
	from := s.known(coll, false)
	if from != nil {
		defer from.release()
	}
	v, err := s.build(ctx, c, coll, from)
	if err != nil {
		return nil, err
	}
	s.keep(v)
	return v, nil
}

// known returns the store's newest state of a collection, held for the caller; with exact only if it is the one that coll is of.
func (s *Store) known(coll *collection, exact bool) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[coll.name]
	if v == nil || v.coll.id != coll.id || (exact && v.coll.seq != coll.seq) {
		return nil
	}
	v.retain()
	return v
}

// keep makes v the store's newest state of its collection, unless a newer one is known.
func (s *Store) keep(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.views[v.coll.name]
	if s.closed || (old != nil && old.coll.id == v.coll.id && old.coll.seq > v.coll.seq) {
		return
	}
	v.retain()
	s.views[v.coll.name] = v
	if old != nil {
		old.release()
	}
}

// build makes the view of coll's state: from the derived file where one newer than from fits, otherwise from from, otherwise from nothing.
func (s *Store) build(ctx context.Context, c *conn, coll *collection, from *view) (*view, error) {
	v := &view{coll: *coll}
	v.refs.Store(1)
	since := int64(0)
	usable := from != nil && from.coll.id == coll.id && from.coll.seq < coll.seq && from.coll.seq >= coll.deadFrom && sameIndex(from.coll.st, coll.st)
	if base := s.base(ctx, c, coll); base != nil && (!usable || coll.baseSeq > from.coll.seq) {
		v.parts = []part{{segment: base}}
		since = coll.baseSeq
	} else if usable {
		v.parts = slices.Clone(from.parts)
		for i := range v.parts {
			v.parts[i].retain()
		}
		since = from.coll.seq
	}
	err := s.advance(ctx, c, v, since)
	if err == nil {
		err = v.compact()
	}
	if err != nil {
		v.release()
		return nil, err
	}
	return v, nil
}

// sameIndex reports whether vectors of one state are those of the other. (Terms do not change while a process lives.)
func sameIndex(a, b Stamps) bool {
	return a.Model == b.Model && (a.Dimension == b.Dimension || a.Dimension == 0)
}

// base opens the derived file that the collection's row names; nil where it is not there or not to be trusted.
func (s *Store) base(ctx context.Context, c *conn, coll *collection) *segment {
	if coll.baseSeq == 0 || coll.baseSeq < coll.deadFrom || s.o.Terms == nil {
		return nil
	}
	var acc []byte
	if ok, err := c.row(ctx, `SELECT value FROM meta WHERE key = ?`, []any{baseKey(coll.id)}, &acc); err != nil || !ok || len(acc) != len(Hash{}) {
		return nil
	}
	g, err := loadDerived(s.derivedPath(coll.id, coll.baseSeq), s.identity(coll, coll.baseSeq, Hash(acc)))
	if err != nil {
		return nil
	}
	g.retain()
	return g
}

// baseKey names the row of meta that keeps the accumulator of the state that the derived file holds.
func baseKey(coll int64) string { return fmt.Sprintf("base-%d", coll) }

// advance brings a view that knows the state since to that of its collection.
func (s *Store) advance(ctx context.Context, c *conn, v *view, since int64) error {
	if since == v.coll.seq {
		v.layOut()
		return nil
	}
	if since > 0 {
		if err := v.bury(ctx, c, since); err != nil {
			return err
		}
		if err := v.enrich(ctx, c, since); err != nil {
			return err
		}
	}
	b := &segmentBuilder{s: s, dim: v.coll.st.Dimension}
	if err := b.read(ctx, c, &v.coll, since); err != nil {
		return err
	}
	g, err := b.done()
	if err != nil {
		return err
	}
	if g != nil {
		g.retain()
		v.parts = append(v.parts, part{segment: g})
	}
	v.layOut()
	return nil
}

// layOut gives parts their ordinals.
func (v *view) layOut() {
	v.rows = 0
	for i := range v.parts {
		v.parts[i].first = v.rows
		v.rows += (v.parts[i].n() + 63) / 64 * 64
	}
}

// find returns the part and row of a chunk.
func (v *view) find(id int64) (*part, int, bool) {
	i, ok := slices.BinarySearchFunc(v.parts, id, func(p part, id int64) int {
		switch {
		case p.n() == 0 || p.ids[p.n()-1] < id:
			return -1
		case p.ids[0] > id:
			return 1
		}
		return 0
	})
	if !ok {
		return nil, 0, false
	}
	p := &v.parts[i]
	ord, ok := p.ord(id)
	return p, ord, ok && p.live.Has(ord)
}

// bury takes out what died since.
func (v *view) bury(ctx context.Context, c *conn, since int64) error {
	owned := map[*part]bool{}
	return c.query(ctx, `SELECT chunk FROM dead WHERE collection = ? AND seq > ?`, []any{v.coll.id, since}, func(scan func(...any) error) error {
		var id int64
		if err := scan(&id); err != nil {
			return err
		}
		p, ord, ok := v.find(id)
		if !ok { // it came and went in between
			return nil
		}
		if !owned[p] { // the set may be another view's too
			owned[p] = true
			p.live = fullSet(p.n()).And(p.live)
		}
		p.live.Remove(ord)
		return nil
	})
}

func fullSet(n int) bitset.Set {
	s := bitset.New(n)
	for i := range n {
		s.Add(i)
	}
	return s
}

// enrich adds the vectors that came since to chunks that were known before.
func (v *view) enrich(ctx context.Context, c *conn, since int64) error {
	type arrival struct {
		ord int
		vec []byte
	}
	came := map[*part][]arrival{}
	err := c.query(ctx, `SELECT c.id, e.vec FROM chunks c JOIN embeddings e ON e.hash = c.embed_hash AND e.model = ?
		WHERE c.collection = ? AND c.vseq > ? AND c.seq <= ?`, []any{v.coll.st.Model, v.coll.id, since, since}, func(scan func(...any) error) error {
		var id int64
		var vec []byte
		if err := scan(&id, &vec); err != nil {
			return err
		}
		if p, ord, ok := v.find(id); ok {
			came[p] = append(came[p], arrival{ord, bytes.Clone(vec)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	dim := v.coll.st.Dimension
	for p, list := range came {
		g := &segment{ids: p.ids, docs: p.docs, offs: p.offs, keys: p.keys, lex: p.lex, post: p.post, dim: dim, mapped: p.mapped}
		data, has := make([]float32, p.n()*dim), bitset.New(p.n())
		if p.dim == dim {
			copy(data, p.data)
			copy(has, p.has)
		}
		for _, a := range list {
			if !unpackVector(data[a.ord*dim:(a.ord+1)*dim], a.vec) {
				return fmt.Errorf("vector of chunk row %d: %w", p.ids[a.ord], ErrCorrupt)
			}
			has.Add(a.ord)
		}
		if err := g.setVectors(data, has); err != nil {
			return err
		}
		old := p.segment // its table and postings live on in g
		g.release = old.drop
		g.retain()
		p.segment = g
	}
	return nil
}

// compact merges the segments in memory when they are many.
func (v *view) compact() error {
	first := 0
	if len(v.parts) > 0 && v.parts[0].mapped {
		first = 1
	}
	if len(v.parts)-first <= maxParts {
		return nil
	}
	g, err := merge(v.parts[first:], v.coll.st.Dimension).inMemory()
	if err != nil {
		return err
	}
	for i := range v.parts[first:] {
		v.parts[first+i].drop()
	}
	g.retain()
	v.parts = append(v.parts[:first:first], part{segment: g})
	v.layOut()
	return nil
}
