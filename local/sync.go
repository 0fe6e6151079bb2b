package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/exhibit-rag/exhibit"
	"github.com/exhibit-rag/exhibit/internal/store"
)

// Root is a folder, or one file, whose documents a collection holds.
type Root struct {
	Path      string   // of a folder or file; made absolute
	IDRoot    string   // docIds are slash paths relative to this folder; default: Path, or for a single file its folder
	Include   []string // globs of files to read, of all files where empty
	Exclude   []string // globs of files to leave out
	JSONLines bool     // Path is a file of JSON lines, one document each
}

// Rebuild says what a sync makes again though its sources did not change.
type Rebuild struct {
	Stale   bool // cut the documents again that another chunker configuration cut
	Chunks  bool // cut every document again
	Vectors bool // embed every chunk again, with the embedder of now
	Index   bool // write the derived files again
}

// SyncRequest says what to bring into step.
type SyncRequest struct {
	Collection  string            // default "default"
	Roots       []Root            // default, where Documents and Lines are empty too: every root synced before
	Documents   []exhibit.Source  // single documents, read from bytes; nothing is removed for them
	Titles      map[string]string // of Documents, by docId, instead of what the reader finds
	Lines       io.Reader         // JSON lines of documents; nothing is removed for them
	LinesName   string            // how errors name Lines
	Include     []string          // of roots synced before: instead of their own; nil keeps those
	Exclude     []string          // likewise
	KeepMissing bool              // keep documents whose source disappeared
	AllowEmpty  bool              // a root without a readable file is meant, and empties it
	DryRun      bool              // tell what would be done, and change nothing
	Rebuild     Rebuild
}

// DocumentCounts count documents by what a sync did to them.
type DocumentCounts struct{ Added, Changed, Unchanged, Removed, Failed int }

// ChunkCounts count chunks by what a sync did to them.
type ChunkCounts struct{ Kept, Changed, New, Removed, Embedded int }

// SyncFailure is a source that yielded no document. What was stored of it before is still served.
type SyncFailure struct {
	DocID  string
	Source string
	Code   exhibit.Code
	Reason string
	Hint   string
}

// Skipped counts files that were passed over, by reason.
type Skipped struct {
	Reason string
	Files  []string // docIds, in byte order
}

// SyncReport is what a sync did.
type SyncReport struct {
	Collection string
	Revision   string
	Documents  DocumentCounts
	Chunks     ChunkCounts
	Failures   []SyncFailure
	Removed    []string // docIds, in byte order
	Skipped    []Skipped
	Warnings   []string
}

// syncRun is one sync in progress.
type syncRun struct {
	s          *Store
	w          *store.Writer
	req        SyncRequest
	collection string
	report     *SyncReport
	count      func(string) int
	prints     map[string]store.Fingerprint // what is served, by docId
	seen       map[string]string            // docId → source, of this sync
	failed     []store.Failure
	cleared    []string // docIds whose failure is over
	fresh      batch    // documents without an old version: stored at once, embedded later
	changed    batch    // documents with one: embedded first
	done       int
	total      int
	published  time.Time // when derived files were last written
}

// batch holds document versions until there are enough to store them together.
type batch struct {
	versions []store.Version
	chunks   int
	bytes    int
}

// Sizes at which a batch is stored: large enough to be quick, small enough to lose little and hold little.
const (
	batchDocuments = 64
	batchBytes     = 4 << 20
	batchChunks    = 256
)

func (b *batch) add(v store.Version) {
	b.versions = append(b.versions, v)
	b.chunks += len(v.Chunks)
	b.bytes += len(v.Document.Text)
}

func (b *batch) full() bool {
	return len(b.versions) >= batchDocuments || b.bytes >= batchBytes || b.chunks >= batchChunks
}

// Sync brings a collection into step with its sources. It reads what changed, stores each document as a whole, and
// embeds only texts that have no vector yet. A source that fails costs that document alone, and its old version is
// served on; the report tells. It holds the writer's lock throughout. When ctx ends, what is done stays and the next
// sync goes on from there.
func (s *Store) Sync(ctx context.Context, req SyncRequest) (*SyncReport, error) {
	collection := collectionOr(req.Collection)
	if err := exhibit.CheckCollection(collection); err != nil {
		return nil, err
	}
	count, err := s.builtin.Counter()
	if err != nil {
		return nil, err
	}
	w, err := s.disk.Lock(ctx)
	if err != nil {
		return nil, storeError("lock store", "", err)
	}
	defer w.Close()
	run := &syncRun{s: s, w: w, req: req, collection: collection, count: count, report: &SyncReport{Collection: collection}, seen: map[string]string{}, published: time.Now()}
	if err := run.fingerprints(ctx); err != nil {
		return nil, err
	}
	roots, err := run.roots(ctx)
	if err != nil {
		return nil, err
	}
	plans, err := run.plan(ctx, roots)
	if err != nil {
		return nil, err
	}
	if req.DryRun {
		if err := run.readAll(ctx, plans); err != nil {
			return nil, err
		}
		return run.report, run.countMissing(plans)
	}
	if err := run.begin(ctx, plans); err != nil {
		return nil, err
	}
	if err := run.readAll(ctx, plans); err != nil {
		return nil, err
	}
	if err := run.removeMissing(ctx, plans); err != nil {
		return nil, err
	}
	if err := run.dropMoved(ctx, plans); err != nil {
		return nil, err
	}
	if err := run.embedPending(ctx); err != nil {
		return nil, err
	}
	return run.close(ctx)
}

// fingerprints reads what the collection holds; of one that is not there yet, nothing.
func (run *syncRun) fingerprints(ctx context.Context) error {
	var err error
	run.prints, err = run.w.Fingerprints(ctx, run.collection, "*")
	if errors.Is(err, store.ErrNotFound) {
		run.prints, err = map[string]store.Fingerprint{}, nil
	}
	return storeError("sync", run.collection, err)
}

// readAll reads, cuts and stores every planned source, in order.
func (run *syncRun) readAll(ctx context.Context, plans []*plan) error {
	for _, p := range plans {
		run.total += len(p.entries)
	}
	for _, p := range plans {
		if err := run.readPlan(ctx, p); err != nil {
			return err
		}
	}
	if run.req.DryRun {
		return nil
	}
	if err := run.flush(ctx, true); err != nil {
		return err
	}
	if err := run.clearPast(ctx, plans); err != nil {
		return err
	}
	if err := run.w.RecordFailures(ctx, run.collection, run.failed); err != nil {
		return storeError("sync", run.collection, err)
	}
	return storeError("sync", run.collection, run.w.ClearFailures(ctx, run.collection, run.cleared))
}

// clearPast forgets the failures of sources that no longer fail under these roots, be it because they are gone.
func (run *syncRun) clearPast(ctx context.Context, plans []*plan) error {
	fails := map[string]bool{}
	for _, f := range run.failed {
		fails[f.ID] = true
	}
	for _, p := range plans {
		if p.name == "" {
			continue
		}
		past, err := run.w.Failures(ctx, run.collection, p.name)
		if err != nil {
			return storeError("sync", run.collection, err)
		}
		for id := range past {
			if !fails[id] && !p.hides(id) {
				run.cleared = append(run.cleared, id)
			}
		}
	}
	slices.Sort(run.cleared)
	run.cleared = slices.Compact(run.cleared)
	return nil
}

// take accounts for one source that was read.
func (run *syncRun) take(ctx context.Context, r *readResult) error {
	run.done++
	run.s.progress(Progress{Stage: "read", Done: run.done, Total: max(run.total, run.done), Current: r.docID})
	old, had := run.prints[r.docID]
	switch {
	case r.skip != "":
		run.skip(r.skip, r.docID)
		return nil
	case r.err != nil:
		run.fail(r)
		return nil
	case r.unchanged:
		run.report.Documents.Unchanged++
		if old.Failed {
			run.cleared = append(run.cleared, r.docID)
		}
		return nil
	}
	for _, warning := range r.warnings {
		run.report.Warnings = append(run.report.Warnings, r.docID+": "+warning)
	}
	if !had || old.Failed {
		run.cleared = append(run.cleared, r.docID)
	}
	if run.req.DryRun {
		if had {
			run.report.Documents.Changed++
		} else {
			run.report.Documents.Added++
		}
		return nil
	}
	if had {
		run.changed.add(r.version)
	} else {
		run.fresh.add(r.version)
	}
	return run.flush(ctx, false)
}

func (run *syncRun) skip(reason, docID string) {
	for i := range run.report.Skipped {
		if run.report.Skipped[i].Reason == reason {
			run.report.Skipped[i].Files = append(run.report.Skipped[i].Files, docID)
			return
		}
	}
	run.report.Skipped = append(run.report.Skipped, Skipped{Reason: reason, Files: []string{docID}})
}

func (run *syncRun) fail(r *readResult) {
	run.report.Documents.Failed++
	reason := reasonOf(r.err)
	f := SyncFailure{DocID: r.docID, Source: r.source, Code: exhibit.CodeOf(r.err), Reason: reason, Hint: exhibit.HintOf(r.err)}
	run.report.Failures = append(run.report.Failures, f)
	if exhibit.ValidDocID(r.docID) && !r.nameless {
		run.failed = append(run.failed, store.Failure{ID: r.docID, Root: r.root, Source: r.source, Code: string(f.Code), Reason: reason, Hint: f.Hint})
	}
}

// reasonOf is the cause without the name of the source, which stands beside it everywhere.
func reasonOf(err error) string {
	var e *exhibit.Error
	if errors.As(err, &e) {
		bare := exhibit.Error{Kind: e.Kind, Err: e.Err}
		return bare.Error()
	}
	return err.Error()
}

// flush stores the batches that are full, or all of them.
func (run *syncRun) flush(ctx context.Context, all bool) error {
	if len(run.fresh.versions) > 0 && (all || run.fresh.full()) {
		if err := run.replace(ctx, run.fresh.versions); err != nil {
			return err
		}
		run.fresh = batch{}
	}
	if len(run.changed.versions) > 0 && (all || run.changed.full()) {
		if err := run.embedVersions(ctx, run.changed.versions); err != nil {
			return err
		}
		if err := run.replace(ctx, run.changed.versions); err != nil {
			return err
		}
		run.changed = batch{}
	}
	return run.publishNow(ctx)
}

func (run *syncRun) replace(ctx context.Context, versions []store.Version) error {
	changes, err := run.w.Replace(ctx, run.collection, versions)
	for _, c := range changes {
		switch {
		case c.Unchanged:
			run.report.Documents.Unchanged++
		case c.Added:
			run.report.Documents.Added++
		default:
			run.report.Documents.Changed++
		}
		run.report.Chunks.Kept += c.Kept
		run.report.Chunks.Changed += c.Changed
		run.report.Chunks.New += c.New
		run.report.Chunks.Removed += c.Removed
	}
	return storeError("store documents", run.collection, err)
}

// close ends the sync: unused vectors go, derived files are written, the report gets its revision.
func (run *syncRun) close(ctx context.Context) (*SyncReport, error) {
	if _, err := run.w.CollectGarbage(ctx); err != nil {
		return nil, storeError("collect garbage", "", err)
	}
	if _, err := run.w.PublishDerived(ctx, run.collection, true); err != nil {
		return nil, storeError("write derived files", "", err)
	}
	snap, err := run.s.snapshot(ctx, run.collection)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	run.report.Revision = snap.Revision()
	counts, err := snap.Counts(ctx, run.s.chunker.Hash())
	if err != nil {
		return nil, storeError("count documents", "", err)
	}
	if counts.Stale > 0 {
		run.report.Warnings = append(run.report.Warnings, fmt.Sprintf("%d of %d documents were cut by another chunker configuration and are served as they are; exhibit sync --rebuild chunks mends them", counts.Stale, counts.Documents))
	}
	if n := snap.WithoutVector(nil); n > 0 && run.s.embedder == nil {
		run.report.Warnings = append(run.report.Warnings, fmt.Sprintf("embed.provider is none: %d chunks have no vector and are found by words only", n))
	}
	return run.report, nil
}
