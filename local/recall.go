package local

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/embed"
	"github.com/exhibit-rag/exhibit/internal/store"
)

// session is one question over one revision. Its legs share what each would otherwise make again: the question's terms,
// what the caller may see, the rows that were read, the question's vector.
type session struct {
	s     *Store
	snap  *store.Snapshot
	terms []string // of the question; none where it holds only stop words or punctuation

	scoping sync.Mutex
	scoped  *scopes // of the filters asked about last

	mu   sync.Mutex
	rows map[string]int64 // evidence key → row, for hits of this session

	embedding sync.Mutex
	question  []float32 // the question's vector, once it was asked for
}

func (s *Store) session(snap *store.Snapshot, query string) *session {
	return &session{s: s, snap: snap, terms: s.analyzer.QueryTerms(query), rows: map[string]int64{}}
}

// port returns the legs of a search mode over this session: words, and vectors where there is an embedder.
func (n *session) port() *exhibit.Hybrid {
	legs := []exhibit.Leg{{Name: exhibit.LegLexical, Port: lexicalLeg{n}}}
	if n.s.embedder != nil {
		legs = append(legs, exhibit.Leg{Name: exhibit.LegDense, Port: denseLeg{n}})
	}
	return exhibit.NewHybrid(legs...)
}

// scopes are what the caller may see, and of that what the request asks for; nil sets are everything.
type scopes struct {
	access, filter *exhibit.Filter
	visible, in    store.Scope
}

func (n *session) scopes(ctx context.Context, access, filter *exhibit.Filter) (*scopes, error) {
	n.scoping.Lock()
	defer n.scoping.Unlock()
	if n.scoped != nil && n.scoped.access == access && n.scoped.filter == filter {
		return n.scoped, nil
	}
	sc := &scopes{access: access, filter: filter}
	var err error
	if access != nil {
		if sc.visible, err = n.snap.Visible(ctx, func(d *store.DocMeta) bool { return access.Match(fields(d)) }); err != nil {
			return nil, err
		}
	}
	sc.in = sc.visible
	if filter != nil {
		sc.in, err = n.snap.Visible(ctx, func(d *store.DocMeta) bool {
			get := fields(d)
			return access.Match(get) && filter.Match(get)
		})
		if err != nil {
			return nil, err
		}
	}
	n.scoped = sc
	return sc, nil
}

// fields answers a document's fields to a filter: its own names first, then its metadata.
func fields(d *store.DocMeta) func(string) (exhibit.Value, bool) {
	return func(key string) (exhibit.Value, bool) {
		switch key {
		case "doc_id":
			return exhibit.String(d.ID), true
		case "source":
			return exhibit.String(d.Source), true
		case "title":
			return exhibit.String(d.Title), d.Title != ""
		case "media_type":
			return exhibit.String(d.MediaType), true
		}
		m, _ := d.Decoded.(exhibit.Metadata)
		v, ok := m[key]
		return v, ok
	}
}

// hits reads the chunks that a leg found and puts them in the port's shape.
func (n *session) hits(ctx context.Context, found []store.Hit) ([]exhibit.Hit, error) {
	ids := make([]int64, len(found))
	for i, h := range found {
		ids[i] = h.ID
	}
	rows, err := n.snap.Chunks(ctx, ids)
	if err != nil {
		return nil, storeError("read chunks", "", err)
	}
	out := make([]exhibit.Hit, len(found))
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, row := range rows {
		out[i] = hitOf(&row)
		out[i].Score = found[i].Score
		n.rows[out[i].ID] = row.ID
	}
	return out, nil
}

// hitOf is a stored chunk in the port's shape. Its id is its evidence key: the one id that is the same in every store
// of the same documents.
func hitOf(row *store.ChunkRow) exhibit.Hit {
	position := row.Position
	span := exhibit.Span(row.Span)
	meta := exhibit.Metadata{}
	if stored, ok := decodeMetadata(row.Metadata).(exhibit.Metadata); ok {
		for k, v := range stored {
			meta[k] = v
		}
	}
	meta["docId"] = exhibit.String(row.DocID)
	meta["chunkIndex"] = exhibit.Int(row.Index)
	delete(meta, "doc_id")
	delete(meta, "chunk_index")
	return exhibit.Hit{
		ID: exhibit.ChunkKey(row.DocID, row.Index).String(), Text: row.Text, Metadata: meta, Source: row.Source, Title: row.Title,
		HeadingPath: row.HeadingPath, Span: &span, Position: &position, ConfigHash: row.ConfigHash,
	}
}

// rowsOf finds the rows of hits by their ids; -1 where this store does not hold one.
func (n *session) rowsOf(ctx context.Context, hits []exhibit.Hit) ([]int64, error) {
	out := make([]int64, len(hits))
	for i, h := range hits {
		n.mu.Lock()
		row, ok := n.rows[h.ID]
		n.mu.Unlock()
		if ok {
			out[i] = row
			continue
		}
		out[i] = -1
		key, err := exhibit.ParseKey(h.ID)
		if err != nil || key.Kind() != exhibit.KeyChunk {
			continue
		}
		c, err := n.snap.ChunkByKey(ctx, key.DocID(), key.Index())
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[i] = c.ID
	}
	return out, nil
}

// known splits rows into those that exist and where they stand.
func known(rows []int64) (ids []int64, at []int) {
	for i, r := range rows {
		if r >= 0 {
			ids, at = append(ids, r), append(at, i)
		}
	}
	return ids, at
}

// lexicalLeg searches by words: exact BM25 over title, heading path and text.
type lexicalLeg struct{ n *session }

func (l lexicalLeg) LegName() string { return exhibit.LegLexical }

func (l lexicalLeg) Search(ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sc, err := l.n.scopes(ctx, req.Access, req.Filter)
	if err != nil {
		return nil, err
	}
	found, err := l.n.snap.Lexical(ctx, l.n.terms, req.K, sc.visible.Chunks, sc.in.Chunks)
	if err != nil {
		return nil, storeError("lexical search", "", err)
	}
	return l.n.hits(ctx, found)
}

func (l lexicalLeg) Scores(ctx context.Context, req exhibit.SearchRequest, hits []exhibit.Hit) ([]exhibit.Score, error) {
	sc, err := l.n.scopes(ctx, req.Access, req.Filter)
	if err != nil {
		return nil, err
	}
	rows, err := l.n.rowsOf(ctx, hits)
	if err != nil {
		return nil, err
	}
	ids, at := known(rows)
	values, err := l.n.snap.LexicalScores(ctx, l.n.terms, sc.visible.Chunks, ids)
	if err != nil {
		return nil, err
	}
	out := make([]exhibit.Score, len(hits))
	for i, v := range values {
		out[at[i]] = exhibit.Score{Value: v, OK: true}
	}
	return out, nil
}

// denseLeg searches by meaning: cosine of the question's vector with every chunk's. Of a question without terms it finds
// nothing: its vector would only guess.
type denseLeg struct{ n *session }

func (d denseLeg) LegName() string { return exhibit.LegDense }

func (d denseLeg) Search(ctx context.Context, req exhibit.SearchRequest) ([]exhibit.Hit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(d.n.terms) == 0 {
		return nil, nil
	}
	sc, err := d.n.scopes(ctx, req.Access, req.Filter)
	if err != nil {
		return nil, err
	}
	vector, err := d.n.vector(ctx, req.Query)
	if err != nil || vector == nil {
		return nil, err
	}
	found, err := d.n.snap.Dense(ctx, vector, req.K, sc.in.Chunks)
	if err != nil {
		return nil, storeError("dense search", "", err)
	}
	return d.n.hits(ctx, found)
}

func (d denseLeg) Scores(ctx context.Context, req exhibit.SearchRequest, hits []exhibit.Hit) ([]exhibit.Score, error) {
	out := make([]exhibit.Score, len(hits))
	if len(d.n.terms) == 0 {
		return out, nil
	}
	vector, err := d.n.vector(ctx, req.Query)
	if err != nil || vector == nil {
		return out, err
	}
	rows, err := d.n.rowsOf(ctx, hits)
	if err != nil {
		return nil, err
	}
	ids, at := known(rows)
	values, ok, err := d.n.snap.DenseScores(ctx, vector, ids)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		out[at[i]] = exhibit.Score{Value: v, OK: ok[i]}
	}
	return out, nil
}

// WithoutVector tells how many chunks this leg cannot find yet.
func (d denseLeg) WithoutVector(ctx context.Context, req exhibit.SearchRequest) (int, error) {
	sc, err := d.n.scopes(ctx, req.Access, req.Filter)
	if err != nil {
		return 0, err
	}
	return d.n.snap.WithoutVector(sc.in.Chunks), nil
}

// vector embeds the question, once for search and completion. It is nil where the collection has no vector at all.
func (n *session) vector(ctx context.Context, query string) ([]float32, error) {
	stamps := n.snap.Stamps()
	if stamps.Model == "" {
		return nil, nil
	}
	if err := n.s.checkModel(n.snap.Collection(), stamps); err != nil {
		return nil, err
	}
	n.embedding.Lock()
	defer n.embedding.Unlock()
	if n.question != nil {
		return n.question, nil
	}
	vectors, err := n.s.embedder.Embed(ctx, exhibit.Query, []string{query})
	if err != nil {
		return nil, err
	}
	if err := embed.Normalise(n.s.embedder.Model(), 1, vectors); err != nil {
		return nil, err
	}
	if stamps.Dimension != 0 && len(vectors[0]) != stamps.Dimension {
		return nil, storeError("", "", &store.StampError{Collection: n.snap.Collection(), Name: "dimension", Stored: strconv.Itoa(stamps.Dimension), Wanted: strconv.Itoa(len(vectors[0]))})
	}
	n.question = vectors[0]
	return vectors[0], nil
}

// Port is one leg over a collection, for programs that assemble a Retriever themselves. Every call is over the newest
// revision; a Lookup of the Store keeps one revision throughout instead. It is safe for concurrent use.
type Port struct {
	s          *Store
	collection string
	leg        string
}

// Port returns the port of one leg ("lexical" or "dense"), or of all that the store has ("hybrid", or ""): a
// *exhibit.Hybrid over a port each. The collection "" is the default one. A store without an embedder has no dense
// leg; asked for it, the port answers an error that wraps exhibit.ErrInvalid.
func (s *Store) Port(collection, leg string) exhibit.KnowledgeSearchPort {
	one := func(leg string) exhibit.KnowledgeSearchPort {
		p := Port{s: s, collection: collectionOr(collection), leg: leg}
		if leg == exhibit.LegDense {
			return &densePort{p}
		}
		return &p
	}
	if leg == exhibit.LegLexical || leg == exhibit.LegDense {
		return one(leg)
	}
	legs := []exhibit.Leg{{Name: exhibit.LegLexical, Port: one(exhibit.LegLexical)}}
	if s.embedder != nil {
		legs = append(legs, exhibit.Leg{Name: exhibit.LegDense, Port: one(exhibit.LegDense)})
	}
	return exhibit.NewHybrid(legs...)
}

// LegName names the leg.
func (p *Port) LegName() string { return p.leg }

// leg is what every leg of a session is.
type leg interface {
	exhibit.KnowledgeSearchPort
	exhibit.Scorer
}

func (p *Port) with(ctx context.Context, query string, f func(leg) error) error {
	snap, err := p.s.snapshot(ctx, p.collection)
	if err != nil {
		return err
	}
	defer snap.Close()
	n := p.s.session(snap, query)
	if p.leg == exhibit.LegLexical {
		return f(lexicalLeg{n})
	}
	if p.s.embedder == nil {
		return &exhibit.Error{Source: "embed.provider", Kind: exhibit.ErrInvalid, Err: errors.New("there is no embedder, so there is no dense leg"), Hint: "set another embed.provider, or search the lexical leg"}
	}
	return f(denseLeg{n})
}

// Search implements KnowledgeSearchPort.
func (p *Port) Search(ctx context.Context, req exhibit.SearchRequest) (hits []exhibit.Hit, err error) {
	err = p.with(ctx, req.Query, func(l leg) (err error) {
		hits, err = l.Search(ctx, req)
		return err
	})
	return hits, err
}

// Scores implements Scorer.
func (p *Port) Scores(ctx context.Context, req exhibit.SearchRequest, hits []exhibit.Hit) (scores []exhibit.Score, err error) {
	err = p.with(ctx, req.Query, func(l leg) (err error) {
		scores, err = l.Scores(ctx, req, hits)
		return err
	})
	return scores, err
}

// densePort is the Port of the dense leg, which alone may not find a chunk yet.
type densePort struct{ Port }

// WithoutVector tells how many chunks have no vector yet.
func (p *densePort) WithoutVector(ctx context.Context, req exhibit.SearchRequest) (n int, err error) {
	err = p.with(ctx, req.Query, func(l leg) (err error) {
		if dense, ok := l.(denseLeg); ok {
			n, err = dense.WithoutVector(ctx, req)
		}
		return err
	})
	return n, err
}

var (
	_ exhibit.KnowledgeSearchPort = (*Port)(nil)
	_ exhibit.Scorer              = (*Port)(nil)
)
