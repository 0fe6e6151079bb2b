package local

import (
	"context"
	"errors"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/store"
)

// States of a document.
const (
	StateCurrent = "current"
	StateStale   = "stale" // served, but cut by another chunker configuration
	StateFailed  = "failed"
	StateGone    = "gone"
)

// DocumentRow is what a store knows of a document, without its text.
type DocumentRow struct {
	DocID       string
	Source      string
	Title       string
	MediaType   string
	ContentHash string // of the text form; "" where no version was ever stored
	Chunks      int
	State       string
	Reason      string // why the newest attempt failed; "" where it did not
	Hint        string
	SyncedAt    time.Time // of the version that is served; of the tombstone for a gone one
	Metadata    exhibit.Metadata
}

func documentRow(row *store.DocumentRow) DocumentRow {
	d := DocumentRow{DocID: row.ID, Source: row.Source, Title: row.Title, MediaType: row.MediaType, Chunks: row.Chunks, SyncedAt: row.SyncedAt, State: StateCurrent}
	if !row.ContentHash.IsZero() {
		d.ContentHash = row.ContentHash.String()
	}
	if m, ok := decodeMetadata(row.Metadata).(exhibit.Metadata); ok {
		d.Metadata = m
	}
	switch {
	case row.State == store.Gone:
		d.State, d.SyncedAt = StateGone, row.GoneAt
	case row.Failure != nil:
		d.State, d.Reason, d.Hint = StateFailed, row.Failure.Reason, row.Failure.Hint
		if d.Source == "" {
			d.Source = row.Failure.Source
		}
		if d.SyncedAt.IsZero() {
			d.SyncedAt = row.Failure.At
		}
	case row.Stale:
		d.State = StateStale
	}
	return d
}

// meta is what a document shows to filters and access rules.
func (d *DocumentRow) meta() *store.DocMeta {
	return &store.DocMeta{ID: d.DocID, Source: d.Source, Title: d.Title, MediaType: d.MediaType, Decoded: d.Metadata}
}

// ListRequest says which documents to list.
type ListRequest struct {
	Collection string          // default "default"
	Prefix     string          // of the docId
	State      string          // "current", "stale", "failed", "gone"; "" is all but the gone
	After      string          // go on after this docId
	Limit      int             // 0 is all
	Access     *exhibit.Filter // what the caller may see; it hides the gone, and failures without a version
}

// Documents lists documents by docId, in byte order.
func (s *Store) Documents(ctx context.Context, req ListRequest) ([]DocumentRow, error) {
	switch req.State {
	case "", StateCurrent, StateStale, StateFailed, StateGone:
	default:
		return nil, &exhibit.Error{Source: "state", Kind: exhibit.ErrInvalid, Err: errors.New(req.State + " is no state"), Hint: "states are current, stale, failed and gone"}
	}
	snap, err := s.snapshot(ctx, collectionOr(req.Collection))
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	limit := req.Limit
	if req.Access != nil {
		limit = 0
	}
	rows, err := snap.Documents(ctx, store.DocumentQuery{Prefix: req.Prefix, State: req.State, After: req.After, Limit: limit, Chunker: s.chunker.Hash()})
	if err != nil {
		return nil, storeError("list documents", "", err)
	}
	var out []DocumentRow
	for i := range rows {
		d := documentRow(&rows[i])
		// What is not served has no metadata that a rule could be held against, so a rule hides it.
		served := d.State != StateGone && d.ContentHash != ""
		if req.Access == nil || served && req.Access.Match(fields(d.meta())) {
			out = append(out, d)
		}
		if req.Limit > 0 && len(out) == req.Limit {
			break
		}
	}
	return out, nil
}

func collectionOr(name string) string {
	if name == "" {
		return exhibit.DefaultCollection
	}
	return name
}

// Status is what there is to know about a collection.
type Status struct {
	Collection    string
	Revision      string
	Documents     int
	Chunks        int
	WithoutVector int
	Stale         int
	Failed        int
	Format        int
	Chunker       string // configuration hash
	Analyser      string
	Model         string // "" while there are no vectors
	Dimension     int
	SizeBytes     int64 // of the whole store folder
}

// Status tells the counts and stamps of a collection.
func (s *Store) Status(ctx context.Context, collection string) (Status, error) {
	snap, err := s.snapshot(ctx, collectionOr(collection))
	if err != nil {
		return Status{}, err
	}
	defer snap.Close()
	counts, err := snap.Counts(ctx, s.chunker.Hash())
	if err != nil {
		return Status{}, storeError("count documents", "", err)
	}
	size, err := s.disk.Size()
	if err != nil {
		return Status{}, storeError("size of store", "", err)
	}
	st := snap.Stamps()
	return Status{
		Collection: collectionOr(collection), Revision: snap.Revision(), Documents: counts.Documents, Chunks: counts.Chunks,
		WithoutVector: counts.WithoutVector, Stale: counts.Stale, Failed: counts.Failed, Format: store.Format,
		Chunker: st.Chunker, Analyser: st.Analyser, Model: st.Model, Dimension: st.Dimension, SizeBytes: size,
	}, nil
}

// Collections names the collections of the store, in byte order.
func (s *Store) Collections(ctx context.Context) ([]string, error) {
	rows, err := s.disk.Collections(ctx)
	if err != nil {
		return nil, storeError("list collections", "", err)
	}
	var names []string
	for _, r := range rows {
		names = append(names, r.Name)
	}
	return names, nil
}

// Finding is one result of Check.
type Finding struct {
	Name   string
	Level  string // "ok", "warn" (only speed is lost) or "fail"
	Detail string
	Hint   string
}

// Check examines the store: quickly, or deep, which hashes every chunk again and rebuilds and compares what is
// derived.
func (s *Store) Check(ctx context.Context, deep bool) ([]Finding, error) {
	found, err := s.disk.Check(ctx, deep)
	if err != nil {
		return nil, storeError("check store", "", err)
	}
	out := make([]Finding, len(found))
	for i, f := range found {
		out[i] = Finding(f)
	}
	return out, nil
}

// Delete removes documents and leaves tombstones. A docId that is not there is an error, and nothing is removed then.
func (s *Store) Delete(ctx context.Context, collection string, docIDs []string) (*SyncReport, error) {
	collection = collectionOr(collection)
	snap, err := s.snapshot(ctx, collection)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	for _, id := range docIDs {
		row, err := snap.Document(ctx, id)
		if errors.Is(err, store.ErrNotFound) || err == nil && row.State == store.Gone {
			return nil, &exhibit.Error{Op: "delete", Source: id, Kind: exhibit.ErrNotFound, Err: errors.New("no document of this docId; nothing was deleted"), Hint: "exhibit list shows what is there"}
		}
		if err != nil {
			return nil, storeError("delete", id, err)
		}
	}
	w, err := s.disk.Lock(ctx)
	if err != nil {
		return nil, storeError("lock store", "", err)
	}
	defer w.Close()
	run := &syncRun{s: s, w: w, collection: collection, report: &SyncReport{Collection: collection}}
	if err := run.remove(ctx, docIDs); err != nil {
		return nil, err
	}
	if err := w.ClearFailures(ctx, collection, docIDs); err != nil {
		return nil, storeError("delete", "", err)
	}
	return run.close(ctx)
}
