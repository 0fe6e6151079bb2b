package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/analysis"
	"github.com/exhibit-rag/exhibit/internal/store"
)

// begin stamps the collection and notes its roots. It is the first step that writes: by then every source was found,
// and where vectors are to go, the embedder that makes new ones has answered once.
func (run *syncRun) begin(ctx context.Context, plans []*plan) error {
	if err := run.stamp(ctx, run.s.stamps()); err != nil {
		return err
	}
	for _, p := range plans {
		if err := run.keepRoot(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// stamps are those of what this store shapes data with now.
func (s *Store) stamps() store.Stamps {
	stamps := store.Stamps{Chunker: s.chunker.Hash(), Analyser: analysis.Version}
	if s.embedder != nil {
		m := s.embedder.Model()
		stamps.Model, stamps.Dimension = m.Name, m.Dimension
	}
	return stamps
}

// stamp makes the collection, or holds its stamps against those of now. A rebuild takes those of now instead, each only
// of what it rebuilds.
func (run *syncRun) stamp(ctx context.Context, want store.Stamps) error {
	rebuild := run.req.Rebuild
	if rebuild.Vectors && run.s.embedder == nil {
		return &exhibit.Error{Op: "rebuild vectors", Source: "embed.provider", Kind: exhibit.ErrInvalid, Err: errors.New("it is none: there is nothing to embed with"), Hint: "set embed.provider to local or openai"}
	}
	switch {
	case rebuild.Vectors:
		dimension, err := run.tryEmbedder(ctx)
		if err != nil {
			return err
		}
		want.Dimension = dimension
	case rebuild.Index:
		model := store.Stamps{Model: want.Model, Dimension: want.Dimension}
		if err := run.checkStamps(ctx, model); err != nil {
			return err
		}
	}
	ensure := run.w.EnsureCollection
	if rebuild.Vectors || rebuild.Index {
		ensure = run.w.Restamp
	}
	if err := ensure(ctx, run.collection, want); err != nil {
		return storeError("sync", run.collection, err)
	}
	if !rebuild.Vectors {
		return nil
	}
	return storeError("rebuild vectors", run.collection, run.w.DropVectors(ctx, run.collection))
}

// checkStamps holds the stored stamps of the collection, if it is there, against others.
func (run *syncRun) checkStamps(ctx context.Context, want store.Stamps) error {
	rows, err := run.s.disk.Collections(ctx)
	if err != nil {
		return storeError("sync", run.collection, err)
	}
	for _, row := range rows {
		if row.Name == run.collection {
			return storeError("sync", run.collection, row.Stamps.Check(run.collection, want))
		}
	}
	return nil
}

// keepRoot notes a root, so that a sync without sources reads it again.
func (run *syncRun) keepRoot(ctx context.Context, p *plan) error {
	if p.name == "" {
		return nil
	}
	stored := p.root
	stored.Path = ""
	if stored.IDRoot != "" {
		abs, err := filepath.Abs(stored.IDRoot)
		if err != nil {
			return err
		}
		stored.IDRoot = run.s.rootName(abs)
	}
	options, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	kind := "files"
	if p.root.JSONLines {
		kind = "jsonl"
	}
	return storeError("roots", run.collection, run.w.PutRoot(ctx, run.collection, store.Root{Path: p.name, Kind: kind, Options: string(options)}))
}

// claimAll notes who brings which docId. A source that cannot be read takes none from one that can: it keeps what is
// stored under its docId, and that is all.
func (run *syncRun) claimAll(plans []*plan) error {
	for _, p := range plans {
		for _, e := range p.entries {
			if e.bad {
				continue
			}
			if err := run.claim(plans, p, e); err != nil {
				return err
			}
		}
	}
	for _, p := range plans {
		for _, e := range p.entries {
			if _, ok := run.seen[e.docID]; !ok {
				run.seen[e.docID] = e.path
			}
		}
	}
	return nil
}

// claim notes who brings a docId, and refuses it to a second source or root.
func (run *syncRun) claim(plans []*plan, p *plan, e entry) error {
	if first, ok := run.seen[e.docID]; ok {
		return &exhibit.Error{Op: "sync", Source: e.docID, Kind: exhibit.ErrInvalid, Err: fmt.Errorf("two sources have this docId: %s and %s", first, e.path),
			Hint: "--id-root FOLDER makes docIds relative to a folder above both"}
	}
	run.seen[e.docID] = e.path
	old, had := run.prints[e.docID]
	if had && p.name != "" && old.Root != p.name && old.Root != "" && !leaves(plans, old.Root, e.docID) {
		if _, err := os.Stat(run.s.rootPath(old.Root)); err == nil {
			first := run.s.rootPath(old.Root)
			hint := "--id-root FOLDER makes docIds relative to a folder above both; or sync into another collection with -c"
			if rel, err := filepath.Rel(first, e.path); err == nil && filepath.IsLocal(rel) {
				hint = "exhibit sync without a source reads that one again, and this with it"
			}
			return &exhibit.Error{Op: "sync", Source: e.docID, Kind: exhibit.ErrInvalid, Err: fmt.Errorf("%s has this docId already, from %s", run.collection, first), Hint: hint}
		}
	}
	return nil
}

// leaves reports whether a root is read in this sync and surely has no source of a docId any more, be it one that
// cannot be read.
func leaves(plans []*plan, root, docID string) bool {
	for _, p := range plans {
		if p.name == root {
			return p.complete && !p.hides(docID) && !slices.ContainsFunc(p.entries, func(e entry) bool { return e.docID == docID })
		}
	}
	return false
}
