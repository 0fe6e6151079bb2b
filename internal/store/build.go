package store

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/exhibit-rag/exhibit/internal/bitset"
	"github.com/exhibit-rag/exhibit/internal/lexical"
)

// A segmentBuilder makes a segment in memory out of rows.
type segmentBuilder struct {
	s     *Store
	dim   int
	g     segment
	texts []string
	data  []float32
	has   []int // ordinals that have a vector
}

// read takes the chunks that came after since, in order of row id, which is that of sequence numbers too, and which an index gives without sorting.
func (b *segmentBuilder) read(ctx context.Context, c *conn, coll *collection, since int64) error {
	b.g.offs = []uint64{0}
	row := make([]float32, b.dim)
	return c.query(ctx, `SELECT c.id, c.document, c.idx, d.doc_id, c.context, c.text, e.vec FROM chunks c JOIN documents d ON d.id = c.document
		LEFT JOIN embeddings e ON c.vseq > 0 AND e.hash = c.embed_hash AND e.model = ?
		WHERE c.collection = ? AND c.seq > ? ORDER BY c.seq, c.id`, []any{coll.st.Model, coll.id, since}, func(scan func(...any) error) error {
		var id, doc int64
		var index int
		var docID string
		var ch Chunk
		var vec []byte
		if err := scan(&id, &doc, &index, &docID, &ch.Context, &ch.Text, &vec); err != nil {
			return err
		}
		if vec != nil {
			if !unpackVector(row, vec) {
				return fmt.Errorf("vector of chunk %d of %q has %d bytes, not %d: %w", index, docID, len(vec), 4*b.dim, ErrCorrupt)
			}
			b.data = append(b.data, make([]float32, (len(b.g.ids)-len(b.data)/max(b.dim, 1))*b.dim)...)
			b.data = append(b.data, row...)
			b.has = append(b.has, len(b.g.ids))
		}
		b.g.ids = append(b.g.ids, id)
		b.g.docs = append(b.g.docs, doc)
		b.g.keys = append(b.g.keys, b.s.o.Key(docID, index)...)
		b.g.offs = append(b.g.offs, uint64(len(b.g.keys)))
		b.texts = append(b.texts, ch.IndexText())
		return nil
	})
}

// done returns the segment; nil where there was no row.
func (b *segmentBuilder) done() (*segment, error) {
	if len(b.g.ids) == 0 {
		return nil, nil
	}
	g := &segment{ids: b.g.ids, docs: b.g.docs, offs: b.g.offs, keys: b.g.keys, dim: b.dim}
	if b.s.o.Terms == nil {
		return nil, fmt.Errorf("store was opened without an analyser")
	}
	lb := lexical.NewBuilder()
	for texts := range slices.Chunk(b.texts, analyseRun) {
		for _, terms := range analyse(b.s.o.Terms, texts) {
			lb.Add(terms)
		}
	}
	var buf bytes.Buffer
	if err := lb.Write(&buf); err != nil {
		return nil, err
	}
	var err error
	if g.lex, err = lexical.OpenSegment(buf.Bytes()); err != nil {
		return nil, err
	}
	if len(b.has) == 0 {
		return g, nil
	}
	b.data = append(b.data, make([]float32, g.n()*g.dim-len(b.data))...)
	return g, g.setVectors(b.data, bitset.Of(g.n(), b.has...))
}

// analyseRun is how many texts' terms are held at once: about 10 MB of them.
const analyseRun = 2048

// analyse makes the terms of all texts, in order, on all cores.
func analyse(terms func([]string, string) []string, texts []string) [][]string {
	out := make([][]string, len(texts))
	const run = 16
	workers := min(runtime.GOMAXPROCS(0), (len(texts)+run-1)/run)
	if workers <= 1 {
		for i, t := range texts {
			out[i] = terms(nil, t)
		}
		return out
	}
	var wg sync.WaitGroup
	next := make(chan int, workers)
	for range workers {
		wg.Go(func() {
			for i := range next {
				for j := i; j < min(i+run, len(texts)); j++ {
					out[j] = terms(nil, texts[j])
				}
			}
		})
	}
	for i := 0; i < len(texts); i += run {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// merged puts the live rows of parts into one segment in memory, all but its postings, which the second result writes.
func merged(parts []part, dim int) (*segment, func(io.Writer) error, error) {
	g := &segment{dim: dim, offs: []uint64{0}}
	var lex []lexical.Part
	var has []int
	vectors := false
	for i := range parts {
		p := &parts[i]
		vectors = vectors || p.data != nil
		lex = append(lex, lexical.Part{Segment: p.lex, Keep: p.live})
		for ord := range p.live.Rows(p.n()) {
			if p.data != nil && p.has.Has(ord) {
				has = append(has, len(g.ids))
			}
			g.ids = append(g.ids, p.ids[ord])
			g.docs = append(g.docs, p.docs[ord])
			g.keys = append(g.keys, p.key(ord)...)
			g.offs = append(g.offs, uint64(len(g.keys)))
		}
	}
	if vectors && dim > 0 {
		data := make([]float32, 0, g.n()*dim)
		for i := range parts {
			p := &parts[i]
			for ord := range p.live.Rows(p.n()) {
				if p.data != nil && p.dim == dim {
					data = append(data, p.data[ord*dim:(ord+1)*dim]...)
				} else {
					data = append(data, make([]float32, dim)...)
				}
			}
		}
		if err := g.setVectors(data, bitset.Of(g.n(), has...)); err != nil {
			return nil, nil, err
		}
	}
	return g, func(w io.Writer) error { return lexical.Merge(w, lex) }, nil
}
