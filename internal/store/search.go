package store

import (
	"context"
	"fmt"

	"github.com/exhibit-rag/exhibit/internal/bitset"
	"github.com/exhibit-rag/exhibit/internal/lexical"
)

// Lexical returns the best k chunks of in by BM25 over the query's terms, by score, then key. Only scores above 0 are hits. Statistics (how many chunks,
// how many hold a term, how long they are) are those of visible, never of in; nil sets hold everything. in need not lie inside visible: what is outside it is no hit.
func (s *Snapshot) Lexical(ctx context.Context, terms []string, k int, visible, in bitset.Set) ([]Hit, error) {
	if err := ctx.Err(); err != nil || k <= 0 {
		return nil, err
	}
	v, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	q, st := v.lexicalQuery(terms, visible)
	in = visible.And(in)
	var hits []hit
	for i := range v.parts {
		p := &v.parts[i]
		for _, h := range p.lex.Search(q, st, k, p.window(in), p.less) {
			hits = append(hits, hit{p: p, ord: h.Ord, score: h.Score})
		}
	}
	return best(hits, k), ctx.Err()
}

func (v *view) lexicalQuery(terms []string, visible bitset.Set) (lexical.Query, lexical.Stats) {
	q := lexical.NewQuery(terms)
	var st lexical.Stats
	for i := range v.parts {
		p := &v.parts[i]
		st.Add(p.lex.Stats(q, p.window(visible)))
	}
	return q, st
}

// LexicalScores scores given chunks as Lexical would; 0 where no term occurs. ErrNotFound if a row id is none of this snapshot.
func (s *Snapshot) LexicalScores(ctx context.Context, terms []string, visible bitset.Set, ids []int64) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	q, st := v.lexicalQuery(terms, visible)
	out := make([]float64, len(ids))
	err = v.byPart(ids, func(p *part, ords, at []int) {
		for i, score := range p.lex.Scores(q, st, ords) {
			out[at[i]] = score
		}
	})
	return out, err
}

// Dense returns the best k chunks of in by the dot product of unit vectors, by score, then key. Chunks without a vector are no hits.
// A query of another dimension than the collection's is an error; a collection without vectors has no hits.
func (s *Snapshot) Dense(ctx context.Context, query []float32, k int, in bitset.Set) ([]Hit, error) {
	if err := ctx.Err(); err != nil || k <= 0 {
		return nil, err
	}
	if err := s.checkQuery(query); err != nil {
		return nil, err
	}
	v, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	var hits []hit
	for i := range v.parts {
		p := &v.parts[i]
		if p.mat == nil {
			continue
		}
		for _, h := range p.mat.Search(query, k, p.window(in), p.less) {
			hits = append(hits, hit{p: p, ord: h.Row, score: h.Score})
		}
	}
	return best(hits, k), ctx.Err()
}

func (s *Snapshot) checkQuery(query []float32) error {
	if dim := s.coll.st.Dimension; dim != 0 && len(query) != dim {
		return fmt.Errorf("query vector has %d numbers, collection %s has vectors of %d", len(query), s.coll.name, dim)
	}
	return nil
}

// DenseScores scores given chunks as Dense would; false where a chunk has no vector.
func (s *Snapshot) DenseScores(ctx context.Context, query []float32, ids []int64) ([]float64, []bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := s.checkQuery(query); err != nil {
		return nil, nil, err
	}
	v, err := s.view(ctx)
	if err != nil {
		return nil, nil, err
	}
	scores, has := make([]float64, len(ids)), make([]bool, len(ids))
	err = v.byPart(ids, func(p *part, ords, at []int) {
		if p.mat == nil {
			return
		}
		for i, ord := range ords {
			scores[at[i]], has[at[i]] = p.mat.Score(query, ord)
		}
	})
	return scores, has, err
}

// byPart calls f for each part that holds some of the rows, with their ordinals in it and their places in ids.
func (v *view) byPart(ids []int64, f func(p *part, ords, at []int)) error {
	ords, at := make([][]int, len(v.parts)), make([][]int, len(v.parts))
	for i, id := range ids {
		p, ord, ok := v.find(id)
		if !ok {
			return fmt.Errorf("chunk row %d: %w", id, ErrNotFound)
		}
		for j := range v.parts {
			if p == &v.parts[j] {
				ords[j], at[j] = append(ords[j], ord), append(at[j], i)
			}
		}
	}
	for j := range v.parts {
		if len(ords[j]) > 0 {
			f(&v.parts[j], ords[j], at[j])
		}
	}
	return nil
}

// WithoutVector counts the chunks of in (nil = all) that have no vector. It is for after a search: where what searching needs cannot be
// made ready, which the search says, it is 0.
func (s *Snapshot) WithoutVector(in bitset.Set) int {
	v, err := s.view(context.Background())
	if err != nil {
		return 0
	}
	return v.withoutVector(in)
}

func (v *view) withoutVector(in bitset.Set) int {
	n := 0
	for i := range v.parts {
		p := &v.parts[i]
		w := p.window(in)
		n += w.Count(p.n())
		if p.mat != nil {
			n -= p.has.And(w).Count(p.n())
		}
	}
	return n
}
