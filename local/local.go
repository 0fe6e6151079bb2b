// Package local is the default assembly: readers, chunker, encoder, store, recall and projection behind Open, Sync and
// Lookup, offline and in one folder on disk.
//
//	store, err := local.Open(ctx, ".exhibit", nil)
//	report, err := store.Sync(ctx, local.SyncRequest{Roots: []local.Root{{Path: "handbook"}}})
//	answer, err := store.Lookup(ctx, exhibit.LookupRequest{Query: "how long is parental leave?"})
//
// A program that imports this package carries the weights of the built-in encoder, about 75 MB.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/embed"
	"github.com/exhibit-rag/exhibit/internal/analysis"
	"github.com/exhibit-rag/exhibit/internal/chunk"
	"github.com/exhibit-rag/exhibit/internal/store"
	"github.com/exhibit-rag/exhibit/models/e5small"
	"github.com/exhibit-rag/exhibit/project"
	"github.com/exhibit-rag/exhibit/read"
)

// ChunkOptions are the chunker's settings. A change makes documents stale until they are cut again.
type ChunkOptions struct {
	MaxTokens     int // target size in tokens of the built-in encoder; default 256
	OverlapTokens int // default 0
}

// Options are the settings of a store. Nil means the defaults, which work offline.
type Options struct {
	ReadOnly      bool                // open an existing store for lookups only; default: make the folder where there is none
	Embedder      exhibit.Embedder    // default: the built-in encoder
	WordsOnly     bool                // no embedder at all: lookups search by words, and say so; default false
	Reader        exhibit.Reader      // default: read.Default()
	Chunk         ChunkOptions        // default: see there
	Reranker      exhibit.Reranker    // default: none
	RerankTimeout time.Duration       // default 2 s
	Projector     exhibit.Projector   // default: project.New()
	FenceSecret   []byte              // keys fences and cursors; default: the store's own secret
	LockTimeout   time.Duration       // how long a sync waits for another writer; default 10 s
	MaxFileSize   int64               // bytes; larger sources are failures; default 64 MiB
	Jobs          int                 // files read and cut at once; default: one a core
	Progress      func(Progress)      // called from one goroutine at a time; default: none
	EmbedOptions  *embed.LocalOptions // of the built-in encoder; default: see there
}

// Progress is where a sync stands.
type Progress struct {
	Stage   string // "read" or "embed"
	Done    int    // documents read, or chunks embedded
	Total   int    // 0 where it is not known yet
	Current string // the document in hand
}

// Store is an open store. It is safe for concurrent use; one process at a time may sync, any number may look up.
type Store struct {
	opt      Options
	disk     *store.Store
	analyzer *analysis.Analyzer
	builtin  *embed.Local
	embedder exhibit.Embedder // nil for words only
	reader   exhibit.Reader
	chunker  chunk.Config
	secret   []byte
	counted  sync.Map // collection → counted
}

// Open opens the store in a folder, and makes it where there is none. The error wraps exhibit.ErrCorruptStore,
// exhibit.ErrIncompatibleStore, exhibit.ErrStorage or exhibit.ErrNotFound.
func Open(ctx context.Context, folder string, opt *Options) (*Store, error) {
	s := &Store{analyzer: analysis.New()}
	if opt != nil {
		s.opt = *opt
	}
	s.chunker = chunk.Config{MaxTokens: s.opt.Chunk.MaxTokens, OverlapTokens: s.opt.Chunk.OverlapTokens}
	if err := s.chunker.Validate(); err != nil {
		return nil, &exhibit.Error{Kind: exhibit.ErrInvalid, Err: err, Hint: "leave chunk.max-tokens and chunk.overlap-tokens out for the defaults"}
	}
	s.builtin = NewEncoder(s.opt.EmbedOptions)
	switch {
	case s.opt.WordsOnly:
	case s.opt.Embedder != nil:
		s.embedder = s.opt.Embedder
	default:
		s.embedder = s.builtin
	}
	if s.reader = s.opt.Reader; s.reader == nil {
		s.reader = read.Default()
	}
	if s.opt.Projector == nil {
		s.opt.Projector = project.New()
	}
	if s.opt.MaxFileSize <= 0 {
		s.opt.MaxFileSize = read.DefaultMaxSize
	}
	var err error
	s.disk, err = store.Open(ctx, folder, store.Options{
		Create: !s.opt.ReadOnly, LockTimeout: s.opt.LockTimeout,
		Analyser: analysis.Version, Terms: s.analyzer.Terms,
		Key:    func(docID string, index int) string { return exhibit.ChunkKey(docID, index).String() },
		Decode: decodeMetadata,
	})
	if err != nil {
		return nil, storeError("open store", folder, err)
	}
	secret := s.disk.Secret()
	if s.secret = s.opt.FenceSecret; s.secret == nil {
		s.secret = secret[:]
	}
	return s, nil
}

// Close ends all use of the store.
func (s *Store) Close() error { return s.disk.Close() }

// ChunkerHash returns the hash of the configuration that cuts documents now.
func (s *Store) ChunkerHash() string { return s.chunker.Hash() }

// NewEncoder returns the built-in encoder. It is opened on first use.
func NewEncoder(opt *embed.LocalOptions) *embed.Local {
	return embed.NewLocal(exhibit.EmbeddingModel{Name: e5small.Name, Dimension: e5small.Dimension}, e5small.Weights(), opt)
}

func (s *Store) progress(p Progress) {
	if s.opt.Progress != nil {
		s.opt.Progress(p)
	}
}

func decodeMetadata(text string) any {
	if text == "" {
		return exhibit.Metadata(nil)
	}
	var m exhibit.Metadata
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return exhibit.Metadata(nil)
	}
	return m
}

func encodeMetadata(m exhibit.Metadata) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	data, err := json.Marshal(m)
	return string(data), err
}

// storeError gives an error of the embedded store the kind and the hint that every interface knows.
func storeError(op, source string, err error) error {
	if err == nil {
		return nil
	}
	var known *exhibit.Error
	if errors.As(err, &known) {
		return err
	}
	e := &exhibit.Error{Op: op, Source: source, Err: err}
	var newer *store.NewerError
	var locked *store.LockedError
	var stamp *store.StampError
	switch {
	case errors.As(err, &newer):
		e.Kind, e.Hint = exhibit.ErrIncompatibleStore, "use the newer program, or sync the sources into another store folder"
	case errors.As(err, &stamp):
		e.Kind, e.Hint = exhibit.ErrIncompatibleStore, stampHint(stamp)
	case errors.As(err, &locked):
		e.Kind, e.Hint = exhibit.ErrUnavailable, "wait for the other process, or raise store.lock-timeout"
	case errors.Is(err, store.ErrCorrupt):
		e.Kind, e.Hint = exhibit.ErrCorruptStore, "nothing was deleted; restore a copy, or sync the sources into another store folder"
	case errors.Is(err, store.ErrReadOnly), errors.Is(err, os.ErrPermission):
		e.Kind, e.Hint = exhibit.ErrStorage, "make the store folder writable, or name another with --store"
	case errors.Is(err, store.ErrFull):
		e.Kind, e.Hint = exhibit.ErrStorage, "free some space and sync again; what was stored before is whole"
	case errors.Is(err, store.ErrBusy):
		e.Kind, e.Hint = exhibit.ErrUnavailable, "try again once the other process is done"
	case errors.Is(err, store.ErrNotFound):
		e.Kind, e.Hint = exhibit.ErrNotFound, "exhibit sync FOLDER makes one; or name another with --store"
	}
	return e
}

func stampHint(stamp *store.StampError) string {
	if stamp.Name == "analyser" {
		return "exhibit sync --rebuild index brings the store to the new analyser"
	}
	return "exhibit sync --rebuild vectors embeds everything again; or set embed.model and embed.dimensions to what the store was made with"
}

// snapshot opens one revision of a collection. A collection that is not there is an error that names those that are.
func (s *Store) snapshot(ctx context.Context, collection string) (*store.Snapshot, error) {
	snap, err := s.disk.Snapshot(ctx, collection)
	if errors.Is(err, store.ErrNotFound) {
		hint := "exhibit sync FOLDER fills it"
		if rows, err := s.disk.Collections(ctx); err == nil && len(rows) > 0 {
			hint = "the store has"
			for _, r := range rows {
				hint += " " + r.Name
			}
		}
		return nil, &exhibit.Error{Op: "collection", Source: collection, Kind: exhibit.ErrNotFound, Err: errors.New("there is none of this name"), Hint: hint}
	}
	if err != nil {
		return nil, storeError("collection", collection, err)
	}
	return snap, nil
}

// checkModel refuses to compare vectors of two models.
func (s *Store) checkModel(collection string, st store.Stamps) error {
	if s.embedder == nil || st.Model == "" {
		return nil
	}
	m := s.embedder.Model()
	if m.Name != st.Model {
		return storeError("", "", &store.StampError{Collection: collection, Name: "model", Stored: st.Model, Wanted: m.Name})
	}
	if m.Dimension != 0 && st.Dimension != 0 && m.Dimension != st.Dimension {
		return storeError("", "", &store.StampError{Collection: collection, Name: "dimension", Stored: fmt.Sprint(st.Dimension), Wanted: fmt.Sprint(m.Dimension)})
	}
	return nil
}
