// Package lexical is an inverted index with exact BM25.
//
// A [Builder] collects the terms of documents, known by ordinals 0, 1, 2, …, and writes one immutable segment; [Merge]
// writes one from the kept documents of several, without their texts. A [Segment] is searched where it lies: over bytes, or
// over a mapped file with [OpenFile]. An index of several segments is searched in two steps, so that a score does not depend
// on how documents are spread over segments:
//
//	q := lexical.NewQuery(terms)
//	var st lexical.Stats
//	for i, s := range segments {
//		st.Add(s.Stats(q, visible[i])) // what the asker may see
//	}
//	for i, s := range segments {
//		hits := s.Search(q, st, k, results[i], nil) // what may be answered: visible and filtered
//	}
//
// Scores are bit-identical whatever the segments, their order and the order of adding: the terms of a question are
// summed in the order of their bytes, in the same arithmetic everywhere, and no product is fused into a sum. Terms are strings that mean
// nothing here; package analysis makes them.
package lexical

import (
	"math"
	"slices"
)

// Params are the two constants of BM25.
type Params struct {
	K1 float64 // how soon further occurrences of a term stop to count; ≥ 0
	B  float64 // how much of the length of a document is held against it; 0 to 1
}

// DefaultParams returns k1 1.2 and b 0.75, the values in most common use.
func DefaultParams() Params { return Params{K1: 1.2, B: 0.75} }

// Query is the distinct terms of a question and how often each occurs in it.
type Query struct {
	Params Params // set by NewQuery to DefaultParams; may be changed before use
	terms  []string
	counts []int
}

// NewQuery makes a query of terms, in any order, a repeated term counting as often as it is repeated. It keeps no part of the slice.
func NewQuery(terms []string) Query {
	q := Query{Params: DefaultParams()}
	sorted := slices.Clone(terms)
	slices.Sort(sorted)
	for _, t := range sorted {
		if n := len(q.terms); n > 0 && q.terms[n-1] == t {
			q.counts[n-1]++
			continue
		}
		q.terms = append(q.terms, t)
		q.counts = append(q.counts, 1)
	}
	return q
}

// Terms returns the distinct terms in the order in which they are summed, which is also that of [Stats.DF]. The caller must not change it.
func (q Query) Terms() []string { return q.terms }

// Stats is what BM25 must know of a collection for one query. Stats of several segments are added.
type Stats struct {
	N     int    // documents
	Total uint64 // terms in all of them, repeated ones repeated
	DF    []int  // documents that hold a term, for each term of the query
}

// Add adds what another segment says about the same query.
func (st *Stats) Add(other Stats) {
	st.N += other.N
	st.Total += other.Total
	if len(st.DF) < len(other.DF) {
		st.DF = append(st.DF, make([]int, len(other.DF)-len(st.DF))...)
	}
	for i, df := range other.DF {
		st.DF[i] += df
	}
}

// Hit is a document and its score, which is above 0.
type Hit struct {
	Ord   int
	Score float64
}

// scorer holds what is the same for every document of a query. The formula is
//
//	score(D, Q) = Σ over t in Q:  qtf · idf(t) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · |D| / avgdl))
//	idf(t) = ln(1 + (N − df + 0.5) / (df + 0.5))
//
// after S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", Foundations and Trends in
// Information Retrieval 3(4), 2009, §3.4; the 1 within the logarithm, which keeps idf above 0 for terms that most documents hold,
// is that of Apache Lucene's BM25Similarity.
type scorer struct {
	weights       []float64 // qtf · idf · (k1 + 1) for each term
	short, slope  float64   // k1 · (1 − b) and k1 · b / avgdl
	nothingToFind bool
}

func newScorer(q Query, st Stats) scorer {
	if st.N <= 0 || st.Total == 0 || len(q.terms) == 0 {
		return scorer{nothingToFind: true}
	}
	avgdl := float64(st.Total) / float64(st.N)
	sc := scorer{
		weights: make([]float64, len(q.terms)),
		short:   q.Params.K1 * (1 - q.Params.B),
		slope:   q.Params.K1 * q.Params.B / avgdl,
	}
	for i, count := range q.counts {
		df := float64(st.DF[i])
		idf := math.Log(1 + max(0, float64(st.N)-df+0.5)/(df+0.5))
		sc.weights[i] = float64(count) * idf * (q.Params.K1 + 1)
	}
	return sc
}

// term returns what one term adds to the score of a document. The conversions forbid the compiler to fuse operations, which it does on some processors only.
func (sc *scorer) term(weight float64, tf, length uint32) float64 {
	f := float64(tf)
	return float64(float64(weight*f) / (f + float64(sc.short+float64(sc.slope*float64(length)))))
}
