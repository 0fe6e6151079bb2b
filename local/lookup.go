package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/store"
)

// Lookup answers a question over one revision of a collection. See [exhibit.Retriever.Lookup] for its errors; one
// that wraps exhibit.ErrNotFound says that there is no such collection.
func (s *Store) Lookup(ctx context.Context, req exhibit.LookupRequest) (*exhibit.LookupResult, error) {
	if req.Collection == "" {
		req.Collection = exhibit.DefaultCollection
	}
	if err := exhibit.CheckCollection(req.Collection); err != nil {
		return nil, err
	}
	snap, err := s.snapshot(ctx, req.Collection)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	n := s.session(snap, req.Query)
	if req.Settings.SearchMode.Value != exhibit.ModeLexical {
		if err := s.checkModel(req.Collection, snap.Stamps()); err != nil {
			return nil, err
		}
	}
	revision, err := n.revision(ctx, req.Access, req.Filter)
	if err != nil {
		return nil, err
	}
	warnings, err := n.warnings(ctx, req)
	if err != nil {
		return nil, err
	}
	r := exhibit.NewRetriever(n.port(), &exhibit.RetrieverOptions{
		Reranker: s.opt.Reranker, RerankTimeout: s.opt.RerankTimeout, Projector: s.opt.Projector,
		Revision: revision, Secret: s.secret, Warnings: warnings,
	})
	return r.Lookup(ctx, req)
}

// revision is the collection's, or for a caller who sees a part of it, the revision of that part.
func (n *session) revision(ctx context.Context, access, filter *exhibit.Filter) (string, error) {
	if access == nil {
		return n.snap.Revision(), nil
	}
	if err := access.Validate(); err != nil {
		return "", err
	}
	sc, err := n.scopes(ctx, access, filter)
	if err != nil {
		return "", err
	}
	return n.snap.RevisionOf(ctx, sc.visible.Documents)
}

// warnings are what an asker should know about the data and the question.
func (n *session) warnings(ctx context.Context, req exhibit.LookupRequest) ([]string, error) {
	var out []string
	if n.s.embedder == nil {
		out = append(out, "embed.provider is none: searched by words only")
	}
	if len(n.terms) == 0 {
		out = append(out, "the question holds no word to search for, only stop words or punctuation")
	}
	counts, err := n.counts(ctx)
	if err != nil {
		return nil, err
	}
	if req.Access == nil && counts.Stale > 0 {
		out = append(out, fmt.Sprintf("%d of %d documents were cut by another chunker configuration; exhibit sync --rebuild chunks mends them", counts.Stale, counts.Documents))
	}
	return out, nil
}

// counted are the counts of a collection at one revision, which decides them: counting takes longer than a search.
type counted struct {
	revision string
	counts   store.Counts
}

func (n *session) counts(ctx context.Context) (store.Counts, error) {
	name, revision := n.snap.Collection(), n.snap.Revision()
	if c, ok := n.s.counted.Load(name); ok && c.(counted).revision == revision {
		return c.(counted).counts, nil
	}
	counts, err := n.snap.Counts(ctx, n.s.chunker.Hash())
	if err != nil {
		return counts, storeError("count documents", name, err)
	}
	n.s.counted.Store(name, counted{revision, counts})
	return counts, nil
}

// FetchRequest names what to fetch: a key, a citation or a docId each.
type FetchRequest struct {
	Collection string // default "default"; a citation names its own
	Names      []string
	Access     *exhibit.Filter
}

// Fetched is one chunk, or one whole document where a docId was named.
type Fetched struct {
	Evidence []exhibit.Evidence
	Document *DocumentRow // set where a docId was named; its chunks are Evidence
	Text     string       // the document's text form
}

// Fetch answers stored chunks and documents by name, in the order asked. A citation with a hash is answered only with
// the very text that it names: where that text is no longer under its key, the error wraps exhibit.ErrNotFound and
// says so. What is not there and what the caller may not see get the same error.
func (s *Store) Fetch(ctx context.Context, req FetchRequest) ([]Fetched, error) {
	var out []Fetched
	for _, name := range req.Names {
		f, err := s.fetchOne(ctx, req, name)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func (s *Store) fetchOne(ctx context.Context, req FetchRequest, name string) (Fetched, error) {
	want, err := parseName(req.Collection, name)
	if err != nil {
		return Fetched{}, err
	}
	snap, err := s.snapshot(ctx, want.Collection)
	if err != nil {
		return Fetched{}, err
	}
	defer snap.Close()
	if want.Key.IsZero() {
		return s.fetchDocument(ctx, snap, want, req.Access)
	}
	row, err := snap.ChunkByKey(ctx, want.Key.DocID(), want.Key.Index())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Fetched{}, storeError("fetch", name, err)
	}
	if err != nil || !req.Access.Match(fields(docOf(&row))) {
		return Fetched{}, s.missing(ctx, snap, want, req.Access)
	}
	if full := row.ContentHash.String(); want.Hash != "" && want.Hash != full[:exhibit.CitationHashDigits] {
		return Fetched{}, &exhibit.Error{Op: "fetch", Source: name, Kind: exhibit.ErrNotFound,
			Err:  errors.New("the text under this key is another one now"),
			Hint: "without @" + want.Hash + " the citation names the newest text"}
	}
	return Fetched{Evidence: []exhibit.Evidence{evidenceOf(want.Collection, &row)}}, nil
}

// missing says that a chunk is not there, and since when where the caller could have seen it.
func (s *Store) missing(ctx context.Context, snap *store.Snapshot, want exhibit.Citation, access *exhibit.Filter) error {
	e := &exhibit.Error{Op: "fetch", Source: nameOf(want), Kind: exhibit.ErrNotFound, Err: errors.New("not in this collection"), Hint: "exhibit list shows what is there"}
	if access != nil || want.Key.Kind() != exhibit.KeyChunk {
		return e
	}
	whole := exhibit.Citation{Collection: want.Collection, DocID: want.Key.String()}
	if row, err := snap.Document(ctx, whole.DocID); err == nil && row.State == store.Current {
		e.Hint = "a document has this name; it is " + whole.String()
	}
	past, err := snap.History(ctx, want.Key.DocID(), want.Key.Index())
	if err != nil || len(past) == 0 {
		return e
	}
	last := past[len(past)-1]
	if !last.GoneAt.IsZero() {
		e.Err = fmt.Errorf("gone since %s", last.GoneAt.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	return e
}

func nameOf(c exhibit.Citation) string {
	if c.Key.IsZero() {
		return c.DocID
	}
	return c.Key.String()
}

// parseName reads a citation, an evidence key or a docId; what does not end in #chunk-N is a docId.
func parseName(collection, name string) (exhibit.Citation, error) {
	if collection == "" {
		collection = exhibit.DefaultCollection
	}
	if c, err := exhibit.ParseCitation(name); err == nil {
		return c, nil
	} else if len(name) >= 10 && name[:10] == "exhibit://" {
		return exhibit.Citation{}, err
	}
	if err := exhibit.CheckCollection(collection); err != nil {
		return exhibit.Citation{}, err
	}
	// The keys of this store all have a chunk index, so a name without one is a docId, even one like vector:x.
	if key, err := exhibit.ParseKey(name); err == nil && key.Kind() == exhibit.KeyChunk {
		return exhibit.Citation{Collection: collection, Key: key}, nil
	}
	if !exhibit.ValidDocID(name) {
		return exhibit.Citation{}, &exhibit.Error{Op: "fetch", Source: name, Kind: exhibit.ErrMalformed, Err: errors.New("neither a key, a citation nor a docId"), Hint: "a key looks like guides/keys.md#chunk-3; names are UTF-8"}
	}
	return exhibit.Citation{Collection: collection, DocID: name}, nil
}

func docOf(row *store.ChunkRow) *store.DocMeta {
	return &store.DocMeta{ID: row.DocID, Source: row.Source, Title: row.Title, MediaType: row.MediaType, Metadata: row.Metadata, Decoded: decodeMetadata(row.Metadata)}
}

func evidenceOf(collection string, row *store.ChunkRow) exhibit.Evidence {
	h := hitOf(row)
	e := exhibit.Evidence{
		Key: exhibit.ChunkKey(row.DocID, row.Index), Collection: collection, DocID: row.DocID, ChunkIndex: row.Index, Position: h.Position,
		Source: row.Source, Title: row.Title, HeadingPath: row.HeadingPath, Span: h.Span, Text: row.Text,
		ContentHash: row.ContentHash.String(), ConfigHash: row.ConfigHash,
	}
	if m, ok := decodeMetadata(row.Metadata).(exhibit.Metadata); ok {
		e.Metadata = m
	}
	return e
}

func (s *Store) fetchDocument(ctx context.Context, snap *store.Snapshot, want exhibit.Citation, access *exhibit.Filter) (Fetched, error) {
	notThere := &exhibit.Error{Op: "fetch", Source: want.DocID, Kind: exhibit.ErrNotFound, Err: errors.New("not in this collection"),
		Hint: "exhibit list shows what is there"}
	row, err := snap.Document(ctx, want.DocID)
	if errors.Is(err, store.ErrNotFound) {
		return Fetched{}, notThere
	}
	if err != nil {
		return Fetched{}, storeError("fetch", want.DocID, err)
	}
	d := documentRow(&row)
	if !access.Match(fields(d.meta())) || row.State == store.Absent {
		return Fetched{}, notThere
	}
	if row.State == store.Gone {
		if access == nil {
			notThere.Err = fmt.Errorf("gone since %s", row.GoneAt.UTC().Format("2006-01-02 15:04:05 UTC"))
		}
		return Fetched{}, notThere
	}
	if full := row.ContentHash.String(); want.Hash != "" && want.Hash != full[:exhibit.CitationHashDigits] {
		return Fetched{}, &exhibit.Error{Op: "fetch", Source: want.DocID, Kind: exhibit.ErrNotFound,
			Err: errors.New("the document's text is another one now"), Hint: "without @" + want.Hash + " the citation names the newest text"}
	}
	chunks, err := snap.DocumentChunks(ctx, want.DocID)
	if err != nil {
		return Fetched{}, storeError("fetch", want.DocID, err)
	}
	f := Fetched{Document: &d, Text: row.Text}
	for i := range chunks {
		f.Evidence = append(f.Evidence, evidenceOf(want.Collection, &chunks[i]))
	}
	return f, nil
}

// Render renders what was fetched, fenced with a nonce made from the store's secret, the names that were asked for and
// the hashes that are returned.
func (s *Store) Render(ctx context.Context, format string, names []string, list []exhibit.Evidence) (exhibit.Projection, error) {
	h := sha256.New()
	for _, part := range append([]string{"exhibit fetch 1", format}, names...) {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	id := hex.EncodeToString(h.Sum(nil))[:12]
	return s.opt.Projector.Project(ctx, exhibit.ProjectionRequest{Format: format, LookupID: id, Secret: s.secret}, list)
}
