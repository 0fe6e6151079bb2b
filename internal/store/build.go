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
	n := 0
	if _, err := c.row(ctx, `SELECT count(*) FROM chunks WHERE collection = ? AND seq > ?`, []any{coll.id, since}, &n); err != nil {
		return err
	}
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
			if b.data == nil {
				b.data = make([]float32, n*b.dim)
			}
			copy(b.data[len(b.g.ids)*b.dim:], row)
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
	if err := g.setPostings(buf.Bytes()); err != nil {
		return nil, err
	}
	if len(b.has) == 0 {
		return g, nil
	}
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

// merged is the live rows of parts as one segment: its table here, its postings and vectors as they are asked for, so that writing
// them down copies none.
type merged struct {
	table *segment // without lex and data; has is nil where no row has a vector
	parts []part
}

func merge(parts []part, dim int) *merged {
	g := &segment{dim: dim, offs: []uint64{0}}
	var has []int
	for i := range parts {
		p := &parts[i]
		for ord := range p.live.Rows(p.n()) {
			if p.data != nil && p.dim == dim && p.has.Has(ord) {
				has = append(has, len(g.ids))
			}
			g.ids = append(g.ids, p.ids[ord])
			g.docs = append(g.docs, p.docs[ord])
			g.keys = append(g.keys, p.key(ord)...)
			g.offs = append(g.offs, uint64(len(g.keys)))
		}
	}
	if len(has) > 0 {
		g.has = bitset.Of(g.n(), has...)
	}
	return &merged{table: g, parts: parts}
}

// postings writes the segment's postings.
func (m *merged) postings(w io.Writer) error {
	lex := make([]lexical.Part, len(m.parts))
	for i := range m.parts {
		lex[i] = lexical.Part{Segment: m.parts[i].lex, Keep: m.parts[i].live}
	}
	return lexical.Merge(w, lex)
}

// vectors yields the vector of each row, zeros where it has none; nothing where no row has one.
func (m *merged) vectors(yield func([]float32) bool) {
	if m.table.has == nil {
		return
	}
	none := make([]float32, m.table.dim)
	for i := range m.parts {
		p := &m.parts[i]
		for ord := range p.live.Rows(p.n()) {
			v := none
			if p.data != nil && p.dim == m.table.dim {
				v = p.data[ord*p.dim : (ord+1)*p.dim]
			}
			if !yield(v) {
				return
			}
		}
	}
}

// inMemory makes the whole segment.
func (m *merged) inMemory() (*segment, error) {
	g := m.table
	var buf bytes.Buffer
	err := m.postings(&buf)
	if err != nil {
		return nil, err
	}
	if err = g.setPostings(buf.Bytes()); err != nil || g.has == nil {
		return g, err
	}
	data := make([]float32, 0, g.n()*g.dim)
	for v := range m.vectors {
		data = append(data, v...)
	}
	return g, g.setVectors(data, g.has)
}
