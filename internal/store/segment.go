package store

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/exhibit-rag/exhibit/internal/bitset"
	"github.com/exhibit-rag/exhibit/internal/lexical"
	"github.com/exhibit-rag/exhibit/internal/vector"
)

// A segment is an immutable run of chunks, by ordinals 0 to n-1 in ascending order of row id, with all that searching them needs.
// It lives in memory or in a mapped derived file.
type segment struct {
	ids  []int64  // chunk row ids, ascending
	docs []int64  // document row ids
	offs []uint64 // len(ids)+1 offsets into keys
	keys []byte   // evidence keys, one after another
	lex  *lexical.Segment
	post []byte // the bytes that lex reads
	dim  int
	data []float32  // len(ids)*dim numbers, rows without a vector zero; nil where no row has one
	has  bitset.Set // rows that have a vector; not nil where data is not
	mat  *vector.Matrix

	mapped  bool // it lies, at least in part, in a mapped derived file
	pure    bool // and all of it does
	refs    atomic.Int64
	release func() // unmaps; nil for a segment in memory
}

func (g *segment) n() int { return len(g.ids) }

func (g *segment) key(ord int) []byte { return g.keys[g.offs[ord]:g.offs[ord+1]] }

// less orders rows of equal score.
func (g *segment) less(a, b int) bool { return string(g.key(a)) < string(g.key(b)) }

// ord finds a row id.
func (g *segment) ord(id int64) (int, bool) { return slices.BinarySearch(g.ids, id) }

func (g *segment) retain() { g.refs.Add(1) }

func (g *segment) drop() {
	if g.refs.Add(-1) == 0 && g.release != nil {
		g.release()
	}
}

// A part is a segment's place in a view.
type part struct {
	*segment
	first int        // ordinal of the segment's row 0 in the view; a multiple of 64, so that sets can be cut without shifting
	live  bitset.Set // rows that are still served; nil = all
}

// window cuts a set over the view's ordinals down to the part's, and leaves out what is dead.
func (p *part) window(s bitset.Set) bitset.Set {
	if s == nil {
		return p.live
	}
	lo, hi := min(p.first/64, len(s)), min((p.first+p.n()+63)/64, len(s))
	return s[lo:hi:hi].And(p.live)
}

// hit is a search result inside a view, before keys become strings.
type hit struct {
	p     *part
	ord   int
	score float64
}

// best sorts by score, then key, and keeps k.
func best(hits []hit, k int) []Hit {
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), slices.Compare(a.p.key(a.ord), b.p.key(b.ord)))
	})
	out := make([]Hit, min(k, len(hits)))
	for i := range out {
		h := hits[i]
		out[i] = Hit{ID: h.p.ids[h.ord], Key: string(h.p.key(h.ord)), Score: h.score}
	}
	return out
}
