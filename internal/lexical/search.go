package lexical

import (
	"cmp"
	"container/heap"
	"slices"
	"sort"

	"github.com/exhibit-rag/exhibit/internal/bitset"
)

// Stats returns what the segment says about a query over the documents in the set; nil is all of them. For nil it takes time for
// each term, else also for each document and each posting of the terms.
func (s *Segment) Stats(q Query, in bitset.Set) Stats {
	st := Stats{N: s.docs, Total: s.total, DF: make([]int, len(q.terms))}
	if !in.All() {
		st.N, st.Total = 0, 0
		for ord := range in.Rows(s.docs) {
			st.N++
			st.Total += uint64(s.length(uint32(ord)))
		}
	}
	var b block
	for i, t := range q.terms {
		at := s.find(t)
		switch {
		case at < 0:
		case in.All():
			st.DF[i] = s.df(at)
		default:
			for ord := range s.each(at, &b) {
				if in.Has(int(ord)) {
					st.DF[i]++
				}
			}
		}
	}
	return st
}

// each yields the postings of a term.
func (s *Segment) each(term int, b *block) func(func(ord, tf uint32) bool) {
	return func(yield func(ord, tf uint32) bool) {
		p := s.postings(term)
		for i := range p.blocks() {
			sound := p.read(i, b)
			for j, ord := range b.ords[:b.n] {
				if !yield(ord, b.tfs[j]) {
					return
				}
			}
			if !sound {
				return
			}
		}
	}
}

// Search returns the k documents of the set (nil: of all) with the highest scores for q, best first, equal scores in the order of less,
// which must be total and is that of ordinals when nil. Documents with none of the terms are no hits. st is about the
// same query, over all that the asker may see in all segments; it may be wider than the set. K may be larger than the segment.
func (s *Segment) Search(q Query, st Stats, k int, in bitset.Set, less func(a, b int) bool) []Hit {
	sc := newScorer(q, st)
	if k <= 0 || sc.nothingToFind || s.docs == 0 {
		return nil
	}
	sums := s.borrow()
	defer s.sums.Put(sums)
	s.sumUp(q, &sc, *sums)
	best := topK{k: k, less: less}
	if in.All() {
		for ord, score := range *sums {
			best.offer(ord, score)
		}
	} else {
		for ord := range in.Rows(s.docs) {
			best.offer(ord, (*sums)[ord])
		}
	}
	return best.sorted()
}

// sumUp adds the scores of all documents, term by term, to sums.
func (s *Segment) sumUp(q Query, sc *scorer, sums []float64) {
	var b block
	for i, t := range q.terms {
		at := s.find(t)
		if at < 0 {
			continue
		}
		weight := sc.weights[i]
		p := s.postings(at)
		for n := range p.blocks() {
			sound := p.read(n, &b)
			for j, ord := range b.ords[:b.n] {
				sums[ord] += sc.term(weight, b.tfs[j], s.length(ord))
			}
			if !sound {
				break
			}
		}
	}
}

func (s *Segment) borrow() *[]float64 {
	if sums, ok := s.sums.Get().(*[]float64); ok {
		clear(*sums)
		return sums
	}
	sums := make([]float64, s.docs)
	return &sums
}

// Scores returns the score of each of the given documents, the same to the bit as Search gives; 0 for one that holds none
// of the terms, and for an ordinal that is none. Ordinals may be in any order and repeat.
func (s *Segment) Scores(q Query, st Stats, ords []int) []float64 {
	scores := make([]float64, len(ords))
	sc := newScorer(q, st)
	if sc.nothingToFind {
		return scores
	}
	ascending := make([]int, len(ords)) // indices into ords
	for i := range ascending {
		ascending[i] = i
	}
	slices.SortFunc(ascending, func(a, b int) int { return cmp.Compare(ords[a], ords[b]) })
	var b block
	for i, t := range q.terms {
		at := s.find(t)
		if at < 0 {
			continue
		}
		p := s.postings(at)
		read := -1
		for _, j := range ascending {
			ord := ords[j]
			if ord < 0 || ord >= s.docs {
				continue
			}
			n := p.blockOf(ord)
			if n < 0 {
				break
			}
			if n != read {
				p.read(n, &b)
				read = n
			}
			if x, ok := slices.BinarySearch(b.ords[:b.n], uint32(ord)); ok {
				scores[j] += sc.term(sc.weights[i], b.tfs[x], s.length(uint32(ord)))
			}
		}
	}
	return scores
}

// blockOf returns the block that would hold a document, or −1 if the list ends before it.
func (p *postings) blockOf(ord int) int {
	n := p.blocks()
	if p.skips == nil {
		return min(0, n-1)
	}
	b := sort.Search(n, func(b int) bool { return p.lastOf(b) >= int64(ord) })
	if b == n {
		return -1
	}
	return b
}

// topK is a heap of the k best hits so far, the worst on top.
type topK struct {
	k    int
	less func(a, b int) bool
	hits []Hit
}

func (h *topK) before(a, b Hit) bool {
	switch {
	case a.Score != b.Score:
		return a.Score > b.Score
	case h.less != nil:
		return h.less(a.Ord, b.Ord)
	}
	return a.Ord < b.Ord
}

func (h *topK) offer(ord int, score float64) {
	if !(score > 0) || len(h.hits) == h.k && score < h.hits[0].Score {
		return
	}
	hit := Hit{ord, score}
	switch {
	case len(h.hits) < h.k:
		heap.Push(h, hit)
	case h.before(hit, h.hits[0]):
		h.hits[0] = hit
		heap.Fix(h, 0)
	}
}

func (h *topK) sorted() []Hit {
	slices.SortFunc(h.hits, func(a, b Hit) int {
		if h.before(a, b) {
			return -1
		}
		return 1
	})
	return h.hits
}

// Len, Less, Swap, Push and Pop are for package heap.
func (h *topK) Len() int           { return len(h.hits) }
func (h *topK) Less(i, j int) bool { return h.before(h.hits[j], h.hits[i]) }
func (h *topK) Swap(i, j int)      { h.hits[i], h.hits[j] = h.hits[j], h.hits[i] }
func (h *topK) Push(x any)         { h.hits = append(h.hits, x.(Hit)) }
func (h *topK) Pop() any {
	last := h.hits[len(h.hits)-1]
	h.hits = h.hits[:len(h.hits)-1]
	return last
}
