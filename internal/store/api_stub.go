package store

import (
	"context"
	"errors"
	"time"

	"github.com/exhibit-rag/exhibit/internal/bitset"
)

var errStub = errors.New("store: not built yet")

// Options of Open. The zero value reads an existing store.
type Options struct {
	Create      bool                                     // make folder and file where there is none
	LockTimeout time.Duration                            // how long Lock waits; 0 = 10 s, negative = not at all
	Analyser    string                                   // version of Terms; derived files of another are not used
	Terms       func(dst []string, text string) []string // appends the index terms of text to dst; needed for Lexical and PublishDerived
	Key         func(docID string, index int) string     // evidence key; default docID + "#chunk-" + index
	Decode      func(metadata string) any                // fills DocMeta.Decoded; default leaves it nil
	Now         func() time.Time                         // default time.Now
}

// A Store is an open store. All methods are safe for concurrent use.
type Store struct{}

func Open(ctx context.Context, folder string, o Options) (*Store, error) { return nil, errStub }
func (s *Store) Close() error                                            { return errStub }
func (s *Store) Secret() [32]byte                                        { return [32]byte{} }
func (s *Store) ReadOnly() bool                                          { return false }
func (s *Store) Size() (int64, error)                                    { return 0, errStub }
func (s *Store) Collections(ctx context.Context) ([]CollectionRow, error) {
	return nil, errStub
}
func (s *Store) Roots(ctx context.Context, coll string) ([]Root, error) { return nil, errStub }
func (s *Store) Snapshot(ctx context.Context, coll string) (*Snapshot, error) {
	return nil, errStub
}
func (s *Store) Check(ctx context.Context, deep bool) ([]Finding, error) { return nil, errStub }

// Lock takes the writer's lock; *LockedError after the timeout.
func (s *Store) Lock(ctx context.Context) (*Writer, error) { return nil, errStub }

// CollectionRow is a collection of the store.
type CollectionRow struct {
	Name     string
	Revision string
	Stamps   Stamps
}

// A Finding of Check.
type Finding struct {
	Name   string
	OK     bool
	Detail string
	Hint   string
}

// A Writer holds the lock. Not safe for concurrent use.
type Writer struct{}

func (w *Writer) Close() error { return errStub }

// EnsureCollection: *StampError when model, dimension or analyser differ; an absent model ("") neither checks nor overwrites.
func (w *Writer) EnsureCollection(ctx context.Context, coll string, st Stamps) error { return errStub }
func (w *Writer) PutRoot(ctx context.Context, coll string, r Root) error             { return errStub }
func (w *Writer) DropRoot(ctx context.Context, coll, path string) error              { return errStub }

// Fingerprints of the served documents of one root (all with root "*"), by docId.
func (w *Writer) Fingerprints(ctx context.Context, coll, root string) (map[string]Fingerprint, error) {
	return nil, errStub
}

// Replace stores versions, each atomically, in transactions of up to 64 documents or 4 MB; Changes in order of vs, as far as it came.
func (w *Writer) Replace(ctx context.Context, coll string, vs []Version) ([]Change, error) {
	return nil, errStub
}

// Touch updates Root, Source, MediaType, SourceHash, Reader, Mark, Metadata of served documents whose text, title and chunks stay.
func (w *Writer) Touch(ctx context.Context, coll string, docs []Document) error { return errStub }

// Remove makes tombstones; returns the docIds that were served.
func (w *Writer) Remove(ctx context.Context, coll string, ids []string) ([]string, error) {
	return nil, errStub
}
func (w *Writer) RecordFailures(ctx context.Context, coll string, fs []Failure) error { return errStub }
func (w *Writer) ClearFailures(ctx context.Context, coll string, ids []string) error  { return errStub }
func (w *Writer) HaveEmbeddings(ctx context.Context, model string, hashes []Hash) (map[Hash]bool, error) {
	return nil, errStub
}

// PutEmbeddings stores vectors and hands them to the chunks that wait for them, in every collection of that model.
func (w *Writer) PutEmbeddings(ctx context.Context, model string, es []Embedding) error {
	return errStub
}

// PendingVectors lists served chunks without a vector, ascending by id, after the id given.
func (w *Writer) PendingVectors(ctx context.Context, coll string, after int64, limit int) ([]ChunkRow, error) {
	return nil, errStub
}

// CollectGarbage removes vectors that no chunk uses; returns how many.
func (w *Writer) CollectGarbage(ctx context.Context) (int, error) { return 0, errStub }

// PublishDerived writes the derived file for the current state, unless the delta since the last is small and force is false.
func (w *Writer) PublishDerived(ctx context.Context, coll string, force bool) (bool, error) {
	return false, errStub
}

// A Snapshot is one revision of one collection. Safe for concurrent use; Close it.
type Snapshot struct{}

func (s *Snapshot) Close() error     { return errStub }
func (s *Snapshot) Revision() string { return "" }
func (s *Snapshot) Stamps() Stamps   { return Stamps{} }

// Scope is a set of documents and of their chunks; nil sets hold everything.
type Scope struct{ Documents, Chunks bitset.Set }

// Visible returns the documents for which pred holds.
func (s *Snapshot) Visible(ctx context.Context, pred func(*DocMeta) bool) (Scope, error) {
	return Scope{}, errStub
}

// RevisionOf is Revision for a caller who sees only docs.
func (s *Snapshot) RevisionOf(ctx context.Context, docs bitset.Set) (string, error) {
	return "", errStub
}

// Lexical: best k by BM25 among in; statistics over visible (nil = all). Score > 0 only; order score desc, key asc.
func (s *Snapshot) Lexical(ctx context.Context, terms []string, k int, visible, in bitset.Set) ([]Hit, error) {
	return nil, errStub
}

// LexicalScores in order of ids; 0 where no term occurs.
func (s *Snapshot) LexicalScores(ctx context.Context, terms []string, visible bitset.Set, ids []int64) ([]float64, error) {
	return nil, errStub
}

// Dense: best k by cosine (unit vectors) among in.
func (s *Snapshot) Dense(ctx context.Context, vec []float32, k int, in bitset.Set) ([]Hit, error) {
	return nil, errStub
}

// DenseScores in order of ids; false where a chunk has no vector.
func (s *Snapshot) DenseScores(ctx context.Context, vec []float32, ids []int64) ([]float64, []bool, error) {
	return nil, nil, errStub
}

// WithoutVector counts the chunks of in that have no vector.
func (s *Snapshot) WithoutVector(in bitset.Set) int { return 0 }

// Chunks in order of ids; ErrNotFound if one is absent.
func (s *Snapshot) Chunks(ctx context.Context, ids []int64) ([]ChunkRow, error) { return nil, errStub }
func (s *Snapshot) ChunkByKey(ctx context.Context, docID string, index int) (ChunkRow, error) {
	return ChunkRow{}, errStub
}

// Neighbours: the chunk at position and up to before/after around it, by position.
func (s *Snapshot) Neighbours(ctx context.Context, docID string, position, before, after int) ([]ChunkRow, error) {
	return nil, errStub
}

// DocumentChunks lists all chunks of a document by position.
func (s *Snapshot) DocumentChunks(ctx context.Context, docID string) ([]ChunkRow, error) {
	return nil, errStub
}

// Document with text; also gone ones (State Gone, no text). ErrNotFound if it never was.
func (s *Snapshot) Document(ctx context.Context, docID string) (DocumentRow, error) {
	return DocumentRow{}, errStub
}

// DocumentQuery of Documents.
type DocumentQuery struct {
	Prefix  string // of the docId
	State   string // AnyState, StateCurrent, …
	After   string // docId after which to go on
	Limit   int    // 0 = all
	Chunker string // configuration hash that counts as not stale; "" = the collection's stamp
}

// Documents by docId (byte order).
func (s *Snapshot) Documents(ctx context.Context, q DocumentQuery) ([]DocumentRow, error) {
	return nil, errStub
}

// Counts; chunker "" = the collection's stamp.
func (s *Snapshot) Counts(ctx context.Context, chunker string) (Counts, error) {
	return Counts{}, errStub
}

// History of one key: every text it has had, by first seen, then hash.
func (s *Snapshot) History(ctx context.Context, docID string, index int) ([]Past, error) {
	return nil, errStub
}
