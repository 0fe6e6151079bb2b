package exhibittest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/exhibit-rag/exhibit"
)

// MemoryPort is a small, right search port over documents in memory, cut at blank lines: the measure that the suite and
// the broken ports are held against. It scores and reports coverage too, and is safe for concurrent use.
type MemoryPort struct {
	name   string
	docs   []Doc
	chunks []memoryChunk
}

type memoryChunk struct {
	doc    int
	hit    exhibit.Hit
	terms  map[string]int
	length int
	vector []float32
}

// NewMemoryWords returns a port named "lexical" that scores by BM25 over what the access rule shows; only a chunk with
// a word of the question is a hit.
func NewMemoryWords(docs []Doc) *MemoryPort { return newMemoryPort(exhibit.LegLexical, docs) }

// NewMemoryVectors returns a port named "dense" that scores by the cosine of the vectors of a FakeEmbedder.
func NewMemoryVectors(docs []Doc) *MemoryPort { return newMemoryPort(exhibit.LegDense, docs) }

const memoryDimension = 256

func newMemoryPort(name string, docs []Doc) *MemoryPort {
	p := &MemoryPort{name: name, docs: slices.Clone(docs)}
	for d := range p.docs {
		doc := &p.docs[d]
		for i, text := range doc.Paragraphs() {
			m := exhibit.Metadata{}
			maps.Copy(m, doc.Metadata)
			m["docId"], m["chunkIndex"] = exhibit.String(doc.DocID), exhibit.Int(i)
			c := memoryChunk{doc: d, terms: map[string]int{}, vector: bagOfWords(text, memoryDimension),
				hit: exhibit.Hit{ID: fmt.Sprintf("%s/%d", doc.DocID, i), Text: text, Title: doc.Title, Source: doc.DocID, Position: &i, Metadata: m}}
			for _, w := range words(text) {
				c.terms[w]++
				c.length++
			}
			p.chunks = append(p.chunks, c)
		}
	}
	return p
}

// LegName returns "lexical" or "dense".
func (p *MemoryPort) LegName() string { return p.name }

// Search answers the best K chunks that pass filter and access rule; equal scores stand in the order of their ids.
func (p *MemoryPort) Search(ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	score := p.scorer(req)
	var hits []exhibit.Hit
	for i := range p.chunks {
		c := &p.chunks[i]
		if !p.passes(c, req.Access) || !p.passes(c, req.Filter) {
			continue
		}
		h := c.hit
		h.Metadata = maps.Clone(h.Metadata)
		if h.Score = score(c); h.Score > 0 || p.name == exhibit.LegDense {
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, func(a, b exhibit.Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
	return hits[:min(len(hits), req.K)], nil
}

// Scores scores the chunks of the given hits.
func (p *MemoryPort) Scores(ctx context.Context, req exhibit.SearchRequest, hits []exhibit.Hit) ([]exhibit.Score, error) {
	score := p.scorer(req)
	scores := make([]exhibit.Score, len(hits))
	for i := range hits {
		for c := range p.chunks {
			if chunk := &p.chunks[c]; identityOf(&chunk.hit) == identityOf(&hits[i]) && p.passes(chunk, req.Access) {
				scores[i] = exhibit.Score{Value: score(chunk), OK: true}
			}
		}
	}
	return scores, ctx.Err()
}

// WithoutVector returns 0: every chunk can be found.
func (p *MemoryPort) WithoutVector(ctx context.Context, _ exhibit.SearchRequest) (int, error) {
	return 0, ctx.Err()
}

func (p *MemoryPort) passes(c *memoryChunk, f *exhibit.Filter) bool {
	return f.Match(p.docs[c.doc].Field)
}

// scorer returns the scoring function of one request. BM25 is that of Robertson and Zaragoza, "The Probabilistic
// Relevance Framework: BM25 and Beyond", 2009, with k1 1.2 and b 0.75.
func (p *MemoryPort) scorer(req exhibit.SearchRequest) func(*memoryChunk) float64 {
	if p.name == exhibit.LegDense {
		query := bagOfWords(req.Query, memoryDimension)
		return func(c *memoryChunk) float64 {
			var dot float64
			for i, x := range query {
				dot += float64(x) * float64(c.vector[i])
			}
			return dot
		}
	}
	const k1, b = 1.2, 0.75
	n, total, df := 0.0, 0.0, map[string]float64{}
	for i := range p.chunks {
		if c := &p.chunks[i]; p.passes(c, req.Access) {
			n++
			total += float64(c.length)
			for w := range c.terms {
				df[w]++
			}
		}
	}
	query := words(req.Query)
	slices.Sort(query)
	query = slices.Compact(query)
	return func(c *memoryChunk) float64 {
		sum := 0.0
		for _, w := range query {
			if tf := float64(c.terms[w]); tf > 0 {
				idf := math.Log(1 + (n-df[w]+0.5)/(df[w]+0.5))
				sum += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*float64(c.length)/(total/n)))
			}
		}
		return sum
	}
}

var (
	_ exhibit.KnowledgeSearchPort = (*MemoryPort)(nil)
	_ exhibit.Named               = (*MemoryPort)(nil)
	_ exhibit.Scorer              = (*MemoryPort)(nil)
	_ exhibit.Coverage            = (*MemoryPort)(nil)
)
